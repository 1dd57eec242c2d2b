import { afterAll, beforeAll, expect, test } from "bun:test";
import { propertyCases } from "../../support/properties.ts";
import { ChargeHistories } from "./charge_histories.ts";
import { type BillingFixture, openBillingFixture } from "../fixtures.ts";

/** Histories in all: few in every run, `PROPERTY_CASES` when it is set. */
const CASES = propertyCases(4).numRuns;
/** Where the seeds begin: another number makes other histories. */
const SEED = Number(process.env.FUZZ_SEED ?? 1);
/** Histories that share a company, its plans and its runs. */
const TOGETHER = 200;
/** After so many companies a fresh server. */
const A_SERVER = 10;

let billing: BillingFixture;

beforeAll(async () => {
  billing = await openBillingFixture();
});
afterAll(() => billing.service.stop());

test(
  "random histories of random plans with charges are billed, previewed and proved as the model says",
  async () => {
    const failures: unknown[] = [];
    for (let company = 0; company * TOGETHER < CASES; company++) {
      if (company > 0 && company % A_SERVER === 0) {
        await billing.service.stop();
        billing = await openBillingFixture();
      }
      const subscriptions = Math.min(TOGETHER, CASES - company * TOGETHER);
      const histories = new ChargeHistories(billing, SEED + company);
      await histories.live(subscriptions).catch((error) => void failures.push(error));
      expect(histories.counts.records).toBeGreaterThan(0);
      if (CASES > TOGETHER) console.error(`seed ${SEED + company}: ${JSON.stringify(histories.counts)}`);
      if (failures.length > 2) break;
    }
    for (const failure of failures) console.error(failure);
    expect(failures).toEqual([]);
  },
  CASES * 60_000,
);
