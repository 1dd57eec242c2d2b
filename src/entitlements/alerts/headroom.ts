import type { Headroom } from "../../app/live_limits.ts";
import { compare, type Decimal } from "../../core/money.ts";
import { LIMITS } from "../limits.ts";
import type { Held } from "./reached.ts";
import type { Step } from "./scales.ts";

/**
 * What there is left to a subscription before its next threshold, when it was looked at and all was told; null where only
 * another look can say. Decision 0269.
 */
export function headroomOf(held: readonly Held[], now_ms: number): Headroom | null {
  const values: { current: NonNullable<Held["current"]>; next: Decimal | undefined }[] = [];
  let until_ms = now_ms + LIMITS.headroom_ms;
  for (const { scale, values: looked_at, current } of held) {
    if (current === null) return null;
    // Not the current one: what came while others were told may have passed a threshold.
    const [{ quantity } = NOTHING] = looked_at;
    // Of nothing nothing is reached, not even a limit of 0.
    const isAhead = ({ amount }: Step) => compare(quantity, "0") <= 0 || compare(amount, quantity) > 0;
    values.push({ current, next: scale.steps.find(isAhead)?.amount });
    if (scale.bounds.end_ms > now_ms) until_ms = Math.min(until_ms, scale.bounds.end_ms);
  }
  return {
    isLeft: (at_ms) =>
      // A clock that was set back may be in another window.
      at_ms >= now_ms && at_ms < until_ms && values.every(({ current, next }) => isBelow(current(), next)),
  };
}

const NOTHING = { quantity: "0" };

function isBelow(
  { quantity, certain }: ReturnType<NonNullable<Held["current"]>>,
  next: Decimal | undefined,
): boolean {
  return certain && (next === undefined || compare(quantity, next) < 0);
}
