import { type Decimal, roundFraction } from "../../core/money.ts";
import type { LoanProgram } from "../programs/model.ts";

/** The terms that instalments depend on. `annual_rate` is in percent. */
export interface Loan {
  amount: Decimal;
  tenor_months: number;
  annual_rate: Decimal;
  rate_type: LoanProgram["rate_type"];
  currency: string;
}

/**
 * The monthly instalment: an exact fraction, rounded once to the currency, half away from zero. Flat: interest on the
 * whole amount for the whole term. Reducing: an annuity, with a twelfth of the annual rate on the balance each month.
 * Decision 0104.
 */
export function monthlyInstalment(loan: Loan): Decimal {
  const [numerator, denominator] = loan.rate_type === "flat" ? flat(loan) : annuity(loan);
  return roundFraction(numerator, denominator, loan.currency);
}

type Fraction = readonly [numerator: bigint, denominator: bigint];

/** P (1 + rate · n) / n, with the monthly rate. */
function flat({ amount, annual_rate, tenor_months }: Loan): Fraction {
  const [p, p_scale] = fraction(amount);
  const [rate, per] = monthlyRate(annual_rate);
  const n = BigInt(tenor_months);
  return [p * (per + rate * n), p_scale * per * n];
}

/** P · rate · (1 + rate)ⁿ / ((1 + rate)ⁿ − 1), with the monthly rate; P / n without interest. */
function annuity({ amount, annual_rate, tenor_months }: Loan): Fraction {
  const [p, p_scale] = fraction(amount);
  const [rate, per] = monthlyRate(annual_rate);
  const n = BigInt(tenor_months);
  if (rate === 0n) return [p, p_scale * n];
  const grown = (per + rate) ** n;
  return [p * rate * grown, p_scale * per * (grown - per ** n)];
}

/** The monthly rate of an annual percentage: 6 % a year are 6/1200 a month. */
function monthlyRate(annual_rate: Decimal): Fraction {
  const [rate, scale] = fraction(annual_rate);
  return [rate, scale * 1_200n];
}

/** A plain decimal as a fraction: "12.5" → 125/10. */
function fraction(value: Decimal): Fraction {
  const [whole = "", decimals = ""] = value.split(".");
  return [BigInt(whole + decimals), 10n ** BigInt(decimals.length)];
}
