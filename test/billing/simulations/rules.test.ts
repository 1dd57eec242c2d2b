import { expect, test } from "bun:test";
import * as fc from "fast-check";
import { SpreadOfDifferences, sumLines } from "../../../src/billing/simulations/rules.ts";
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
