import { type Decimal, toBig } from "../../core/money.ts";

/** Decimals of a stored usage. */
const USAGE_DECIMALS = 6;
/** The absolute value of a usage must be below this. */
const USAGE_BOUND = 1e12;

/** Below this a number with six decimals has at most 15 digits, and its text is those digits. */
const PLAIN_BOUND = 1e9;
const NUMBER = /^-?(\d{1,30}(\.\d{0,60})?|\.\d{1,60})(e[+-]?\d{1,3})?$/i;

/**
 * The stored form of a usage: rounded half away from zero to six decimals, plain text ("-0.5", never "1e-7").
 * Undefined for anything but a number under 1e12 in size. Text may be any decimal and is read exactly.
 * See docs/usage.md#send-events.
 */
export function roundUsage(usage: number | string): Decimal | undefined {
  const text = String(usage);
  if (typeof usage === "number" && isPlain(usage)) return text;
  if (!NUMBER.test(text)) return undefined;
  const rounded = toBig(text).round(USAGE_DECIMALS);
  if (rounded.abs().gte(String(USAGE_BOUND))) return undefined;
  return rounded.eq("0") ? "0" : rounded.toFixed();
}

/** Whether the text of a number is its stored form, as that of most is. */
function isPlain(usage: number): boolean {
  if (Number.isInteger(usage)) return Math.abs(usage) < USAGE_BOUND;
  return Math.abs(usage) < PLAIN_BOUND && Math.round(usage * 1e6) / 1e6 === usage;
}
