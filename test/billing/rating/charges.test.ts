import { describe, expect, test } from "bun:test";
import * as fc from "fast-check";
import {
  compare,
  currencyDigits,
  toBig,
  multiply,
  roundMoney,
  subtract,
  sum,
} from "../../../src/core/money.ts";
import { periodStartingIn } from "../../../src/core/periods.ts";
import { billedUnits, rate, total } from "../../../src/billing/rating/charges.ts";
import type { PriceTerms } from "../../../src/billing/billing_models/price_terms.ts";
import {
  amounts,
  charge,
  cut,
  GRADUATED,
  MARCH,
  model,
  UNUSED,
  unused,
  used,
  utcMonth,
  VOLUME,
  wholeMarch,
  rateSegment,
} from "./fixtures.ts";
import { propertyCases } from "../../support/properties.ts";

describe("fees, by days", () => {
  test("flat 31.00, started 15 March: 17/31", () => {
    const { lines, total: sum_of_lines } = rate(
      unused(cut(MARCH, [["2024-03-15T10:00:00Z", model()]])),
      "EUR",
      null,
    );
    expect(sum_of_lines).toBe("17.00");
    expect(lines).toEqual([
      {
        kind: "fee",
        description: "Plan: monthly fee, 17 of 31 days",
        billing_model_id: 1,
        from: "2024-03-15T10:00:00.000Z",
        to: "2024-04-01T00:00:00.000Z",
        quantity: "1",
        unit_price: "31",
        amount: "17.00",
        event_count: null,
        usage_digest: null,
        proration: { numerator: 17, denominator: 31 },
      },
    ]);
  });

  test("flat 1000 c from 5 March 2024: 27/31 is 871 c", () => {
    const parts = cut(MARCH, [["2024-03-05T00:00:00Z", model({ price: "10" })]]);
    expect(rate(unused(parts), "EUR", null).total).toBe("8.71");
  });

  test("10 to 20 a month on 15 March: 14/31 and 17/31", () => {
    const parts = cut(MARCH, [
      ["2024-01-01T00:00:00Z", model({ id: 1, price: "10" })],
      ["2024-03-15T12:00:00Z", model({ id: 2, price: "20" })],
    ]);
    const { lines, total: sum_of_lines } = rate(unused(parts), "EUR", null);
    expect(amounts(lines)).toEqual(["fee 4.52", "fee 10.97"]);
    expect(sum_of_lines).toBe("15.49");
  });

  test.each([
    ["2024-02", "2024-02-29", 31],
    ["2024-03", "2024-03-31", 30],
    ["2024-04", "2024-04-30", 31],
  ] as const)("anchor 2024-01-31: the period of %s starts on %s and has %d days", (month, start, days) => {
    const period = periodStartingIn(month, 31, [{ timezone: "UTC", from: null }]);
    const parts = cut(period, [["2024-01-31T00:00:00Z", model()]]);
    expect(period.start_date.toString()).toBe(start);
    expect(parts[0]?.proration).toEqual({ numerator: days, denominator: days });
    expect(rate(unused(parts), "EUR", null).total).toBe("31.00");
  });

  test("stand where the type has them: price, or recurring_fee", () => {
    const plan = { monthly_credits: 1, credit_consumption: "per_unit", overage_rate: null } as const;
    const fees: [Partial<PriceTerms>, string[]][] = [
      [{ price: "0" }, ["fee 0.00"]],
      [{ billing_type: "credit", price: "0", credit_plan: plan }, ["fee 0.00"]],
      [{ billing_type: "per_unit", price: "1" }, ["usage 0.00"]],
      [{ billing_type: "per_unit", price: "1", recurring_fee: "5" }, ["fee 5.00", "usage 0.00"]],
      [
        { billing_type: "package", price: "1", package_size: "1", recurring_fee: "6" },
        ["fee 6.00", "usage 0.00"],
      ],
      [{ ...GRADUATED, price: "7" }, ["fee 7.00", "usage 0.00"]],
      [{ ...VOLUME, price: "8" }, ["fee 8.00", "usage 0.00"]],
    ];
    for (const [given, expected] of fees)
      expect(amounts(rateSegment(wholeMarch(given), UNUSED))).toEqual(expected);
  });

  test.each([
    ["JPY", "100", "55"],
    ["EUR", "100", "54.84"],
    ["BHD", "100", "54.839"],
    ["CLF", "100", "54.8387"],
  ] as const)("are rounded once to the digits of %s", (currency, price, expected) => {
    const parts = cut(MARCH, [["2024-03-15T00:00:00Z", model({ currency, price })]]);
    expect(rate(unused(parts), currency, null).total).toBe(expected);
  });

  test("change by no more than the rounding of their lines when a period is split at one price", () => {
    const property = fc.property(
      fc.uniqueArray(fc.integer({ min: 0, max: 31 * 24 - 1 }), { maxLength: 8 }),
      fc.integer({ min: 0, max: 10 ** 9 }),
      fc.constantFrom("JPY", "EUR", "BHD", "CLF"),
      (hours, thousandths, currency) => {
        const price = multiply(String(thousandths), "0.001");
        const changes = hours.map((hour, index) => {
          const from = MARCH.from.add({ hours: hour }).toString();
          return [from, model({ id: index + 2, price, currency })] as const;
        });
        const parts = cut(MARCH, [["2024-01-01T00:00:00Z", model({ price, currency })], ...changes]);
        const { lines, total: split } = rate(unused(parts), currency, null);
        const off = toBig(subtract(split, price)).abs().toFixed();
        const half_unit = toBig(`5e-${currencyDigits(currency) + 1}`).toFixed();
        expect(compare(off, multiply(String(lines.length), half_unit))).not.toBe(1);
        const days = lines.reduce((all, { proration }) => all + (proration?.numerator ?? 0), 0);
        expect(days).toBe(31);
      },
    );
    fc.assert(property, propertyCases(300));
  });
});

describe("usage", () => {
  const perUnit = { billing_type: "per_unit" } as const;
  const packages = { billing_type: "package", price: "100", package_size: "10" } as const;
  const tables: [string, Partial<PriceTerms>, [units: string, charged: string][]][] = [
    ["per_unit at 0.000001", { ...perUnit, price: "0.000001" }, [["1000000", "1.00"]]],
    [
      "per_unit at 2, 10 free",
      { ...perUnit, price: "2", free_units: "10" },
      [
        ["9.5", "0.00"],
        ["10", "0.00"],
        ["10.5", "1.00"],
        ["-5", "0.00"],
      ],
    ],
    [
      "graduated",
      GRADUATED,
      [
        ["0", "0.00"],
        ["1", "12.00"],
        ["10", "102.00"],
        ["11", "110.00"],
        ["12", "115.00"],
        ["21", "163.00"],
        ["10.5", "107.50"],
        ["-1", "0.00"],
      ],
    ],
    [
      "graduated with charge_flat_on_zero",
      { ...GRADUATED, charge_flat_on_zero: true },
      [
        ["0", "2.00"],
        ["-1", "2.00"],
        ["1", "12.00"],
      ],
    ],
    [
      "volume",
      VOLUME,
      [
        ["0", "0.00"],
        ["1", "12.00"],
        ["100", "210.00"],
        ["100.5", "100.50"],
        ["101", "101.00"],
        ["200", "200.00"],
        ["300", "200.00"],
      ],
    ],
    ["volume with charge_flat_on_zero", { ...VOLUME, charge_flat_on_zero: true }, [["0", "10.00"]]],
    [
      "package 10 for 100",
      packages,
      [
        ["121", "1300.00"],
        ["120", "1200.00"],
        ["0.1", "100.00"],
        ["0", "0.00"],
      ],
    ],
    ["package, 10 free", { ...packages, free_units: "10" }, [["121", "1200.00"]]],
    ["package, 200 free", { ...packages, free_units: "200" }, [["121", "0.00"]]],
  ];
  for (const [name, given, cases] of tables) {
    test.each(cases)(`${name}: %s units cost %s`, (units, expected) => {
      expect(charge(given, units)).toBe(expected);
    });
  }

  test("is one line with its units, price, events and digest", () => {
    const segment = wholeMarch({ billing_type: "per_unit", price: "0.5", free_units: "3" });
    const usage = { units: "10.5", event_count: 7, usage_digest: "00000000000000aa00000000000000bb" };
    expect(rateSegment(segment, usage)).toEqual([
      {
        kind: "usage",
        description: "Plan: usage, 3 units free",
        billing_model_id: 1,
        from: "2024-03-01T00:00:00.000Z",
        to: "2024-04-01T00:00:00.000Z",
        quantity: "10.5",
        unit_price: "0.5",
        amount: "3.75",
        event_count: 7,
        usage_digest: "00000000000000aa00000000000000bb",
        proration: null,
      },
    ]);
  });

  test("of each segment has whole thresholds from the segment's start", () => {
    const parts = cut(MARCH, [
      ["2024-01-01T00:00:00Z", model({ id: 1, billing_type: "per_unit", price: "1", free_units: "10" })],
      ["2024-03-15T12:00:00Z", model({ id: 2, billing_type: "per_unit", price: "2", free_units: "10" })],
    ]);
    const { lines } = rate(
      parts.map((segment) => ({ segment, usage: used("15") })),
      "EUR",
      null,
    );
    expect(amounts(lines)).toEqual(["usage 5.00", "usage 10.00"]);
    expect(billedUnits(lines)).toBe("30");
  });

  test("that costs nothing is shown where it happened: flat plans", () => {
    expect(amounts(rateSegment(wholeMarch(), UNUSED))).toEqual(["fee 31.00"]);
    const lines = rateSegment(wholeMarch(), used("12"));
    expect(amounts(lines)).toEqual(["fee 31.00", "usage 0.00"]);
    expect(billedUnits(lines)).toBe("12");
  });

  test("graduated never costs less for more units, and adds up over the tiers", () => {
    const someTiers = fc
      .array(fc.tuple(fc.integer({ min: 1, max: 50 }), fc.nat(500), fc.nat(500)), {
        minLength: 1,
        maxLength: 5,
      })
      .map((steps) => {
        let bound = 0;
        return steps.map(([width, unit_price, flat_fee], index) => {
          bound += width;
          const up_to = index === steps.length - 1 ? null : String(bound);
          return {
            up_to,
            unit_price: multiply(`${unit_price}`, "0.01"),
            flat_fee: multiply(`${flat_fee}`, "0.01"),
          };
        });
      });
    const property = fc.property(someTiers, fc.nat(3000), fc.nat(3000), (usage_tiers, tenths, more) => {
      const given = { ...GRADUATED, usage_tiers };
      const cost = (units: number) => charge(given, multiply(`${units}`, "0.1"));
      expect(compare(cost(tenths + more), cost(tenths))).not.toBe(-1);
      // The same charge, unit by tenth of a unit.
      let bill = "0";
      let above = 0;
      for (const { up_to, unit_price, flat_fee } of usage_tiers) {
        const top = up_to === null ? tenths : Math.min(tenths, Number(up_to) * 10);
        if (tenths > above)
          bill = sum([bill, flat_fee, multiply(`${top - above}`, multiply(unit_price, "0.1"))]);
        above = Math.max(top, above);
        if (top === tenths) break;
      }
      expect(cost(tenths)).toBe(roundMoney(bill, "EUR"));
    });
    fc.assert(property, propertyCases(300));
  });
});

describe("rate()", () => {
  test("sums rounded lines, whatever the order of the segments", () => {
    const parts = cut(MARCH, [
      ["2024-01-01T00:00:00Z", model({ ...GRADUATED, id: 1, price: "10" })],
      ["2024-03-10T00:00:00Z", model({ ...VOLUME, id: 2, price: "10" })],
      ["2024-03-20T00:00:00Z", model({ id: 3, price: "10" })],
    ]).map((segment) => ({ segment, usage: used("12.345") }));
    const rated = rate(parts, "EUR", null);
    expect(rated.total).toBe(total(rated.lines, "EUR"));
    expect(rate(parts.toReversed(), "EUR", null)).toEqual(rated);
    expect(rated.lines.map(({ kind }) => kind)).toEqual(["fee", "usage", "fee", "usage", "fee", "usage"]);
  });

  test("answers a zero of the currency's digits for a period without a segment", () => {
    expect(rate([], "BHD", null)).toEqual({ lines: [], total: "0.000" });
  });

  test("refuses a model in another currency, or one that lacks what its type needs", () => {
    expect(() => rate(unused([wholeMarch()]), "USD", null)).toThrow("its currency is EUR");
    const bare = wholeMarch({ billing_type: "package" });
    expect(() => rateSegment(bare, used("1"))).toThrow(
      "Cannot rate billing model 1: package without package_size",
    );
  });

  test("charges February by its own days", () => {
    const parts = cut(utcMonth("2024-02"), [["2024-02-15T00:00:00Z", model({ price: "29" })]]);
    expect(rate(unused(parts), "EUR", null).total).toBe("15.00");
  });
});
