import { rmSync } from "node:fs";
import { join } from "node:path";
import type { RunContext } from "../bench.ts";
import { atMost, type Finding, finding } from "../finding.ts";
import type { Service } from "../service.ts";
import { type OpenMonths, SUBSCRIPTIONS } from "./months.ts";

/** Where a stopping service writes the totals down. */
const SNAPSHOT = "usage.duckdb.totals";
const LOOK_MS = 20;
const LIMIT_MS = 600_000;

/** The goals, and the events that they are set for. */
const GOALS = { snapshot_s: 10, counted_s: 60, at: 100_000_000 };

/** How long after a start the totals of all limits are known. */
export async function measureStarts(
  { months: { events }, service }: OpenMonths,
  { progress }: RunContext,
): Promise<Finding[]> {
  const line = async (what: string, most: number) => {
    progress(what);
    const seconds = await startUntilCertain(service);
    return finding(what, events, {
      measured: `${seconds.toFixed(2)} s, of which ${(service.ready_ms / 1_000).toFixed(2)} s up to /ready`,
      goal: atMost(most, "s", seconds, GOALS.at),
      figures: [{ name: "certain", unit: "s", values: [seconds] }],
    });
  };
  const limits = `${SUBSCRIPTIONS.toLocaleString("en-US")} limits certain`;
  await service.stop();
  rmSync(join(service.data_dir, SNAPSHOT), { force: true });
  const counted = await line(`${limits} after a start without a snapshot`, GOALS.counted_s);
  await service.stop();
  return [counted, await line(`${limits} after a start from a snapshot`, GOALS.snapshot_s)];
}

/** Starts it, and gives the seconds from the command until every limit's total is certain. */
async function startUntilCertain(service: Service): Promise<number> {
  const before = performance.now();
  await service.start();
  await untilCertain(service);
  return (performance.now() - before) / 1_000;
}

/** Waits until every limit's total is certain. */
export async function untilCertain(service: Service): Promise<void> {
  const before = performance.now();
  const names = ["meterhouse_limit_totals", "meterhouse_limit_totals_uncertain"];
  while (performance.now() - before < LIMIT_MS) {
    const [kept = 0, uncertain = 0] = await service.metrics(names);
    if (kept >= SUBSCRIPTIONS && uncertain === 0) return;
    await Bun.sleep(LOOK_MS);
  }
  throw new Error("Cannot go on: the totals of limits do not become certain");
}
