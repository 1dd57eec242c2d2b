import type { RelativeWindow } from "./model.ts";

const HOUR_MS = 3_600_000;

/** A span of time in Unix ms: start inclusive, end exclusive; an absent bound is open. */
export interface Window {
  start_ms?: number | undefined;
  end_ms?: number | undefined;
}

const HOURS_BACK: Record<Exclude<RelativeWindow, "this_month" | "last_month">, number> = {
  last_1h: 1,
  last_24h: 24,
  last_7d: 7 * 24,
  last_30d: 30 * 24,
  last_90d: 90 * 24,
};

/**
 * The window of a relative search. `last_…` counts hours back from now and includes the current millisecond, so that
 * an event just stored is found; months are calendar months in the zone. Decision 0022.
 */
export function windowOf(relative: RelativeWindow, now: Temporal.Instant, zone: string): Window {
  if (relative === "this_month" || relative === "last_month") {
    const this_month = now.toZonedDateTimeISO(zone).with({ day: 1 }).toPlainDate();
    const first = relative === "this_month" ? this_month : this_month.subtract({ months: 1 });
    return { start_ms: midnight(first, zone), end_ms: midnight(first.add({ months: 1 }), zone) };
  }
  const now_ms = now.epochMilliseconds;
  return { start_ms: now_ms - HOURS_BACK[relative] * HOUR_MS, end_ms: now_ms + 1 };
}

function midnight(date: Temporal.PlainDate, zone: string): number {
  return date.toZonedDateTime(zone).epochMilliseconds;
}
