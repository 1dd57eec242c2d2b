import { describe, expect, test } from "bun:test";
import * as fc from "fast-check";
import { daysOf, periodStartingIn, type ZoneTimeline } from "../../../src/core/periods.ts";
import { instant, iso } from "../../../src/core/time.ts";
import {
  type PriceTerms,
  priceTermsOf,
  validateModel,
} from "../../../src/billing/billing_models/price_terms.ts";
import { BILLING_TYPES, billingTypeOf } from "../../../src/billing/billing_models/billing_types.ts";
import { type Segment, segments } from "../../../src/billing/rating/segments.ts";
import { cut, GRADUATED, MARCH, model, utcMonth, VOLUME } from "./fixtures.ts";
import { propertyCases } from "../../support/properties.ts";

const A = model({ id: 1, name: "A" });
const B = model({ id: 2, name: "B" });
const C = model({ id: 3, name: "C" });

const at = (when: Temporal.Instant) => iso(when).slice(5, 16);
const tier = (up_to: string | null) => ({ up_to, unit_price: "1", flat_fee: "0" });

/** `A 14/31 03-01T00:00..03-15T17:30`: the model, its days, its exact bounds. */
function shown({ model: of, proration, from, to }: Segment): string {
  return `${of.name} ${proration.numerator}/${proration.denominator} ${at(from)}..${at(to)}`;
}

describe("segments()", () => {
  const early = "2024-01-01T00:00:00Z";
  const cases: [string, readonly (readonly [string, PriceTerms])[], string | null, string[]][] = [
    ["a whole period", [[early, A]], null, ["A 31/31 03-01T00:00..04-01T00:00"]],
    ["the first day is charged", [["2024-03-15T18:00:00Z", A]], null, ["A 17/31 03-15T18:00..04-01T00:00"]],
    [
      "the day of cancellation is charged",
      [[early, A]],
      "2024-03-15T09:00:00Z",
      ["A 15/31 03-01T00:00..03-15T09:00"],
    ],
    [
      "also a cancellation at its midnight",
      [[early, A]],
      "2024-03-15T00:00:00Z",
      ["A 15/31 03-01T00:00..03-15T00:00"],
    ],
    [
      "started and cancelled on one day",
      [["2024-03-15T08:00:00Z", A]],
      "2024-03-15T09:00:00Z",
      ["A 1/31 03-15T08:00..03-15T09:00"],
    ],
    [
      "a cancellation at the period's end",
      [[early, A]],
      "2024-04-01T00:00:00Z",
      ["A 31/31 03-01T00:00..04-01T00:00"],
    ],
    ["cancelled at this period's start", [[early, A]], "2024-03-01T00:00:00Z", []],
    ["not yet started", [["2024-04-01T00:00:00Z", A]], null, []],
    [
      "the day of a change belongs to the new model",
      [
        [early, A],
        ["2024-03-15T17:30:00Z", B],
      ],
      null,
      ["A 14/31 03-01T00:00..03-15T17:30", "B 17/31 03-15T17:30..04-01T00:00"],
    ],
    [
      "the last of several changes on a day owns it",
      [
        [early, A],
        ["2024-03-15T08:00:00Z", B],
        ["2024-03-15T17:00:00Z", C],
      ],
      null,
      [
        "A 14/31 03-01T00:00..03-15T08:00",
        "B 0/31 03-15T08:00..03-15T17:00",
        "C 17/31 03-15T17:00..04-01T00:00",
      ],
    ],
    [
      "a change on the first day leaves the first model its usage and no day",
      [
        ["2024-03-01T00:00:00Z", A],
        ["2024-03-01T12:00:00Z", B],
      ],
      null,
      ["A 0/31 03-01T00:00..03-01T12:00", "B 31/31 03-01T12:00..04-01T00:00"],
    ],
    [
      "a change and a cancellation on one day: the new model's day",
      [
        [early, A],
        ["2024-03-15T08:00:00Z", B],
      ],
      "2024-03-15T10:00:00Z",
      ["A 14/31 03-01T00:00..03-15T08:00", "B 1/31 03-15T08:00..03-15T10:00"],
    ],
    [
      "changes outside the period decide which model it begins with",
      [
        [early, A],
        ["2024-02-10T00:00:00Z", B],
        ["2024-04-01T00:00:00Z", C],
      ],
      null,
      ["B 31/31 03-01T00:00..04-01T00:00"],
    ],
  ];
  test.each(cases)("%s", (_, models, ends_at, expected) => {
    expect(cut(MARCH, models, ends_at).map(shown)).toEqual(expected);
  });

  test("takes the days from the period's zone", () => {
    const kathmandu: ZoneTimeline = [{ timezone: "Asia/Kathmandu", from: null }];
    const period = periodStartingIn("2024-03", 1, kathmandu);
    // 14 March 18:30 UTC is 15 March 00:15 in Kathmandu.
    const parts = cut(period, [
      ["2024-01-01T00:00:00Z", A],
      ["2024-03-14T18:30:00Z", B],
    ]);
    expect(parts.map(({ proration }) => proration.numerator)).toEqual([14, 17]);
    expect(parts[1]?.first_day.toString()).toBe("2024-03-15");
  });

  test("counts a day that the zone skipped: Apia, December 2011", () => {
    const period = periodStartingIn("2011-12", 1, [{ timezone: "Pacific/Apia", from: null }]);
    const parts = cut(period, [
      ["2011-01-01T00:00:00Z", A],
      ["2011-12-30T10:00:00Z", B],
    ]);
    expect(parts.map(({ proration }) => `${proration.numerator}/${proration.denominator}`)).toEqual([
      "30/31",
      "1/31",
    ]);
  });

  test("tiles the subscription's time and days, whatever the changes and their order", () => {
    const period = utcMonth("2024-02");
    const begin = period.from.epochMilliseconds;
    const someTime = fc
      .integer({ min: -40, max: 35 * 24 })
      .map((hours) => Temporal.Instant.fromEpochMilliseconds(begin + hours * 3_600_000));
    const property = fc.property(
      fc.uniqueArray(someTime, { minLength: 1, maxLength: 6, selector: iso }),
      fc.option(someTime),
      (times, ends) => {
        const timeline = times.map((from, index) => ({ model: model({ id: index + 1 }), from }));
        const started_at = times.reduce((a, b) => (Temporal.Instant.compare(a, b) <= 0 ? a : b));
        const parts = segments(period, timeline, { started_at, ends_at: ends });
        expect(segments(period, timeline.toReversed(), { started_at, ends_at: ends })).toEqual(parts);
        for (const [index, part] of parts.entries()) {
          expect(part.proration.numerator).toBeGreaterThanOrEqual(0);
          const next = parts[index + 1];
          if (!next) continue;
          expect(iso(part.to)).toBe(iso(next.from));
          const day_after = part.first_day.add({ days: part.proration.numerator });
          expect(day_after.toString()).toBe(next.first_day.toString());
        }
        const days = parts.reduce((total, { proration }) => total + proration.numerator, 0);
        expect(days).toBeLessThanOrEqual(daysOf(period));
        const covers_all = Temporal.Instant.compare(started_at, period.from) <= 0 && ends === null;
        if (covers_all) expect(days).toBe(29);
      },
    );
    fc.assert(property, propertyCases(300));
  });
});

describe("validateModel()", () => {
  const plan = { monthly_credits: 1000, credit_consumption: "per_unit", overage_rate: "0.02" } as const;

  const sound: [string, Partial<PriceTerms>][] = [
    ["flat", {}],
    ["flat at no price", { price: "0" }],
    ["per_unit", { billing_type: "per_unit", price: "0.1", recurring_fee: "5", free_units: "100.5" }],
    ["per_unit with equal limits", { billing_type: "per_unit", minimum_charge: "5", maximum_charge: "5" }],
    ["graduated", { ...GRADUATED, charge_flat_on_zero: true, minimum_charge: "1" }],
    ["one open tier", { ...GRADUATED, usage_tiers: [tier(null)] }],
    ["volume", { ...VOLUME, maximum_charge: "100" }],
    [
      "a hundred tiers",
      { ...VOLUME, usage_tiers: [...Array.from({ length: 99 }, (_, i) => tier(`${i + 1}`)), tier(null)] },
    ],
    ["package", { billing_type: "package", package_size: "0.5", recurring_fee: "1", free_units: "2" }],
    ["credit", { billing_type: "credit", credit_plan: plan }],
    [
      "credit, overage not billed",
      { billing_type: "credit", credit_plan: { ...plan, monthly_credits: 0, overage_rate: null } },
    ],
  ];
  test.each(sound)("takes %s", (_, given) => {
    expect(validateModel(model(given))).toEqual([]);
  });

  const broken: [string, Partial<PriceTerms>, string[]][] = [
    ["an unknown currency", { currency: "eur" }, ["/currency"]],
    ["a negative price", { price: "-0.01" }, ["/price"]],
    [
      "what flat does not take",
      {
        recurring_fee: "1",
        free_units: "1",
        minimum_charge: "1",
        maximum_charge: "2",
        charge_flat_on_zero: true,
      },
      ["/recurring_fee", "/free_units", "/minimum_charge", "/maximum_charge", "/charge_flat_on_zero"],
    ],
    ["tiers on a flat model", { usage_tiers: [tier(null)] }, ["/usage_tiers"]],
    ["a package size on per_unit", { billing_type: "per_unit", package_size: "10" }, ["/package_size"]],
    ["a credit plan on per_unit", { billing_type: "per_unit", credit_plan: plan }, ["/credit_plan"]],
    ["graduated without tiers", { billing_type: "graduated" }, ["/usage_tiers"]],
    ["volume without tiers", { billing_type: "volume" }, ["/usage_tiers"]],
    ["graduated with free units", { ...GRADUATED, free_units: "1" }, ["/free_units"]],
    ["package without a size", { billing_type: "package" }, ["/package_size"]],
    ["packages of nothing", { billing_type: "package", package_size: "0" }, ["/package_size"]],
    ["credit without a plan", { billing_type: "credit" }, ["/credit_plan"]],
    [
      "negative fees",
      { billing_type: "per_unit", recurring_fee: "-1", free_units: "-1" },
      ["/recurring_fee", "/free_units"],
    ],
    [
      "crossed limits",
      { billing_type: "per_unit", minimum_charge: "5.01", maximum_charge: "5" },
      ["/minimum_charge"],
    ],
    [
      "limits below zero",
      { billing_type: "per_unit", minimum_charge: "-2", maximum_charge: "-1" },
      ["/minimum_charge", "/maximum_charge"],
    ],
    [
      "tiers that do not ascend",
      { ...GRADUATED, usage_tiers: [tier("10"), tier("10"), tier(null)] },
      ["/usage_tiers/1/up_to"],
    ],
    [
      "a first tier of nothing",
      { ...GRADUATED, usage_tiers: [tier("0"), tier(null)] },
      ["/usage_tiers/0/up_to"],
    ],
    ["a last tier that is not open", { ...GRADUATED, usage_tiers: [tier("10")] }, ["/usage_tiers/0/up_to"]],
    [
      "an open tier in the middle",
      { ...GRADUATED, usage_tiers: [tier(null), tier(null)] },
      ["/usage_tiers/0/up_to"],
    ],
    [
      "negative tier prices",
      { ...GRADUATED, usage_tiers: [{ up_to: null, unit_price: "-1", flat_fee: "-1" }] },
      ["/usage_tiers/0/unit_price", "/usage_tiers/0/flat_fee"],
    ],
    [
      "too many tiers",
      { ...GRADUATED, usage_tiers: Array.from({ length: 101 }, (_, i) => tier(`${i + 1}`)) },
      ["/usage_tiers"],
    ],
    [
      "a credit plan of parts",
      { billing_type: "credit", credit_plan: { ...plan, monthly_credits: 0.5, overage_rate: "-1" } },
      ["/credit_plan/monthly_credits", "/credit_plan/overage_rate"],
    ],
    [
      "too many credits",
      { billing_type: "credit", credit_plan: { ...plan, monthly_credits: 1e15 } },
      ["/credit_plan/monthly_credits"],
    ],
  ];
  test.each(broken)("refuses %s", (_, given, paths) => {
    const details = validateModel(model(given));
    expect(details.map(({ path }) => path)).toEqual(paths);
    for (const { message } of details) expect(message).toMatch(/^(must|is required)/);
  });

  test("says what a type takes", () => {
    const [detail] = validateModel(
      model({ billing_type: "package", package_size: "1", charge_flat_on_zero: true }),
    );
    expect(detail?.message).toBe(
      "must be left out: billing type package takes package_size, recurring_fee, free_units, minimum_charge, maximum_charge",
    );
  });

  test("compares bounds as numbers, not as text", () => {
    const tiers = [tier("9"), tier("10"), tier("10.5"), tier("100"), tier(null)];
    expect(validateModel(model({ ...GRADUATED, usage_tiers: tiers }))).toEqual([]);
  });
});

describe("billing types", () => {
  test("have the ids of the rate card", () => {
    expect(BILLING_TYPES.map(({ id, billing_type }) => `${id} ${billing_type}`)).toEqual([
      "1 flat",
      "2 per_unit",
      "3 graduated",
      "4 volume",
      "5 package",
      "6 credit",
    ]);
    expect(billingTypeOf(5)).toBe("package");
    expect(billingTypeOf(7)).toBeUndefined();
  });

  test("modelFacts() names the type and reads the price exactly", () => {
    const { billing_type: _, ...row } = model();
    expect(priceTermsOf({ ...row, billing_type_id: 2, price: 0.0000001 })).toMatchObject({
      billing_type: "per_unit",
      price: "0.0000001",
    });
    expect(() => priceTermsOf({ ...row, billing_type_id: 7, price: 1 })).toThrow(
      "there is no billing type 7",
    );
  });

  test("a subscription's started_at is the exact start of its first segment", () => {
    const timeline = [{ model: A, from: instant("2024-03-01T00:00:00Z") }];
    const [first] = segments(MARCH, timeline, {
      started_at: instant("2024-03-02T10:00:00.123Z"),
      ends_at: null,
    });
    expect(first && iso(first.from)).toBe("2024-03-02T10:00:00.123Z");
    expect(first?.proration).toEqual({ numerator: 30, denominator: 31 });
  });
});
