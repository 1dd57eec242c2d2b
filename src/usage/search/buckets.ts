import type { ZoneTimeline } from "../../core/periods.ts";
import { currentZone, type Window } from "../../core/windows.ts";
import type { Grouping } from "./model.ts";

/** Steps of a grouping by time, and how its keys are written. */
const STEPS = {
  hour: { unit: "hour", length: { hours: 1 } },
  day: { unit: "day", length: { days: 1 } },
  month: { unit: "day", length: { months: 1 } },
} as const;

/**
 * The keys of every hour, day or month of a window that has begun; without bounds, from the first key to the last.
 * Null for more than `max`.
 */
export function bucketsOf(
  kind: keyof typeof STEPS & Grouping,
  keys: readonly string[],
  { start_ms, end_ms }: Window,
  { now, zones, max }: { now: Temporal.Instant; zones: ZoneTimeline; max: number },
): string[] | null {
  const sorted = keys.toSorted((a, b) => (startOf(kind, a, zones) < startOf(kind, b, zones) ? -1 : 1));
  const first = start_ms ?? msOf(kind, sorted[0], zones);
  const last = Math.min((end_ms ?? Number.MAX_SAFE_INTEGER) - 1, now.epochMilliseconds);
  const until = end_ms === undefined ? (msOf(kind, sorted.at(-1), zones) ?? last) : last;
  if (first === undefined) return [];
  const { unit, length } = STEPS[kind];
  const zone = currentZone(zones);
  let at = Temporal.Instant.fromEpochMilliseconds(first)
    .toZonedDateTimeISO(zone)
    .round({ smallestUnit: unit, roundingMode: "floor" });
  if (kind === "month") at = at.with({ day: 1 });
  const buckets: string[] = [];
  for (; at.epochMilliseconds <= until; at = at.add(length)) {
    if (buckets.length >= max) return null;
    buckets.push(keyOf(kind, at));
  }
  return buckets;
}

function keyOf(kind: keyof typeof STEPS, at: Temporal.ZonedDateTime): string {
  if (kind === "hour") return at.toString({ smallestUnit: "minute", timeZoneName: "never" });
  const date = at.toPlainDate();
  return kind === "day" ? date.toString() : date.toPlainYearMonth().toString();
}

function msOf(kind: keyof typeof STEPS, key: string | undefined, zones: ZoneTimeline): number | undefined {
  return key === undefined ? undefined : startOf(kind, key, zones);
}

/** When the bucket of a key begins. */
function startOf(kind: keyof typeof STEPS, key: string, zones: ZoneTimeline): number {
  if (kind === "hour") return Temporal.Instant.from(key).epochMilliseconds;
  const date = Temporal.PlainDate.from(kind === "day" ? key : `${key}-01`);
  return date.toZonedDateTime(currentZone(zones)).epochMilliseconds;
}
