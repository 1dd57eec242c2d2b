import { type Decimal, toBig } from "../../core/money.ts";

/** Decimals of a stored usage. */
const USAGE_DECIMALS = 6;
/** The absolute value of a usage must be below this. */
const USAGE_BOUND = 1e12;

const PLAIN = /^-?\d+(\.\d{1,6})?$/;
const NUMBER = /^-?(\d{1,30}(\.\d{0,60})?|\.\d{1,60})(e[+-]?\d{1,3})?$/i;

/**
 * The stored form of a usage: rounded half away from zero to six decimals, plain text ("-0.5", never "1e-7").
 * Undefined for anything but a number under 1e12 in size. Text may be any decimal and is read exactly.
 * See docs/usage.md#send-events.
 */
export function roundUsage(usage: number | string): Decimal | undefined {
  if (Number.isInteger(usage) && Math.abs(Number(usage)) < USAGE_BOUND) return String(usage);
  const text = String(usage);
  // The usual number needs no arithmetic.
  if (typeof usage === "number" && PLAIN.test(text) && Math.abs(usage) < USAGE_BOUND) return text;
  if (!NUMBER.test(text)) return undefined;
  const rounded = toBig(text).round(USAGE_DECIMALS);
  if (rounded.abs().gte(String(USAGE_BOUND))) return undefined;
  return rounded.eq("0") ? "0" : rounded.toFixed();
}
