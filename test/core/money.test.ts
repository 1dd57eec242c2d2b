import { describe, expect, test } from "bun:test";
import * as fc from "fast-check";
import currencies from "../../data/seed/currencies.json" with { type: "json" };
import { AppError } from "../../src/core/errors.ts";
import {
  fromMinorUnits,
  atLeastZero,
  ceilQuotient,
  compare,
  currencyDigits,
  toBig,
  formatMoney,
  isCurrency,
  multiply,
  readDecimal,
  roundMoney,
  roundFraction,
  roundQuotient,
  toMinorUnits,
  min,
  subtract,
  sum,
} from "../../src/core/money.ts";
import { propertyCases } from "../support/properties.ts";

// 0, 2, 3 and 4 digits.
const someCurrency = fc.constantFrom("JPY", "EUR", "BHD", "CLF");
const someDecimal = fc
  .tuple(fc.bigInt({ min: -(10n ** 18n), max: 10n ** 18n }), fc.integer({ min: 0, max: 12 }))
  .map(([units, places]) => decimalOf(units, places));

function withDigits(wanted: number): string {
  return currencies.flatMap(({ code, digits }) => (digits === wanted ? [code] : [])).join(" ");
}

/** units / 10^places as text, by integers alone. */
function decimalOf(units: bigint, places: number): string {
  const size = (units < 0n ? -units : units).toString().padStart(places + 1, "0");
  const whole = size.slice(0, size.length - places);
  const fraction = size.slice(size.length - places);
  return `${units < 0n ? "-" : ""}${whole}${fraction === "" ? "" : `.${fraction}`}`;
}

/** numerator / denominator to so many digits, half away from zero, by integers alone. */
function roundedByIntegers(numerator: bigint, denominator: bigint, digits: number): string {
  const size = (numerator < 0n ? -numerator : numerator) * 10n ** BigInt(digits);
  const rounded = (2n * size + denominator) / (2n * denominator);
  return decimalOf(numerator < 0n ? -rounded : rounded, digits);
}

describe("currencies", () => {
  test("are listed once each, sorted, by three capitals and 0 to 4 digits", () => {
    const codes = currencies.map(({ code }) => code);
    expect(codes).toEqual([...new Set(codes)].toSorted());
    for (const { code, name, digits } of currencies) {
      expect(code).toMatch(/^[A-Z]{3}$/);
      expect(name.trim()).not.toBe("");
      expect([0, 2, 3, 4]).toContain(digits);
    }
  });

  test("have the digits that ISO 4217 gives them", () => {
    expect(withDigits(0)).toBe("BIF CLP DJF GNF ISK JPY KMF KRW PYG RWF UGX UYI VND VUV XAF XOF XPF");
    expect(withDigits(3)).toBe("BHD IQD JOD KWD LYD OMR TND");
    expect(withDigits(4)).toBe("CLF UYW");
    for (const code of ["EUR", "USD", "GBP", "MYR", "HUF", "NPR"]) expect(currencyDigits(code)).toBe(2);
  });

  test("agree with the runtime's own table", () => {
    // The runtime's table lacks UYW and falls back to 2.
    for (const { code, digits } of currencies) {
      if (code === "UYW") continue;
      const format = new Intl.NumberFormat("en", { style: "currency", currency: code });
      expect([code, format.resolvedOptions().maximumFractionDigits]).toEqual([code, digits]);
    }
  });

  test("isCurrency() takes active codes in capitals only", () => {
    expect(["EUR", "JPY", "XAF"].map(isCurrency)).toEqual([true, true, true]);
    expect(["eur", "DEM", "XAU", "XXX", "EURO", "", "__proto__"].some(isCurrency)).toBe(false);
    expect(() => currencyDigits("DEM")).toThrow("Cannot find the digits of currency DEM");
  });
});

describe("rounding", () => {
  const cases = [
    ["2.345", "EUR", "2.35"],
    ["-2.345", "EUR", "-2.35"],
    ["2.344999999999", "EUR", "2.34"],
    ["1.005", "EUR", "1.01"],
    ["-0.001", "EUR", "0.00"],
    ["-0.005", "EUR", "-0.01"],
    ["0", "EUR", "0.00"],
    ["7", "EUR", "7.00"],
    ["2.5", "JPY", "3"],
    ["-0.4", "JPY", "0"],
    ["1.0005", "BHD", "1.001"],
    ["1.00005", "CLF", "1.0001"],
    ["123456789012345678.125", "EUR", "123456789012345678.13"],
  ] as const;
  test.each(cases)("roundMoney() rounds %s %s to %s", (value, currency, expected) => {
    expect(roundMoney(value, currency)).toBe(expected);
  });

  test("roundMoney() does not let a division's twenty digits round first", () => {
    // 0.00499…9 with 25 nines: rounding it to 20 digits would make it 0.005.
    expect(roundQuotient(`4${"9".repeat(25)}`, `1${"0".repeat(28)}`, "EUR")).toBe("0.00");
    expect(roundQuotient(`5${"0".repeat(25)}`, `1${"0".repeat(28)}`, "EUR")).toBe("0.01");
  });

  test("roundMoney() has exactly the currency's digits and is nearest, as integers compute it", () => {
    fc.assert(
      fc.property(
        fc.bigInt({ min: -(10n ** 18n), max: 10n ** 18n }),
        fc.integer({ min: 0, max: 12 }),
        someCurrency,
        (units, places, currency) => {
          const reference = roundedByIntegers(units, 10n ** BigInt(places), currencyDigits(currency));
          expect(roundMoney(decimalOf(units, places), currency)).toBe(reference.replace(/^-(?=[0.]+$)/, ""));
        },
      ),
      propertyCases(500),
    );
  });

  test("roundQuotient() is nearest for any fraction, as integers compute it", () => {
    fc.assert(
      fc.property(
        fc.bigInt({ min: -(10n ** 14n), max: 10n ** 14n }),
        fc.bigInt({ min: 1n, max: 10n ** 10n }),
        someCurrency,
        (numerator, denominator, currency) => {
          const reference = roundedByIntegers(numerator, denominator, currencyDigits(currency));
          expect(roundQuotient(`${numerator}`, `${denominator}`, currency)).toBe(
            reference.replace(/^-(?=[0.]+$)/, ""),
          );
        },
      ),
      propertyCases(500),
    );
  });

  test("ceilQuotient() counts what is started", () => {
    expect(ceilQuotient("0", "10")).toBe("0");
    expect(ceilQuotient("120", "10")).toBe("12");
    expect(ceilQuotient("120.000001", "10")).toBe("13");
    expect(ceilQuotient("0.3", "0.1")).toBe("3");
    expect(ceilQuotient(`1${"0".repeat(17)}.000000000001`, "1")).toBe(`1${"0".repeat(16)}1`);
  });
});

describe("arithmetic", () => {
  test("is exact where floats are not", () => {
    expect(sum(["0.1", "0.2"])).toBe("0.3");
    expect(subtract("0.3", "0.1")).toBe("0.2");
    expect(multiply("1000000", "0.000001")).toBe("1");
    expect(multiply("0.000000000001", "0.000000000001")).toBe("0.000000000000000000000001");
    expect(sum([])).toBe("0");
    expect(subtract("0", "0")).toBe("0");
    expect(multiply("-1", "0")).toBe("0");
    expect([min("10", "9"), atLeastZero("-1"), atLeastZero("2")]).toEqual(["9", "0", "2"]);
    expect(compare("1.0", "1")).toBe(0);
  });

  test("compare() is right however near two are, as integers compare them", () => {
    fc.assert(
      fc.property(
        fc.bigInt({ min: -(10n ** 24n), max: 10n ** 24n }),
        fc.oneof(fc.bigInt({ min: -2n, max: 2n }), fc.bigInt({ min: -(10n ** 15n), max: 10n ** 15n })),
        fc.integer({ min: 0, max: 12 }),
        (units, more, places) => {
          const expected = more === 0n ? 0 : more < 0n ? 1 : -1;
          expect(compare(decimalOf(units, places), decimalOf(units + more, places))).toBe(expected);
        },
      ),
      propertyCases(1_000),
    );
  });

  test("whole numbers add up, differ and multiply as integers do, also past what a double holds", () => {
    const whole = fc.oneof(
      fc.bigInt({ min: -100n, max: 100n }),
      fc.bigInt({ min: -(10n ** 16n), max: 10n ** 16n }),
    );
    fc.assert(
      fc.property(fc.array(whole, { maxLength: 20 }), whole, whole, (values, a, b) => {
        expect(sum(values.map(String))).toBe(String(values.reduce((total, value) => total + value, 0n)));
        expect(subtract(String(a), String(b))).toBe(String(a - b));
        expect(multiply(String(a), String(b))).toBe(String(a * b));
      }),
      propertyCases(1_000),
    );
    const most = "999999999999999";
    expect(sum([...Array<string>(12).fill(most), ...Array<string>(12).fill(`-${most}`), "1"])).toBe("1");
  });

  test("does not depend on the order of a sum, and subtracting undoes adding", () => {
    fc.assert(
      fc.property(fc.array(someDecimal, { maxLength: 8 }), someDecimal, (values, one) => {
        expect(sum(values.toReversed())).toBe(sum(values));
        expect(compare(subtract(sum([...values, one]), one), sum(values))).toBe(0);
      }),
      propertyCases(200),
    );
  });

  test("decimal() reads a number from its shortest decimal form, and nothing that is none", () => {
    expect(toBig(0.1).toFixed()).toBe("0.1");
    expect(toBig(1e-7).toFixed()).toBe("0.0000001");
    expect(() => toBig(Number.NaN)).toThrow();
    expect(() => toBig("12,5")).toThrow();
  });
});

describe("formatMoney()", () => {
  const cases = [
    ["1234567.5", "EUR", "EUR 1,234,567.50"],
    ["-1234.5", "EUR", "EUR -1,234.50"],
    ["-123456", "JPY", "JPY -123,456"],
    ["999", "JPY", "JPY 999"],
    ["0", "BHD", "BHD 0.000"],
    ["1234.56789", "CLF", "CLF 1,234.5679"],
  ] as const;
  test.each(cases)("writes %s %s as %s", (amount, currency, expected) => {
    expect(formatMoney(amount, currency)).toBe(expected);
  });
});

describe("readDecimal()", () => {
  const accepted = [
    ["12.50", "12.5"],
    ["0", "0"],
    ["-0.00", "0"],
    ["-12.5", "-12.5"],
    ["0.000000000001", "0.000000000001"],
    ["999999999999999999.999999999999", "999999999999999999.999999999999"],
    [0.1, "0.1"],
    [1e-7, "0.0000001"],
    [-0, "0"],
    [999999999999.999, "999999999999.999"],
    [1e17, "100000000000000000"],
  ] as const;
  test.each(accepted)("reads %p as %s", (value, expected) => {
    expect(readDecimal(value, "/free_units")).toBe(expected);
  });

  const refused = [
    "1e3",
    "1E-3",
    "NaN",
    "Infinity",
    "",
    " 1",
    "1\n",
    "+1",
    ".5",
    "5.",
    "007",
    "1,5",
    "0x10",
    "1_000",
    "１",
    "1000000000000000000",
    "0.0000000000001",
    "9".repeat(100_000),
    Number.NaN,
    Number.POSITIVE_INFINITY,
    1e300,
    5e-324,
    0.1 + 0.2,
    1234567890123456,
  ];
  test.each(refused)("refuses %p", (value) => {
    expect(() => readDecimal(value, "/free_units")).toThrow(AppError);
  });

  test("names the place, and what is allowed, without repeating the value", () => {
    let caught: unknown;
    try {
      readDecimal("1e3", "/usage_tiers/0/unit_price");
    } catch (error) {
      caught = error;
    }
    expect(caught).toMatchObject({
      kind: "invalid",
      details: [
        {
          path: "/usage_tiers/0/unit_price",
          message:
            "must be a plain decimal such as 12.5, with at most 18 digits before and 12 after the point",
        },
      ],
    });
  });

  test("holds a price to the 15 digits that a JSON number carries, as text too", () => {
    expect(readDecimal("123456789012.345", "/price", "price")).toBe("123456789012.345");
    expect(readDecimal("0.000000000123", "/price", "price")).toBe("0.000000000123");
    expect(() => readDecimal("1234567890123.456", "/price", "price")).toThrow(
      "at most 15 significant digits",
    );
    expect(readDecimal("1234567890123.456", "/free_units")).toBe("1234567890123.456");
  });

  test("reads a price that survives the way through a JSON number", () => {
    fc.assert(
      fc.property(
        fc.bigInt({ min: -(10n ** 15n) + 1n, max: 10n ** 15n - 1n }),
        fc.integer({ min: 0, max: 12 }),
        (units, places) => {
          const price = readDecimal(decimalOf(units, places), "/price", "price");
          expect(readDecimal(Number(price), "/price", "price")).toBe(price);
        },
      ),
      propertyCases(500),
    );
  });
});

describe("sen", () => {
  test("an amount survives the way through whole sen", () => {
    fc.assert(
      fc.property(fc.integer({ min: -1_000_000_000, max: 10 ** 15 }), (sen) => {
        expect(toMinorUnits(fromMinorUnits(sen))).toBe(sen);
        expect(fromMinorUnits(sen)).toMatch(/^-?\d+\.\d\d$/);
      }),
      propertyCases(500),
    );
    expect(fromMinorUnits(5)).toBe("0.05");
    expect(toMinorUnits("0.1")).toBe(10);
    expect(toMinorUnits("007.50")).toBe(750);
  });

  test("parts of a sen are refused, not rounded", () => {
    expect(() => toMinorUnits("10.005")).toThrow("parts of a sen");
  });
});

test("a fraction of whole numbers is rounded as a quotient of decimals is", () => {
  const some_part = fc.bigInt({ min: 0n, max: 10n ** 15n });
  const some_whole = fc.oneof(fc.bigInt({ min: 1n, max: 2_000n }), fc.bigInt({ min: 1n, max: 10n ** 15n }));
  fc.assert(
    fc.property(some_part, some_whole, someCurrency, (numerator, denominator, currency) => {
      expect(roundFraction(numerator, denominator, currency)).toBe(
        roundQuotient(String(numerator), String(denominator), currency),
      );
    }),
    propertyCases(500),
  );
  expect(roundFraction(1n, 200n, "EUR")).toBe("0.01");
  expect(roundFraction(10n ** 4_000n - 1n, 2n * 10n ** 4_000n, "JPY")).toBe("0");
  expect(roundFraction(10n ** 4_000n, 2n * 10n ** 4_000n, "JPY")).toBe("1");
});
