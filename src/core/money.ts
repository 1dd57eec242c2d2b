import BigJs from "big.js";
import currencies from "../../data/seed/currencies.json" with { type: "json" };
import { invalid } from "./errors.ts";

/** An exact decimal in storage and between functions: `"0.000001"`, `"-12.5"`; never exponent form. */
export type Decimal = string;

// Constructors of our own, so that nobody else's settings reach them. The last two divide to a whole number:
// a quotient is rounded exactly once, in the function that asks for it.
const Exact = settings(BigJs.roundHalfUp, 20);
const Nearest = settings(BigJs.roundHalfUp, 0);
const Upward = settings(BigJs.roundUp, 0);

function settings(rounding: BigJs.RoundingMode, decimal_places: number): BigJs.BigConstructor {
  const constructor = BigJs();
  constructor.strict = true; // refuses binary floats
  constructor.RM = rounding;
  constructor.DP = decimal_places;
  return constructor;
}

/**
 * Reads a decimal that is known to be one. A number is read from its shortest decimal form, so that 0.1 is
 * one tenth. Never divide with it: `roundQuotient` and `ceilQuotient` round once.
 * Errors: throws on anything that is not a finite decimal.
 */
export function toBig(value: Decimal | number): BigJs {
  return new Exact(String(value));
}

/** Plain text, without exponent, trailing zeros or "-0". */
function canonical(value: BigJs): Decimal {
  return value.eq("0") ? "0" : value.toFixed();
}

/** The sum; "0" of nothing. */
export function sum(values: readonly Decimal[]): Decimal {
  let total = 0;
  for (const value of values) {
    total += wholeOf(value);
    if (!Number.isSafeInteger(total)) break;
  }
  return exactly(total) ?? canonical(values.reduce((exact, value) => exact.plus(value), new Exact("0")));
}

export function subtract(from: Decimal, value: Decimal): Decimal {
  return exactly(wholeOf(from) - wholeOf(value)) ?? canonical(toBig(from).minus(value));
}

export function multiply(a: Decimal, b: Decimal): Decimal {
  return exactly(wholeOf(a) * wholeOf(b)) ?? canonical(toBig(a).times(b));
}

/** A whole number that a double holds exactly; NaN for any other decimal. */
function wholeOf(value: Decimal): number {
  return WHOLE.test(value) ? Number(value) : Number.NaN;
}

const WHOLE = /^-?\d{1,15}$/;

/** What whole numbers come to, which most counts are: in a tenth of the time. Undefined where a double may be inexact. */
function exactly(result: number): Decimal | undefined {
  // Not "-0": text of it has no sign.
  return Number.isSafeInteger(result) ? String(result) : undefined;
}

/** Below, at or above zero as `a` is less than, equal to or more than `b`. */
export function compare(a: Decimal, b: Decimal): -1 | 0 | 1 {
  const [x, y] = [Number(a), Number(b)];
  const difference = x - y;
  // Doubles tell those that are far apart, in a tenth of the time.
  if (Math.abs(difference) > (Math.abs(x) + Math.abs(y)) * FAR) return difference < 0 ? -1 : 1;
  return toBig(a).cmp(b);
}

/** Well above what a double and a difference of two are wrong by: 2^-53 of each. */
const FAR = 1e-12;

export function isZero(value: Decimal): boolean {
  return compare(value, "0") === 0;
}

export function min(a: Decimal, b: Decimal): Decimal {
  return compare(a, b) <= 0 ? a : b;
}

export function max(a: Decimal, b: Decimal): Decimal {
  return compare(a, b) >= 0 ? a : b;
}

/** The value, or "0" where it is below zero. */
export function atLeastZero(value: Decimal): Decimal {
  return compare(value, "0") <= 0 ? "0" : value;
}

/** How many times `size` (above zero) is started to reach `value`: 101 in hundreds are 2. */
export function ceilQuotient(value: Decimal, size: Decimal): Decimal {
  return canonical(new Upward(value).div(size));
}

const DIGITS = new Map(currencies.map(({ code, digits }) => [code, digits]));

/** Whether it is an active ISO 4217 code with a minor unit, in capitals. */
export function isCurrency(code: string): boolean {
  return DIGITS.has(code);
}

/**
 * Digits after the point of a currency's amounts: 2 of EUR, 0 of JPY, 3 of BHD. Errors: throws on a code that
 * `isCurrency` refuses. Source: ISO 4217, list one.
 */
export function currencyDigits(code: string): number {
  const digits = DIGITS.get(code);
  if (digits === undefined)
    throw new RangeError(`Cannot find the digits of currency ${code}: not an ISO 4217 code`);
  return digits;
}

/** Text with exactly the currency's digits; a value that rounds to nothing has no sign. */
function money(value: BigJs, digits: number): Decimal {
  const size = value.abs().toFixed(digits);
  return value.lt("0") ? `-${size}` : size;
}

/**
 * Rounds to the currency's digits, half away from zero: "2.345" EUR → "2.35", "-2.345" → "-2.35", "2.345"
 * JPY → "2". See docs/billing.md#rounding-and-time.
 */
export function roundMoney(value: Decimal, currency: string): Decimal {
  const digits = currencyDigits(currency);
  return money(toBig(value).round(digits), digits);
}

/**
 * numerator / denominator in the currency's digits, half away from zero and rounded once: the division stops
 * at the last digit kept, so that 2.4999… never becomes 2.5 on the way.
 */
export function roundQuotient(numerator: Decimal, denominator: Decimal, currency: string): Decimal {
  const digits = currencyDigits(currency);
  const minor_units = new Nearest(numerator).times(`1e${digits}`).div(denominator);
  return money(minor_units.times(`1e-${digits}`), digits);
}

/** numerator / denominator to so many digits after the point, half away from zero and rounded once. */
export function quotient(numerator: Decimal, denominator: Decimal, digits: number): Decimal {
  return canonical(new Nearest(numerator).times(`1e${digits}`).div(denominator).times(`1e-${digits}`));
}

/** An amount as it is mostly written, whose digits are its minor units. */
const TWO_DIGITS = /^\d{1,12}\.\d\d$/;

/** `"100.5"` → 10050. Errors: throws on an amount with more than two digits after the point. */
export function toMinorUnits(amount: Decimal): number {
  if (TWO_DIGITS.test(amount)) return Number(amount.replace(".", ""));
  const sen = toBig(amount).times("100");
  if (!sen.eq(sen.round(0))) throw new RangeError(`Cannot keep ${amount}: it has parts of a sen`);
  return Number(sen.toFixed());
}

/** 10050 → `"100.50"`. */
export function fromMinorUnits(sen: number): Decimal {
  const digits = String(Math.abs(sen)).padStart(3, "0");
  return `${sen < 0 ? "-" : ""}${digits.slice(0, -2)}.${digits.slice(-2)}`;
}

/** Amounts of one currency, added up as far as a database can without rounding: its minor units, and amounts too large for that. */
export interface Amounts {
  readonly minor_units: bigint;
  readonly large: readonly Decimal[];
}

/** Minor units in the currency's digits: -5n → "-0.05". */
function minorText(minor_units: bigint, digits: number): Decimal {
  const size = String(minor_units)
    .replace("-", "")
    .padStart(digits + 1, "0");
  const point = size.length - digits;
  const text = digits === 0 ? size : `${size.slice(0, point)}.${size.slice(point)}`;
  return minor_units < 0n ? `-${text}` : text;
}

/** The sum in the currency's digits. */
export function sumAmounts(amounts: readonly Amounts[], currency: string): Decimal {
  const digits = currencyDigits(currency);
  const minor_units = amounts.reduce((all, one) => all + one.minor_units, 0n);
  const large = amounts.flatMap((one) => one.large);
  if (large.length === 0) return minorText(minor_units, digits);
  const small = toBig(String(minor_units)).times(`1e-${digits}`);
  return money(
    large.reduce((all, amount) => all.plus(amount), small),
    digits,
  );
}

/**
 * As `roundQuotient`, of whole numbers, none below zero, which may have thousands of digits: numerator / denominator in the
 * currency's digits, a half rounded up, once.
 */
export function roundFraction(numerator: bigint, denominator: bigint, currency: string): Decimal {
  const digits = currencyDigits(currency);
  const doubled = 2n * numerator * 10n ** BigInt(digits);
  const minor_units = (doubled + denominator) / (2n * denominator);
  return money(toBig(String(minor_units)).times(`1e-${digits}`), digits);
}

/** Whether a plain decimal has no more digits after the point than the currency's amounts. */
export function fitsCurrency(value: Decimal, currency: string): boolean {
  return compare(roundMoney(value, currency), value) === 0;
}

/** An amount for people: "1234567.5" EUR → "EUR 1,234,567.50". */
export function formatMoney(amount: Decimal, currency: string): string {
  return `${currency} ${groupDigits(roundMoney(amount, currency))}`;
}

/** A decimal for people: "1234567.5" → "1,234,567.5". */
export function groupDigits(value: Decimal): string {
  const [whole = "", fraction] = value.split(".");
  const grouped = whole.replaceAll(/\B(?=(\d{3})+$)/g, ",");
  return fraction === undefined ? grouped : `${grouped}.${fraction}`;
}

const PLAIN = /^-?(0|[1-9]\d{0,17})(\.\d{1,12})?$/;
const SIGNIFICANT_DIGITS = 15;

/** The digits that carry a value: "-0.00120" has two. */
function significantDigits(plain: Decimal): number {
  return plain.replace(/[-.]/g, "").replace(/^0+/, "").replace(/0+$/, "").length;
}

/**
 * Reads a decimal from the wire into canonical text (no exponent, no trailing zeros, no "-0").
 * Text: at most 18 digits before and 12 after the point. A JSON number, and a `price` in either form, has at
 * most 15 significant digits: as many as a JSON number carries exactly.
 * Errors: invalid, at `path`. See docs/billing.md#rounding-and-time.
 */
export function readDecimal(
  value: string | number,
  path: string,
  kind: "decimal" | "price" = "decimal",
): Decimal {
  const text = typeof value === "number" && Number.isFinite(value) ? toBig(value).toFixed() : String(value);
  if (!PLAIN.test(text)) {
    throw invalid(
      path,
      "must be a plain decimal such as 12.5, with at most 18 digits before and 12 after the point",
    );
  }
  const read = canonical(toBig(text));
  if (significantDigits(read) <= SIGNIFICANT_DIGITS || (typeof value === "string" && kind === "decimal"))
    return read;
  const way_out = kind === "decimal" ? "; send more as a string" : "";
  throw invalid(path, `must have at most ${SIGNIFICANT_DIGITS} significant digits${way_out}`);
}
