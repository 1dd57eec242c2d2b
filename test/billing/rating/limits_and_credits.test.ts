import { describe, expect, test } from "bun:test";
import * as fc from "fast-check";
import { compare, multiply, roundMoney } from "../../../src/core/money.ts";
import { creditMonth } from "../../../src/billing/rating/credit_month.ts";
import { billedUnits, rate } from "../../../src/billing/rating/charges.ts";
import type { PriceTerms } from "../../../src/billing/billing_models/price_terms.ts";
import type { Segment } from "../../../src/billing/rating/segments.ts";
import { amounts, charge, cut, MARCH, model, rateSegment, unused, used, wholeMarch } from "./fixtures.ts";
import { propertyCases } from "../../support/properties.ts";

function plan(id: number, overage_rate: string | null, monthly_credits = 100): PriceTerms {
  const credit_plan = { monthly_credits, credit_consumption: "per_unit", overage_rate } as const;
  return model({ id, name: `Plan ${id}`, billing_type: "credit", price: "31", credit_plan });
}

/** A bill of March, each part used for so many units. */
function bill(parts: readonly Segment[], ...units: string[]) {
  const counted = parts.map((segment, i) => ({ segment, usage: used(units[i] ?? "0") }));
  return rate(counted, "EUR", creditMonth(counted, MARCH));
}

describe("limits on the usage charge", () => {
  const limited = {
    billing_type: "per_unit",
    price: "1",
    recurring_fee: "100",
    minimum_charge: "31",
    maximum_charge: "50",
  } as const;
  const cases: [string, string[]][] = [
    ["0", ["fee 100.00", "usage 0.00", "minimum_true_up 31.00"]],
    ["30.5", ["fee 100.00", "usage 30.50", "minimum_true_up 0.50"]],
    ["31", ["fee 100.00", "usage 31.00"]],
    ["50", ["fee 100.00", "usage 50.00"]],
    ["80.004", ["fee 100.00", "usage 80.00", "maximum_cap -30.00"]],
  ];
  test.each(cases)("look at usage, not at fees: %s units", (units, expected) => {
    expect(amounts(rateSegment(wholeMarch(limited), used(units)))).toEqual(expected);
  });

  test("the minimum goes by the segment's days, the maximum does not", () => {
    const [half] = cut(MARCH, [["2024-03-15T10:00:00Z", model({ ...limited, recurring_fee: "0" })]]);
    if (!half) throw new Error("no segment");
    expect(
      rateSegment(half, used("2")).map(({ kind, amount, proration }) => [kind, amount, proration]),
    ).toEqual([
      ["usage", "2.00", null],
      ["minimum_true_up", "15.00", { numerator: 17, denominator: 31 }],
    ]);
    expect(amounts(rateSegment(half, used("80")))).toEqual(["usage 80.00", "maximum_cap -30.00"]);
  });

  test("cap to the rounded maximum, and the minimum comes after the cap", () => {
    const tie = { billing_type: "per_unit", price: "1", maximum_charge: "10.005" } as const;
    expect(amounts(rateSegment(wholeMarch(tie), used("11")))).toEqual(["usage 11.00", "maximum_cap -0.99"]);
    const crossed = { ...tie, minimum_charge: "10.50" };
    expect(amounts(rateSegment(wholeMarch(crossed), used("11"))).at(-1)).toBe("minimum_true_up 0.49");
  });

  test("a cap says what it caps: usage, or usage and charges", () => {
    const capped = { billing_type: "per_unit", price: "1", maximum_charge: "50" } as const;
    const commitment = { minimum: null, maximum: "40" };
    const lines = rateSegment(wholeMarch({ ...capped, commitment }), used("80"));
    expect(lines.map(({ description, amount }) => `${description} ${amount}`)).toEqual([
      "Plan: usage 80.00",
      "Plan: usage capped at 50 -30.00",
      "Plan: usage and charges capped at 40 -10.00",
    ]);
  });

  test("keep the usage charge between them to the cent, in any currency", () => {
    const property = fc.property(
      fc.nat(10 ** 6),
      fc.nat(10 ** 6),
      fc.nat(10 ** 6),
      fc.constantFrom("JPY", "EUR", "BHD", "CLF"),
      (a, b, units, currency) => {
        const [minimum_charge, maximum_charge] = [Math.min(a, b), Math.max(a, b)].map((n) =>
          multiply(`${n}`, "0.00001"),
        );
        if (minimum_charge === undefined || maximum_charge === undefined) return;
        const limits = { billing_type: "per_unit", currency, minimum_charge, maximum_charge } as const;
        const charged = charge({ ...limits, price: "0.00001" }, `${units}`);
        expect(compare(charged, roundMoney(maximum_charge, currency))).not.toBe(1);
        expect(compare(charged, roundMoney(minimum_charge, currency))).not.toBe(-1);
      },
    );
    fc.assert(property, propertyCases(300));
  });
});

describe("credits", () => {
  test("beyond the allocation are billed at the overage rate, the raw units shown free of charge", () => {
    const parts = cut(MARCH, [["2024-01-01T00:00:00Z", plan(1, "0.025", 60)]]);
    const { lines, total: sum_of_lines } = bill(parts, "70.5");
    expect(amounts(lines)).toEqual(["fee 31.00", "usage 0.00", "overage 0.28"]);
    expect(lines[2]).toMatchObject({
      quantity: "11",
      unit_price: "0.025",
      event_count: null,
      usage_digest: null,
    });
    expect(billedUnits(lines)).toBe("70.5");
    expect(sum_of_lines).toBe("31.28");
  });

  test.each([
    ["within the allocation", 71, "0.025"],
    ["with a rate of null", 60, null],
  ] as const)("are not billed %s", (_, monthly_credits, overage_rate) => {
    const parts = cut(MARCH, [["2024-01-01T00:00:00Z", plan(1, overage_rate, monthly_credits)]]);
    expect(amounts(bill(parts, "70.5").lines)).toEqual(["fee 31.00", "usage 0.00"]);
  });

  const upgraded = cut(MARCH, [
    ["2024-01-01T00:00:00Z", plan(1, "1", 31)],
    ["2024-03-31T20:00:00Z", plan(2, "0.5", 31_000)],
  ]);
  const overageOf = (...units: string[]) =>
    bill(upgraded, ...units)
      .lines.filter(({ kind }) => kind === "overage")
      .map(({ billing_model_id, quantity, amount }) => [billing_model_id, quantity, amount]);

  test("are charged where they were used: an upgrade on the last evening wipes out nothing", () => {
    expect(overageOf("100")).toEqual([[1, "69", "69.00"]]);
    expect(overageOf("100", "999")).toEqual([[1, "69", "69.00"]]);
    // The last day gives ceil((31000 − 31) × 1 / 31) = 999 more.
    expect(overageOf("100", "1001")).toEqual([
      [1, "69", "69.00"],
      [2, "2", "1.00"],
    ]);
    expect(overageOf("30.5", "1000")).toEqual([[2, "1", "0.50"]]);
  });

  test("that a correction gives back are the last ones used", () => {
    expect(overageOf("100", "-9")).toEqual([[1, "60", "60.00"]]);
    expect(overageOf("100", "-70")).toEqual([]);
    const month = creditMonth(
      upgraded.map((segment, i) => ({ segment, usage: used(["100", "-80"][i] ?? "0") })),
      MARCH,
    );
    expect(month).toMatchObject({ allocated: 1030n, consumed: 20n });
  });

  test("of a plan that owns no day are none, and its usage is charged at its own rate", () => {
    const parts = cut(MARCH, [
      ["2024-01-01T00:00:00Z", plan(1, "1", 31)],
      ["2024-03-15T10:00:00Z", plan(2, "0.5", 31_000)],
      ["2024-03-15T10:05:00Z", plan(1, "1", 31)],
    ]);
    const { lines } = bill(parts, "20", "20", "20");
    expect(amounts(lines)).toEqual([
      "usage 0.00",
      "fee 31.00",
      "overage 20.00",
      "usage 0.00",
      "overage 4.50",
      "usage 0.00",
    ]);
  });

  test("belong to credit plans only, and a credit plan can't do without them", () => {
    expect(creditMonth([{ segment: wholeMarch(), usage: used("10") }], MARCH)).toBeNull();
    const parts = cut(MARCH, [["2024-01-01T00:00:00Z", plan(1, "1")]]);
    expect(() => rate(unused(parts), "EUR", null)).toThrow("without the month's credits");
  });
});
