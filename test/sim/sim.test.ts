import { expect, test } from "bun:test";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { readConfig } from "../../src/core/config.ts";
import { openDeps } from "../../src/server/open_deps.ts";
import { CHEAP } from "../support/password_cost.ts";
import { TESTS_ALL } from "../support/properties.ts";
import { type Deployment, SimCompany } from "./company.ts";
import { liveThrough } from "./life.ts";
import { ModelUsage } from "./model_usage.ts";
import { SimClock } from "./process.ts";

/** A few days of one life in every run; `SIM_ROUNDS=500 bun test --timeout 36000000 test/sim` lives through two years of each. */
const ROUNDS = Number(process.env.SIM_ROUNDS ?? 1);
const SEED = Number(process.env.SIM_SEED ?? 1);
const IS_LONG = process.env.SIM_ROUNDS !== undefined;
const DAYS = Number(process.env.SIM_DAYS ?? (IS_LONG ? 730 : TESTS_ALL ? 60 : 30));
const START = "2025-11-03T09:00:00Z";
let data_dir: string;
let deployment: Deployment;

async function open(): Promise<void> {
  data_dir = mkdtempSync(join(tmpdir(), "meterhouse-sim-"));
  const clock = new SimClock(START);
  const config = readConfig({ DATA_DIR: data_dir, LOG_LEVEL: "silent" });
  const base = await openDeps(config, { clock, password_cost: CHEAP, without_usage: true });
  deployment = { base, clock, usage: new ModelUsage() };
}

async function close(): Promise<void> {
  await deployment.base.close();
  rmSync(data_dir, { recursive: true, force: true });
}

/** A company's days on a database of its own: what a seed leads to depends on nothing else. */
async function live(seed: number, days: number): Promise<SimCompany> {
  await open();
  try {
    const company = new SimCompany(deployment, seed);
    await company.found();
    await liveThrough(company, days);
    return company;
  } finally {
    await close();
  }
}

test(
  "whenever processes die and clocks jump, every bill is what the model says, and every debit is sent once",
  async () => {
    const failures: string[] = [];
    for (let i = 0; i < ROUNDS; i++) {
      const began = performance.now();
      try {
        const { turns, bank } = await live(SEED + i, DAYS);
        const seconds = ((performance.now() - began) / 1_000).toFixed(1);
        if (IS_LONG)
          console.error(
            `seed ${SEED + i}: ${DAYS} days, ${turns.taken} turns, ${bank.sent.size} debits (${seconds} s)`,
          );
      } catch (error) {
        const message = `seed ${SEED + i}: ${error instanceof Error ? error.message : String(error)}`;
        if (IS_LONG) console.error(message);
        failures.push(message);
      }
    }
    expect(failures).toEqual([]);
  },
  ROUNDS * 600_000,
);
