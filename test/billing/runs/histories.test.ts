import { afterAll, beforeAll, expect, test } from "bun:test";
import { FUZZ_SEED, fuzzRounds } from "../../support/properties.ts";
import { type BillingFixture, openBillingFixture } from "../fixtures.ts";
import { AHEAD, type Assortment, METERED, PLAIN } from "./assortments.ts";
import { liveThrough } from "./histories.ts";

// `FUZZ_ROUNDS=2000 bun test --timeout 7200000 test/billing/runs/histories.test.ts` lives through more.

/** Histories that share a company, its zone and its runs. */
const TOGETHER = 2;
/** After so many a fresh server, so that jobs for all companies stay short. */
const A_SERVER = 80;

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
    const histories = liveThrough(billing, FUZZ_SEED + round, TOGETHER, assortment);
    await histories.catch((error) => void failures.push(error));
    if (failures.length > 2) break;
  }
  for (const failure of failures) console.error(failure);
  expect(failures).toEqual([]);
}

test("random histories bill each period the same as one bill at the end", () =>
  liveThroughAll(fuzzRounds(2), PLAIN));

test("so do those with setup fees, trials, fees in advance, add-ons and bills before a month ends", () =>
  liveThroughAll(fuzzRounds(2), AHEAD));

test("so do those with charges by meters that do not add up", () => liveThroughAll(fuzzRounds(2), METERED));
