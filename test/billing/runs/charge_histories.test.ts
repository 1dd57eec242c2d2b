import { afterAll, beforeAll, expect, test } from "bun:test";
import { FUZZ_SEED, propertyCases } from "../../support/properties.ts";
import { ChargeHistories } from "./charge_histories.ts";
import { type Pace, YEARS } from "./pace.ts";
import { type BillingFixture, openBillingFixture } from "../fixtures.ts";

/** After so many companies a fresh server. */
const A_SERVER = 10;

let billing: BillingFixture;

beforeAll(async () => {
  billing = await openBillingFixture();
});
afterAll(() => billing.service.stop());

/** Histories in all: few in every run, `PROPERTY_CASES` when it is set. `together`: those of one company, its plans and runs. */
async function livesThrough(cases: number, together: number, pace?: Pace): Promise<void> {
  const failures: unknown[] = [];
  for (let company = 0; company * together < cases; company++) {
    if (company > 0 && company % A_SERVER === 0) {
      await billing.service.stop();
      billing = await openBillingFixture();
    }
    const subscriptions = Math.min(together, cases - company * together);
    const histories = new ChargeHistories(billing, FUZZ_SEED + company, pace);
    await histories.live(subscriptions).catch((error) => void failures.push(error));
    if (failures.length === 0) expect(histories.counts.records).toBeGreaterThan(0);
    if (cases > together) console.error(`seed ${FUZZ_SEED + company}: ${JSON.stringify(histories.counts)}`);
    if (failures.length > 2) break;
  }
  for (const failure of failures) console.error(failure);
  expect(failures).toEqual([]);
}

const [MONTHS_CASES, YEARS_CASES] = [propertyCases(2, 20).numRuns, propertyCases(1, 15).numRuns];

test(
  "random histories of random plans with charges are billed, previewed and proved as the model says",
  () => livesThrough(MONTHS_CASES, 200),
  MONTHS_CASES * 60_000,
);

test(
  "histories of more than two years are, with commitments to a year",
  () => livesThrough(YEARS_CASES, 20, YEARS),
  YEARS_CASES * 60_000,
);
