import { expect, test } from "bun:test";
import * as fc from "fast-check";
import {
  addOfStep,
  addPeriods,
  emptyTally,
  type SimulatedPeriod,
  SpreadOfDifferences,
  sumLines,
} from "../../../src/billing/simulations/rules.ts";
import { chunks } from "../../../src/core/chunk.ts";
import { compare, roundMoney } from "../../../src/core/money.ts";

const HUGE = 10n ** 25n;

test("a spread is of the ⌈p/100 × n⌉-th smallest differences, of any size", () => {
  fc.assert(
    fc.property(
      fc.array(fc.oneof(fc.integer(), fc.bigInt({ min: -HUGE, max: HUGE })), { minLength: 1 }),
      (amounts) => {
        const differences = amounts.map((cents) => roundMoney(`${cents}e-2`, "EUR"));
        const spread = new SpreadOfDifferences("EUR");
        for (const [id, difference] of differences.entries()) spread.add(id + 1, difference);
        const sorted = differences.toSorted(compare);
        const at = (percent: number) => sorted[Math.ceil((percent * sorted.length) / 100) - 1];
        expect(spread.result("EUR")).toMatchObject({ p5: at(5), p50: at(50), p95: at(95) });
      },
    ),
  );
});

test("lines of what takes credits are in no sum by charge: the overage is what they cost", () => {
  const lines = [
    { kind: "charge" as const, charge_code: "credits:7", quantity: "12", amount: "0.00" },
    { kind: "overage" as const, quantity: "2", amount: "0.50" },
    { kind: "charge" as const, charge_code: "credits", quantity: "1", amount: "0.00" },
  ];
  expect(sumLines(lines, "EUR")).toEqual([
    { kind: "overage", quantity: "2", amount: "0.50" },
    { kind: "charge", charge_code: "credits", quantity: "1", amount: "0.00" },
  ]);
});

const amount = fc.integer({ min: -100_000, max: 100_000 }).map((cents) => roundMoney(`${cents}e-2`, "EUR"));
const line = fc.record({
  kind: fc.constantFrom("fee", "charge"),
  charge_code: fc.constantFrom("calls", "tokens"),
  quantity: fc.nat(1_000_000).map((units) => String(units)),
  amount,
});
const period: fc.Arbitrary<SimulatedPeriod> = fc.record({
  subscription_id: fc.integer({ min: 1, max: 5 }),
  billingStartAt: fc.constant("2026-10-01T00:00:00.000Z"),
  month: fc.constantFrom("2026-08", "2026-09", "2026-10"),
  billed: amount,
  billed_lines: fc.array(line, { maxLength: 4 }),
  rated: fc.option(amount),
  simulated: amount,
  simulated_lines: fc.array(line, { maxLength: 4 }),
  message: fc.constant(null),
});

test("totals are the same in whatever parts periods are added", () => {
  fc.assert(
    fc.property(fc.array(period, { maxLength: 150 }), fc.integer({ min: 1, max: 40 }), (periods, size) => {
      const none = emptyTally("EUR");
      const added = [...chunks(periods, size)].reduce((tally, part) => addPeriods(tally, part, "EUR"), none);
      const failed = { subscription_id: 6, rated: null, billed: "1.00", message: "no price" };
      const failures = [{ ...failed, billingStartAt: "2026-09-01T00:00:00.000Z" }];
      const counts = { subscriptions: 5, other_currency: 2 };
      const whole = addPeriods(none, periods, "EUR");
      expect(addOfStep(added, counts, failures)).toEqual(addOfStep(whole, counts, failures));
      expect(added.months.reduce((all, { periods: of_month }) => all + of_month, 0)).toBe(periods.length);
      expect(added.counts.periods).toBe(periods.length);
    }),
  );
});
