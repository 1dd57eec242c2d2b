import { describe, expect, test } from "bun:test";
import * as fc from "fast-check";
import { compare, currencyDigits, toBig } from "../../../src/core/money.ts";
import { type Loan, monthlyInstalment } from "../../../src/loans/applications/instalments.ts";
import { propertyCases } from "../../support/properties.ts";

/** Worked out apart from this code, with 60 digits, and rounded half away from zero. */
const EXAMPLES: [Partial<Loan>, string][] = [
  [
    { rate_type: "reducing", amount: "10000.00", annual_rate: "12", tenor_months: 12, currency: "MYR" },
    "888.49",
  ],
  [
    { rate_type: "reducing", amount: "100000.00", annual_rate: "6", tenor_months: 360, currency: "MYR" },
    "599.55",
  ],
  [
    { rate_type: "reducing", amount: "9000.00", annual_rate: "8.5", tenor_months: 24, currency: "MYR" },
    "409.10",
  ],
  [
    { rate_type: "reducing", amount: "50000.00", annual_rate: "4.88", tenor_months: 84, currency: "MYR" },
    "703.88",
  ],
  [
    { rate_type: "reducing", amount: "1000.00", annual_rate: "0", tenor_months: 3, currency: "MYR" },
    "333.33",
  ],
  [
    { rate_type: "reducing", amount: "1000000", annual_rate: "7.25", tenor_months: 36, currency: "JPY" },
    "30992",
  ],
  [
    { rate_type: "reducing", amount: "1000.000", annual_rate: "9.9", tenor_months: 10, currency: "BHD" },
    "104.593",
  ],
  [
    {
      rate_type: "reducing",
      amount: "999999999999999.99",
      annual_rate: "0.0001",
      tenor_months: 600,
      currency: "MYR",
    },
    "1666708403125.00",
  ],
  [
    { rate_type: "reducing", amount: "0.01", annual_rate: "999.9999", tenor_months: 600, currency: "MYR" },
    "0.01",
  ],
  [
    { rate_type: "reducing", amount: "5000.00", annual_rate: "18", tenor_months: 1, currency: "MYR" },
    "5075.00",
  ],
  [{ rate_type: "flat", amount: "10000.00", annual_rate: "5", tenor_months: 12, currency: "MYR" }, "875.00"],
  [
    { rate_type: "flat", amount: "50000.00", annual_rate: "3.5", tenor_months: 84, currency: "MYR" },
    "741.07",
  ],
  [{ rate_type: "flat", amount: "1000.00", annual_rate: "0", tenor_months: 7, currency: "MYR" }, "142.86"],
  [{ rate_type: "flat", amount: "1000000", annual_rate: "7.25", tenor_months: 36, currency: "JPY" }, "33819"],
  [
    { rate_type: "flat", amount: "1000.000", annual_rate: "9.9", tenor_months: 9, currency: "BHD" },
    "119.361",
  ],
  [{ rate_type: "flat", amount: "0.05", annual_rate: "0", tenor_months: 2, currency: "MYR" }, "0.03"],
];

const loanOf = (loan: Partial<Loan>): Loan => ({
  amount: "1000.00",
  tenor_months: 12,
  annual_rate: "6",
  rate_type: "reducing",
  currency: "MYR",
  ...loan,
});

describe("instalments worked out by hand", () => {
  test.each(EXAMPLES)("%j is %s a month", (loan, instalment) => {
    expect(monthlyInstalment(loanOf(loan))).toBe(instalment);
  });
});

/** Rates with up to four decimals, as they are on the wire. */
const some_rate = fc
  .integer({ min: 0, max: 9_999_999 })
  .map((ten_thousandths) => toBig(ten_thousandths).times("1e-4").toFixed());
const some_currency = fc.constantFrom("JPY", "MYR", "BHD");
const some_loan = fc
  .record({
    minor_units: fc.bigInt({ min: 100_000n, max: 10n ** 14n }),
    tenor_months: fc.integer({ min: 1, max: 600 }),
    annual_rate: some_rate,
    rate_type: fc.constantFrom("flat" as const, "reducing" as const),
    currency: some_currency,
  })
  .map(({ minor_units, ...loan }): Loan => {
    const digits = currencyDigits(loan.currency);
    return { ...loan, amount: toBig(String(minor_units)).times(`1e-${digits}`).toFixed(digits) };
  });

/** A plain decimal in units of 10^-places. */
function units(value: string, places: number): bigint {
  return BigInt(toBig(value).times(`1e${places}`).toFixed());
}

describe("any loan", () => {
  test("with interest on what is left, the schedule pays back the amount, to half a minor unit a month", () => {
    fc.assert(
      fc.property(some_loan, (some) => {
        const loan: Loan = { ...some, rate_type: "reducing" };
        const digits = currencyDigits(loan.currency);
        const instalment = 2n * units(monthlyInstalment(loan), digits);
        // What is left after each month, times per^month: whole numbers, nothing rounded. In half minor units.
        const per = 12_000_000n;
        const rate = units(loan.annual_rate, 4);
        const left = { low: 2n * units(loan.amount, digits), high: 2n * units(loan.amount, digits) };
        let scale = 1n;
        for (let month = 0; month < loan.tenor_months; month++) {
          scale *= per;
          left.low = left.low * (per + rate) - (instalment + 1n) * scale;
          left.high = left.high * (per + rate) - (instalment - 1n) * scale;
        }
        // Half a unit more each month is enough, half a unit less is not too much.
        expect(left.low <= 0n).toBe(true);
        expect(left.high >= 0n).toBe(true);
      }),
      propertyCases(200),
    );
  });

  test("at a flat rate, all instalments are the amount and its interest, to half a minor unit each", () => {
    fc.assert(
      fc.property(some_loan, (some) => {
        const loan: Loan = { ...some, rate_type: "flat" };
        const digits = currencyDigits(loan.currency);
        const n = BigInt(loan.tenor_months);
        const paid = units(monthlyInstalment(loan), digits) * n * 12_000_000n;
        const owed = units(loan.amount, digits) * (12_000_000n + units(loan.annual_rate, 4) * n);
        const off = paid > owed ? paid - owed : owed - paid;
        expect(2n * off <= n * 12_000_000n).toBe(true);
      }),
      propertyCases(300),
    );
  });

  test("has the currency's digits", () => {
    fc.assert(
      fc.property(some_loan, (loan) => {
        const [, decimals = ""] = monthlyInstalment(loan).split(".");
        expect(decimals.length).toBe(currencyDigits(loan.currency));
      }),
      propertyCases(200),
    );
  });

  test("costs more at a higher rate, for a larger amount, and at a flat rate than at the same reducing one", () => {
    fc.assert(
      fc.property(some_loan, some_rate, (loan, other_rate) => {
        const instalment = monthlyInstalment(loan);
        const other = monthlyInstalment({ ...loan, annual_rate: other_rate });
        const sign = compare(other_rate, loan.annual_rate);
        expect([0, sign]).toContain(compare(other, instalment));
        const larger = monthlyInstalment({ ...loan, amount: toBig(loan.amount).times("2").toFixed() });
        expect(compare(larger, instalment)).toBe(1);
        const flat = monthlyInstalment({ ...loan, rate_type: "flat" });
        const reducing = monthlyInstalment({ ...loan, rate_type: "reducing" });
        expect(compare(flat, reducing)).toBeGreaterThanOrEqual(0);
      }),
      propertyCases(200),
    );
  });

  test("without interest is the amount in equal parts, whatever the kind of rate", () => {
    fc.assert(
      fc.property(some_loan, (loan) => {
        const free = { ...loan, annual_rate: "0" };
        expect(monthlyInstalment({ ...free, rate_type: "flat" })).toBe(
          monthlyInstalment({ ...free, rate_type: "reducing" }),
        );
      }),
      propertyCases(100),
    );
  });
});
