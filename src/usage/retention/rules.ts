import { HOUR_MS } from "../../usage_store/time_buckets.ts";

/**
 * Where a company's usage begins, Unix ms: at the start of the local month that lies so many months before the present
 * one, or up to an hour earlier, at a whole hour of UTC, since sums are by that.
 */
export function sinceAt(now: Temporal.Instant, time_zone: string, months: number): number {
  const today = now.toZonedDateTimeISO(time_zone).toPlainDate();
  const start = today.with({ day: 1 }).subtract({ months }).toZonedDateTime(time_zone).epochMilliseconds;
  return hourOf(start);
}

/** The whole hour of UTC in which an instant lies, Unix ms. */
export function hourOf(at_ms: number): number {
  return Math.max(0, at_ms - (at_ms % HOUR_MS));
}
