import { type Decimal, multiply, quotient } from "../../core/money.ts";
import type { ChargedUsage } from "./charge_lines.ts";
import type { UsedSegment } from "./charges.ts";
import type { Segment } from "./segments.ts";

/** How much longer a stretch is than what has passed of it. */
interface Growth {
  readonly whole: Decimal;
  readonly passed: Decimal;
}

/** Of the stretch that runs at an instant; null of one that has ended, has not begun, or begins just then. */
function growthOf({ from, to }: Segment, at: Temporal.Instant): Growth | null {
  const passed = at.epochMilliseconds - from.epochMilliseconds;
  const whole = to.epochMilliseconds - from.epochMilliseconds;
  return passed <= 0 || passed >= whole ? null : { whole: String(whole), passed: String(passed) };
}

const grow = (quantity: Decimal, { whole, passed }: Growth): Decimal =>
  quotient(multiply(quantity, whole), passed, 6);

/**
 * A segment with the usage that it will have if usage goes on as it did: what grows with time, sums and counts, by the
 * share of the segment that has passed, half away from zero to six decimals. Fees, levels, maxima and averages stay.
 */
export function projectSegment(used: UsedSegment, at: Temporal.Instant): UsedSegment {
  const growth = growthOf(used.segment, at);
  if (growth === null) return used;
  const { usage, charges } = used;
  const { event_count, corrections = 0 } = usage;
  const calls = (events: number) => Math.round(Number(grow(String(events), growth)));
  const grown = {
    ...usage,
    units: grow(usage.units, growth),
    event_count: calls(event_count),
    corrections: calls(corrections),
  };
  return {
    ...used,
    usage: usage.grows === false ? usage : grown,
    ...(charges === undefined ? {} : { charges: projectCharges(charges, used.segment, at) }),
  };
}

/** As `projectSegment`, of what charges counted of a segment. */
export function projectCharges(
  charges: ReadonlyMap<string, ChargedUsage>,
  segment: Segment,
  at: Temporal.Instant,
): Map<string, ChargedUsage> {
  const growth = growthOf(segment, at);
  return new Map(
    [...charges].map(([code, charged]) => {
      if (growth === null || charged.grows !== true) return [code, charged];
      const parts = charged.parts.map((part) => ({ ...part, quantity: grow(part.quantity, growth) }));
      return [code, { ...charged, parts }];
    }),
  );
}
