/**
 * Local hours, days and months of instants, for engines that group by integers: zone offsets are computed here, once a
 * query, so that the result does not depend on an engine's own zone data.
 */

export const HOUR_MS = 3_600_000;
export const DAY_MS = 86_400_000;

/** A span of time with one offset from UTC. */
export interface OffsetSegment {
  start_ms: number;
  offset_ms: number;
}

/** The offsets that `time_zone` has from `from_ms` (inclusive) to `until_ms` (exclusive), at least one. */
export function offsetSegments(time_zone: string, from_ms: number, until_ms: number): OffsetSegment[] {
  const segments: OffsetSegment[] = [];
  let start: Temporal.ZonedDateTime | null =
    Temporal.Instant.fromEpochMilliseconds(from_ms).toZonedDateTimeISO(time_zone);
  while (start !== null && (segments.length === 0 || start.epochMilliseconds < until_ms)) {
    segments.push({ start_ms: start.epochMilliseconds, offset_ms: start.offsetNanoseconds / 1_000_000 });
    start = start.getTimeZoneTransition("next");
  }
  return segments;
}

/**
 * The instants in these segments, before `until_ms`, at which another local day begins, ascending: mostly midnights.
 * Undefined where they are over `limit`.
 */
export function midnightsOf(
  segments: readonly OffsetSegment[],
  until_ms: number,
  limit: number,
): number[] | undefined {
  const midnights: number[] = [];
  for (const [i, { start_ms, offset_ms }] of segments.entries()) {
    const end_ms = Math.min(segments[i + 1]?.start_ms ?? until_ms, until_ms);
    const before = segments[i - 1];
    let at_ms = Math.ceil((start_ms + offset_ms) / DAY_MS) * DAY_MS - offset_ms;
    // The clock may skip the midnight.
    const day_before = before && Math.floor((start_ms - 1 + before.offset_ms) / DAY_MS);
    if (
      day_before !== undefined &&
      day_before !== Math.floor((start_ms + offset_ms) / DAY_MS) &&
      at_ms > start_ms
    )
      midnights.push(start_ms);
    for (; at_ms < end_ms; at_ms += DAY_MS) {
      if (midnights.length === limit) return undefined;
      midnights.push(at_ms);
    }
  }
  return midnights;
}

/**
 * The widest slices of time that lie each in one segment and in one local unit: slice number k starts at
 * `k * width_ms - shift_ms`. Where a zone keeps one offset a slice is the unit itself; otherwise it is
 * mostly an hour. Grouping by slice needs one division an event, and only slices meet the zone's rules.
 */
export interface Slices {
  width_ms: number;
  /** Such that no `timestamp + shift_ms` is negative. */
  shift_ms: number;
}

/** The slices for `unit_ms` (HOUR_MS, or DAY_MS for days and months) over segments of `offsetSegments`. */
export function slicesOf(segments: readonly OffsetSegment[], unit_ms: number): Slices {
  const base_ms = segments[0]?.offset_ms ?? 0;
  let width_ms = unit_ms;
  for (const { start_ms, offset_ms } of segments.slice(1)) {
    width_ms = gcd(gcd(width_ms, Math.abs(offset_ms - base_ms)), Math.abs(start_ms + base_ms));
  }
  return { width_ms, shift_ms: base_ms < 0 ? base_ms + DAY_MS : base_ms };
}

/** `2026-11-21`, of a count of days since 1970-01-01. */
export function dayText(day: number): string {
  return utc(day * DAY_MS).slice(0, 10);
}

/** `2026-11`, of a count of months since 1970-01. */
export function monthText(month: number): string {
  const year = 1970 + Math.floor(month / 12);
  return `${year}-${String((((month % 12) + 12) % 12) + 1).padStart(2, "0")}`;
}

/** `2026-11-21T13:00+08:00`, of a count of local hours since 1970-01-01T00:00 and the offset they had. */
export function hourText(hour: number, offset_ms: number): string {
  return `${utc(hour * HOUR_MS).slice(0, 16)}${offsetText(offset_ms)}`;
}

/** `+08:00`; with seconds only where a zone once had them, such as `-00:44:30`. */
function offsetText(offset_ms: number): string {
  const time = utc(Math.abs(offset_ms)).slice(11, 19);
  return `${offset_ms < 0 ? "-" : "+"}${time.endsWith(":00") ? time.slice(0, 5) : time}`;
}

function utc(ms: number): string {
  return Temporal.Instant.fromEpochMilliseconds(ms).toString({ smallestUnit: "second" });
}

/** The greatest common divisor; of 0 and another number, that number. */
function gcd(a: number, b: number): number {
  return b === 0 ? a : gcd(b, a % b);
}
