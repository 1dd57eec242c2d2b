import { DAY_MS, HOUR_MS, offsetSegments } from "../../usage_store/time_buckets.ts";
import { LIMITS } from "../limits.ts";
import { type Bucket, INTERVALS, type Interval } from "./model.ts";
import type { Range } from "./range.ts";
import { invalid } from "../../core/errors.ts";
import type { ZoneTimeline } from "../../core/periods.ts";
import { iso } from "../../core/time.ts";
import { currentZone, windowOfMonth } from "../../core/windows.ts";

const MINUTE_MS = 60_000;

/** The shortest that a bucket may be, but for those that a change of the clock cuts. */
const SHORTEST_MS: Record<Interval, number> = {
  minute: MINUTE_MS,
  five_minutes: 5 * MINUTE_MS,
  fifteen_minutes: 15 * MINUTE_MS,
  hour: HOUR_MS,
  day: DAY_MS - 2 * HOUR_MS,
  week: 6 * DAY_MS,
  month: 27 * DAY_MS,
};

/** A range cut into buckets. */
export interface Buckets {
  interval: Interval;
  /** Unix ms, ascending; the first and last are the range's. */
  edges: number[];
  /** Whether the range begins, and ends, within a bucket. */
  cuts_first: boolean;
  cuts_last: boolean;
}

/**
 * Cuts a range into buckets of local time, the shortest ones that are few for `auto`.
 * Errors: invalid when there are too many.
 */
export function bucketsOf(range: Range, asked: Interval | "auto", zones: ZoneTimeline): Buckets {
  const { usage_series_buckets: max, usage_series_buckets_auto: max_auto } = LIMITS;
  const wanted = asked === "auto" ? INTERVALS : [asked];
  for (const interval of wanted) {
    const buckets = cut(range, interval, zones, asked === "auto" && interval !== "month" ? max_auto : max);
    if (buckets !== undefined) return buckets;
  }
  if (asked === "auto") throw invalid("/range", `must be at most ${max} months long`);
  throw invalid("/interval", `must be longer for this range: it would make over ${max} buckets`);
}

/** Undefined when there would be over `max` buckets. */
function cut(range: Range, interval: Interval, zones: ZoneTimeline, max: number): Buckets | undefined {
  const { start_ms, end_ms } = range;
  // Clock changes cut a few.
  if ((end_ms - start_ms) / SHORTEST_MS[interval] > max + 1) return undefined;
  const starts = interval === "day" || interval === "week" || interval === "month" ? dateStarts : clockStarts;
  // From the start of the bucket that the range begins in to the end of the one that it ends in.
  const bounds = starts(range, interval, zones);
  const inner = bounds.filter((at) => at > start_ms && at < end_ms);
  if (inner.length + 1 > max) return undefined;
  return {
    interval,
    edges: [start_ms, ...inner, end_ms],
    cuts_first: !bounds.includes(start_ms),
    cuts_last: !bounds.includes(end_ms),
  };
}

/** The starts of local days and weeks, or of months as bills are cut, around a range. */
function dateStarts({ start_ms, end_ms }: Range, interval: Interval, zones: ZoneTimeline): number[] {
  const time_zone = currentZone(zones);
  const date = Temporal.Instant.fromEpochMilliseconds(start_ms).toZonedDateTimeISO(time_zone).toPlainDate();
  const monday = date.subtract({ days: date.dayOfWeek - 1 });
  const month = date.toPlainYearMonth();
  const startOf = (i: number): number => {
    // One month earlier: another zone may have cut it.
    if (interval === "month") return windowOfMonth(month.add({ months: i - 1 }).toString(), zones).start_ms;
    const first = interval === "week" ? monday.add({ weeks: i }) : date.add({ days: i });
    return first.toZonedDateTime(time_zone).epochMilliseconds;
  };
  const starts: number[] = [];
  for (let i = 0; ; i++) {
    const at = startOf(i);
    // A day that a zone skipped begins where the next one does.
    if (at !== starts.at(-1)) starts.push(at);
    if (at >= end_ms) return starts;
  }
}

/** The starts of local hours, or parts of one, in a range: an hour that the clock repeats is two. */
function clockStarts({ start_ms, end_ms }: Range, interval: Interval, zones: ZoneTimeline): number[] {
  const unit_ms = SHORTEST_MS[interval];
  const segments = offsetSegments(currentZone(zones), start_ms, end_ms + 1);
  return segments.flatMap((segment, i) => {
    const until_ms = Math.min(segments[i + 1]?.start_ms ?? Number.POSITIVE_INFINITY, end_ms + 1);
    // The first segment begins where the range does; the others at a change of the clock.
    const starts = i === 0 ? [] : [segment.start_ms];
    const local_ms = Math.ceil((segment.start_ms + segment.offset_ms) / unit_ms) * unit_ms;
    for (let at = local_ms - segment.offset_ms; at < until_ms; at += unit_ms)
      if (at !== starts[0]) starts.push(at);
    return starts;
  });
}

/** An instant on the wire; that of a bucket that is not there is 1970. */
export function isoMs(ms = 0): string {
  return iso(Temporal.Instant.fromEpochMilliseconds(ms));
}

/** The buckets on the wire, as of now. */
export function shownBuckets(
  edges: readonly number[],
  { cuts_first, cuts_last }: Pick<Buckets, "cuts_first" | "cuts_last">,
  now: Temporal.Instant,
): Bucket[] {
  const count = edges.length - 1;
  return edges.slice(0, count).map((start, i) => {
    const end = edges[i + 1] ?? start;
    const is_cut = (i === 0 && cuts_first) || (i === count - 1 && cuts_last);
    return { start: isoMs(start), end: isoMs(end), partial: is_cut || end > now.epochMilliseconds };
  });
}
