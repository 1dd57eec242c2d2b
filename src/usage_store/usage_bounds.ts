import { type Decimal, toBig } from "../core/money.ts";

// Bounds of usage in millionths, as which it is stored.

/** The largest usage that can be stored, in millionths. */
const MAX_MILLIONTHS = 10n ** 18n - 1n;

// big.js's rounding modes: towards zero and away from it.
const DOWN = 0;
const UP = 3;

/** The least usage that is not below a bound. */
export function millionthsAtLeast(min: Decimal): bigint {
  const scaled = toBig(min).times("1000000");
  return BigInt(scaled.round(0, scaled.lt("0") ? DOWN : UP).toFixed());
}

/** The largest usage that is not above a bound. */
export function millionthsAtMost(max: Decimal): bigint {
  const scaled = toBig(max).times("1000000");
  return BigInt(scaled.round(0, scaled.lt("0") ? UP : DOWN).toFixed());
}

/** Whether a stored usage may be so much. */
export function isWithin(millionths: bigint): boolean {
  return millionths <= MAX_MILLIONTHS && millionths >= -MAX_MILLIONTHS;
}
