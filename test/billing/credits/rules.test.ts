import { expect, test } from "bun:test";
import * as fc from "fast-check";
import { parseExactly } from "../../../src/core/whole_number.ts";
import type { CreditMonth } from "../../../src/billing/rating/charges.ts";
import { balanceOf, reached, thresholdCredits } from "../../../src/billing/credits/rules.ts";
import { wholeMarch } from "../rating/fixtures.ts";

const model = { id: 1, name: "Plan", currency: "EUR", credit_plan: null };
const plan = { monthly_credits: 100, credit_consumption: "per_unit", overage_rate: "0.000001" } as const;

const segment = wholeMarch();

/** A month under one plan. */
function monthOf(allocated: number, consumed: number): CreditMonth {
  const credits = BigInt(Math.max(0, consumed - allocated));
  return { allocated: BigInt(allocated), consumed: BigInt(consumed), overage: [{ segment, credits }] };
}

function inNumbers(month: CreditMonth) {
  const { allocated, used, remaining, overageUsed, ...told } = balanceOf(model, plan, month);
  const [all = 0, base = 0, left = 0, over = 0] = [allocated, used, remaining, overageUsed].map(Number);
  return { ...told, allocated: all, used: base, remaining: left, overageUsed: over };
}

test("a balance above 2^53 is written to the last digit", () => {
  const consumed = 2n ** 63n + 1n;
  const overage = [{ segment, credits: consumed - 1000n }];
  const text = JSON.stringify(balanceOf(model, plan, { allocated: 1000n, consumed, overage }));
  expect(text).toContain(`"used":1000,"remaining":0,"overageUsed":${consumed - 1000n},`);
  expect(JSON.stringify(parseExactly(text))).toBe(text);
  expect(thresholdCredits(consumed)).toBe("9223372036854775809");
});

test("an overage stays where it arose when more credits are given later", () => {
  const month = { allocated: 150n, consumed: 110n, overage: [{ segment, credits: 10n }] };
  expect(inNumbers(month)).toMatchObject({ allocated: 150, used: 100, remaining: 50, overageUsed: 10 });
  expect(reached(month)).toEqual([]);
});

test("a balance loses no credit: the parts are the whole", () => {
  fc.assert(
    fc.property(fc.nat(), fc.nat(), (allocated, consumed) => {
      const { used, remaining, overageUsed, ...told } = inNumbers(monthOf(allocated, consumed));
      expect([used + remaining, used + overageUsed]).toEqual([allocated, consumed]);
      expect(Math.min(used, remaining, overageUsed)).toBeGreaterThanOrEqual(0);
      expect(remaining * overageUsed).toBe(0);
      expect(told).toEqual({
        allocated,
        overageRate: 0.000001,
        creditConsumption: "per_unit",
        planName: "Plan",
        currency: "EUR",
      });
    }),
  );
});

test.each<[number, number, number[]]>([
  [1000, 0, []],
  [1000, 799, []],
  [1000, 800, [80]],
  [1000, 999, [80]],
  [1000, 1000, [80, 100]],
  [3, 2, []],
  [3, 3, [80, 100]],
  [0, 0, []],
  [0, 1, [80, 100]],
  [10 ** 12, 8 * 10 ** 11, [80]],
])("of %d credits, %d consumed reach %j percent", (allocated, consumed, expected) => {
  expect(reached(monthOf(allocated, consumed))).toEqual(expected);
});
