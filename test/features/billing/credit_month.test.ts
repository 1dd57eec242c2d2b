import { expect, test } from "bun:test";
import type { CreditPlan } from "../../../src/features/billing_models/model.ts";
import { creditMonth } from "../../../src/features/billing/credit_month.ts";
import type { BillingModelFacts } from "../../../src/features/billing_models/facts.ts";
import { cut, MARCH, model, NO_EVENTS } from "./facts.ts";

const plan = (monthly_credits: number, credit_consumption: CreditPlan["credit_consumption"] = "per_unit") =>
  model({
    billing_type: "credit",
    credit_plan: { monthly_credits, credit_consumption, overage_rate: null },
  });

type Change = [from: string, model: BillingModelFacts, units: string, event_count: number];

/** The month of March 2024 under models in force from the given instants, with what each was used for. */
function march(changes: Change[], ends_at: string | null = null) {
  const parts = cut(
    MARCH,
    changes.map(([from, facts]): [string, BillingModelFacts] => [from, facts]),
    ends_at,
  );
  const used = parts.map((segment, i) => {
    const [, , units = "0", event_count = 0] = changes[i] ?? [];
    return { segment, usage: { units, event_count, usage_digest: NO_EVENTS } };
  });
  return creditMonth(used, MARCH);
}

const BEGINNING = "2024-03-01T00:00:00Z";
const MIDDLE = "2024-03-15T00:00:00Z";

test.each<[string, Change[], { allocated: number; consumed: number } | null]>([
  ["no credit plan", [[BEGINNING, model(), "5", 1]], null],
  ["a whole month", [[BEGINNING, plan(1000), "7", 3]], { allocated: 1000, consumed: 7 }],
  ["a start on 15 March, rounded up", [[MIDDLE, plan(1000), "0", 0]], { allocated: 549, consumed: 0 }],
  ["units, rounded up once", [[BEGINNING, plan(10), "2.000001", 2]], { allocated: 10, consumed: 3 }],
  ["corrections beyond the usage", [[BEGINNING, plan(10), "-2.5", 2]], { allocated: 10, consumed: 0 }],
  ["calls", [[BEGINNING, plan(10, "per_api_call"), "99.5", 4]], { allocated: 10, consumed: 4 }],
  [
    "an upgrade: the difference by the days left, rounded up",
    [
      [BEGINNING, plan(1000), "600.5", 9],
      [MIDDLE, plan(2000), "500.6", 9],
    ],
    { allocated: 1000 + 549, consumed: 1102 },
  ],
  [
    "an upgrade from calls to units: each part by its own plan",
    [
      [BEGINNING, plan(31, "per_api_call"), "600", 9],
      [MIDDLE, plan(62), "1.5", 5],
    ],
    { allocated: 31 + 17, consumed: 11 },
  ],
  [
    "a smaller plan takes nothing back",
    [
      [BEGINNING, plan(1000), "1", 1],
      [MIDDLE, plan(10), "1", 1],
    ],
    { allocated: 1000, consumed: 2 },
  ],
  [
    "a credit plan after another type: its own days and usage only",
    [
      [BEGINNING, model(), "100", 1],
      [MIDDLE, plan(31), "3", 1],
    ],
    { allocated: 17, consumed: 3 },
  ],
])("creditMonth() of %s", (_, changes, expected) => {
  expect(march(changes)).toEqual(expected);
});

test("creditMonth() of a plan that is cancelled in its month is whole", () => {
  expect(march([[BEGINNING, plan(1000), "0", 0]], MIDDLE)?.allocated).toBe(1000);
});
