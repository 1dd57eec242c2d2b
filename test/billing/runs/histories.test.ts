import { afterAll, beforeAll, expect, test } from "bun:test";
import { type BillingFixture, openBillingFixture } from "../fixtures.ts";
import { AHEAD, type Assortment, METERED, PLAIN } from "./assortments.ts";
import { liveThrough } from "./histories.ts";

/** Few in every run; `FUZZ_ROUNDS=2000 bun test --timeout 7200000 test/billing/runs/histories.test.ts` makes more. */
const roundsOr = (few: number) => Number(process.env.FUZZ_ROUNDS ?? few);
/** Where the seeds begin: another number makes other histories. */
const SEED = Number(process.env.FUZZ_SEED ?? 1);
/** Histories that share a company, its zone and its runs. */
const TOGETHER = 4;
/** After so many a fresh server, so that jobs for all companies stay short. */
const A_SERVER = 40;

let billing: BillingFixture;

beforeAll(async () => {
  billing = await openBillingFixture();
});
afterAll(() => billing.service.stop());

async function liveThroughAll(rounds: number, assortment: Assortment): Promise<void> {
  expect(rounds).toBeGreaterThan(0);
  const failures: unknown[] = [];
  for (let round = 0; round * TOGETHER < rounds; round++) {
    if (round > 0 && round % A_SERVER === 0) {
      await billing.service.stop();
      billing = await openBillingFixture();
    }
    const histories = liveThrough(billing, SEED + round, TOGETHER, assortment);
    await histories.catch((error) => void failures.push(error));
    if (failures.length > 2) break;
  }
  for (const failure of failures) console.error(failure);
  expect(failures).toEqual([]);
}

test("random histories bill each period the same as one bill at the end", () =>
  liveThroughAll(roundsOr(8), PLAIN));

test("so do those with setup fees, trials, fees in advance, add-ons and bills before a month ends", () =>
  liveThroughAll(roundsOr(4), AHEAD));

test("so do those with charges by meters that do not add up", () => liveThroughAll(roundsOr(4), METERED));
