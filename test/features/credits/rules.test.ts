import { expect, test } from "bun:test";
import * as fc from "fast-check";
import { balanceOf, reached } from "../../../src/features/credits/rules.ts";

const model = { id: 1, name: "Plan", currency: "EUR", credit_plan: null };
const plan = { monthly_credits: 100, credit_consumption: "per_unit", overage_rate: "0.000001" } as const;

test("a balance loses no credit: the parts are the whole", () => {
  fc.assert(
    fc.property(fc.nat(), fc.nat(), (allocated, consumed) => {
      const { used, remaining, overageUsed, ...told } = balanceOf(model, plan, { allocated, consumed });
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
  expect(reached({ allocated, consumed })).toEqual(expected);
});
