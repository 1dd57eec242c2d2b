import { expect, test } from "bun:test";
import * as fc from "fast-check";
import type { CreditPlan } from "../../../src/billing/billing_models/model.ts";
import { allocatedCredits, creditMonth } from "../../../src/billing/rating/credit_month.ts";
import type { PriceTerms } from "../../../src/billing/billing_models/price_terms.ts";
import { cut, MARCH, model, NO_EVENTS } from "./fixtures.ts";
import { propertyCases } from "../../support/properties.ts";

const plan = (monthly_credits: number, credit_consumption: CreditPlan["credit_consumption"] = "per_unit") =>
  model({
    billing_type: "credit",
    credit_plan: { monthly_credits, credit_consumption, overage_rate: null },
  });

type Change = [from: string, model: PriceTerms, units: string, event_count: number];

/** The month of March 2024 under models in force from the given instants, with what each was used for. */
function march(changes: Change[], ends_at: string | null = null) {
  const parts = cut(
    MARCH,
    changes.map(([from, facts]): [string, PriceTerms] => [from, facts]),
    ends_at,
  );
  const used = parts.map((segment, i) => {
    const [, , units = "0", event_count = 0] = changes[i] ?? [];
    return { segment, usage: { units, event_count, usage_digest: NO_EVENTS } };
  });
  const month = creditMonth(used, MARCH);
  return month && { allocated: Number(month.allocated), consumed: Number(month.consumed) };
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
    "a smaller plan and the larger one again: nothing twice",
    [
      [BEGINNING, plan(1000), "1", 1],
      ["2024-03-10T00:00:00Z", plan(10), "1", 1],
      [MIDDLE, plan(1000), "1", 1],
    ],
    { allocated: 1000, consumed: 3 },
  ],
  [
    "a smaller plan and then one larger than all: what is more than the largest before",
    [
      [BEGINNING, plan(1000), "1", 1],
      ["2024-03-10T00:00:00Z", plan(10), "1", 1],
      [MIDDLE, plan(2000), "1", 1],
    ],
    { allocated: 1549, consumed: 3 },
  ],
  [
    "a credit plan, another type, the plan again: nothing twice, and none for the days between",
    [
      [BEGINNING, plan(1000), "1", 1],
      ["2024-03-10T00:00:00Z", model(), "50", 1],
      [MIDDLE, plan(1000), "1", 1],
    ],
    { allocated: Math.ceil((1000 * 26) / 31), consumed: 2 },
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

/** A month's plans, at most one a day, in order. */
const plansOfAMonth = fc
  .uniqueArray(fc.record({ day: fc.integer({ min: 1, max: 31 }), credits: fc.nat(5000) }), {
    selector: ({ day }) => day,
    minLength: 1,
    maxLength: 8,
  })
  .map((plans) => plans.toSorted((a, b) => a.day - b.day));

const onDay = (day: number) => `2024-03-${String(day).padStart(2, "0")}T09:00:00Z`;

const allocationOf = (plans: readonly { day: number; credits: number }[]): number => {
  const parts = cut(
    MARCH,
    plans.map(({ day, credits }) => [onDay(day), plan(credits)]),
  );
  return Number(allocatedCredits(parts, MARCH) ?? 0);
};

test("a month gives no more than its largest plan, no less than any plan by its days, and never takes back", () => {
  fc.assert(
    fc.property(plansOfAMonth, (plans) => {
      const allocated = allocationOf(plans);
      expect(allocated).toBeLessThanOrEqual(Math.max(...plans.map(({ credits }) => credits)));
      for (const { day, credits } of plans) {
        expect(allocated).toBeGreaterThanOrEqual(Math.ceil((credits * (32 - day)) / 31));
      }
      for (let known = 1; known < plans.length; known++) {
        expect(allocated).toBeGreaterThanOrEqual(allocationOf(plans.slice(0, known)));
      }
    }),
    propertyCases(500),
  );
});

test("each upgrade adds ceil((new − old) × days left / days), whatever came before", () => {
  fc.assert(
    fc.property(plansOfAMonth, (plans) => {
      const rising = plans.map(({ day }, i) => ({
        day,
        credits: plans.slice(0, i + 1).reduce((sum, { credits }) => sum + credits + 1, 0),
      }));
      for (let known = 1; known < rising.length; known++) {
        const [before, after] = [rising[known - 1], rising[known]];
        if (!before || !after) return;
        const added = allocationOf(rising.slice(0, known + 1)) - allocationOf(rising.slice(0, known));
        expect(added).toBe(Math.ceil(((after.credits - before.credits) * (32 - after.day)) / 31));
      }
    }),
    propertyCases(300),
  );
});

test.each<[string, Change[], string | null, number]>([
  ["cancelled on 15 March: its 15 days", [[BEGINNING, plan(1000), "0", 0]], "2024-03-15T08:00:00Z", 484],
  ["cancelled at the month's end: whole", [[BEGINNING, plan(1000), "0", 0]], "2024-04-01T00:00:00Z", 1000],
  [
    "upgraded, then cancelled",
    [
      [BEGINNING, plan(310), "", 0],
      ["2024-03-10T09:00:00Z", plan(620), "", 0],
    ],
    "2024-03-15T08:00:00Z",
    150 + 60,
  ],
  [
    "left for another type",
    [
      [BEGINNING, plan(1000), "0", 0],
      [MIDDLE, model(), "0", 0],
    ],
    null,
    452,
  ],
  [
    "left on the day on which it began",
    [
      [MIDDLE, plan(1000), "0", 0],
      ["2024-03-15T00:05:00Z", model(), "0", 0],
    ],
    null,
    0,
  ],
  [
    "with a larger one for five minutes",
    [
      [BEGINNING, plan(1000), "0", 0],
      ["2024-03-15T10:00:00Z", plan(9000), "0", 0],
      ["2024-03-15T10:05:00Z", plan(1000), "0", 0],
    ],
    null,
    1000,
  ],
  [
    "larger by two upgrades on one day",
    [
      [BEGINNING, plan(1000), "0", 0],
      ["2024-03-15T10:00:00Z", plan(2000), "0", 0],
      ["2024-03-15T10:05:00Z", plan(3000), "0", 0],
    ],
    null,
    1000 + 549 + 549,
  ],
])("a plan gives credits as its fee goes, by its days: %s", (_, changes, ends_at, expected) => {
  const given = changes.map(([from, facts]): Change => [from, facts, "0", 0]);
  expect(march(given, ends_at)?.allocated).toBe(expected);
});
