import { expect, spyOn, test } from "bun:test";
import { LIMITS } from "../../../src/billing/limits.ts";
import { batchesByMonth } from "../../../src/billing/runs/batches.ts";
import { FLAT, useBilling } from "../fixtures.ts";

const billing = useBilling();

/** So many months from January 2024, of subscriptions with these anchor days, subscription by subscription. */
function due(anchor_days: readonly number[], months: number) {
  return anchor_days.flatMap((day, subscription) =>
    Array.from({ length: months }, (_, i) => {
      const from = new Temporal.PlainDate(2024, 1, day).toZonedDateTime("UTC").add({ months: i });
      const period = { from: from.toInstant(), to: from.add({ months: 1 }).toInstant() };
      return { subscription, month: i, period };
    }),
  );
}

const monthsOf = (batches: { month: number }[][]) => batches.map((batch) => batch.map(({ month }) => month));
const repeated = (month: number, times: number) => Array<number>(times).fill(month);

test("months that fill half a batch or more have batches of their own", () => {
  expect(monthsOf(batchesByMonth(due([1, 1, 1], 3), 4))).toEqual(
    [0, 1, 2].map((month) => repeated(month, 3)),
  );
  expect(monthsOf(batchesByMonth(due([1, 1], 3), 4))).toEqual([0, 1, 2].map((month) => repeated(month, 2)));
  const five = monthsOf(batchesByMonth(due([1, 1, 1, 1, 1], 1), 4));
  expect(five).toEqual([repeated(0, 4), [0]]);
});

test("months of few share a batch up to its size", () => {
  expect(monthsOf(batchesByMonth(due([1], 5), 4))).toEqual([[0, 1], [2, 3], [4]]);
  expect(monthsOf(batchesByMonth(due([1], 9), 8))).toEqual([[0, 1, 2, 3], [4, 5, 6, 7], [8]]);
});

test("months that overlap share a batch, those of one subscription in order", () => {
  const batches = batchesByMonth(due([1, 10, 20, 28], 3), 4);
  expect(monthsOf(batches)).toEqual([0, 1, 2].map((month) => repeated(month, 4)));
  expect(batches.map((batch) => batch.map(({ subscription }) => subscription))).toEqual(
    [0, 1, 2].map(() => [0, 1, 2, 3]),
  );
});

test("no period makes no batch", () => {
  expect(batchesByMonth([], 4)).toEqual([]);
});

test("a run over months of many subscriptions asks for one month at a time", async () => {
  billing.clock.set("2024-06-01T01:00:00Z");
  const company = await billing.addCompany();
  for (let i = 0; i < 10; i++) await company.subscribe(FLAT, { started_at: "2024-01-01T00:00:00Z" });
  const { billing_batch_subscriptions, billing_batch_periods } = LIMITS;
  Object.assign(LIMITS, { billing_batch_subscriptions: 2, billing_batch_periods: 4 });
  const totals = spyOn(billing.service.deps.usage, "totals");
  try {
    expect((await company.run()).counts).toMatchObject({ subscriptions: 10, periods: 50, failed: 0 });
    const asked = totals.mock.calls.map(([, windows]) => windows.map(({ start_ms }) => start_ms));
    // Five months of three batches of subscriptions: four, four and two.
    expect(asked.map((starts) => new Set(starts).size)).toEqual(Array(15).fill(1));
    expect(asked.map((starts) => starts.length)).toEqual([4, 4, 2].flatMap((size) => Array(5).fill(size)));
  } finally {
    totals.mockRestore();
    Object.assign(LIMITS, { billing_batch_subscriptions, billing_batch_periods });
  }
});
