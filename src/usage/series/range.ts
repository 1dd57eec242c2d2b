import { invalid } from "../../core/errors.ts";
import type { ZoneTimeline } from "../../core/periods.ts";
import { type BoundedWindow, currentZone, windowOf, windowOfMonth } from "../../core/windows.ts";
import type { Compare, RangeInput } from "./model.ts";

export type Range = BoundedWindow;

/** What a range is read from: one of its forms, or none. Errors: invalid for several, or a part of one. */
export function assertOneForm({ from, to, relative, month, period_of, on }: RangeInput): void {
  const forms = [from ?? to, relative, month, period_of].filter((form) => form !== undefined);
  if (forms.length > 1)
    throw invalid("/range", "must have only one of from and to, relative, month, and period_of");
  if (to !== undefined && from === undefined) throw invalid("/range/from", "is required beside to");
  if (on !== undefined && period_of === undefined) throw invalid("/range/period_of", "is required beside on");
}

/** A range by its instants. Errors: invalid unless it ends after it begins. */
export function between(from: Temporal.Instant, to: Temporal.Instant): Range {
  const range = { start_ms: from.epochMilliseconds, end_ms: to.epochMilliseconds };
  if (range.start_ms < range.end_ms) return range;
  throw invalid("/range/to", "must be after from");
}

/** The twelve months up to the running one. */
export function lastYear(now: Temporal.Instant, zones: ZoneTimeline): Range {
  const { end_ms } = windowOf("this_month", now, zones);
  const running = zoned(end_ms - 1, currentZone(zones))
    .toPlainDate()
    .toPlainYearMonth();
  return { start_ms: windowOfMonth(running.subtract({ months: 11 }).toString(), zones).start_ms, end_ms };
}

const DAYS_OF_A_YEAR_OF_WEEKS = 364;

/**
 * Moves edges to the range that theirs is compared with, bucket by bucket, by local time. Whole months come before as
 * many months, whole days before as many days, and anything else before as much time. What the calendar lacks there, such
 * as a 31st, is a bucket without time: the edges still ascend.
 */
export function moveEdges(edges: readonly number[], compare: Compare, time_zone: string): number[] {
  const [start = 0, end = 0] = [edges[0], edges.at(-1)];
  const by = distance({ start_ms: start, end_ms: end }, compare, time_zone);
  const moved = edges.map((edge) =>
    typeof by === "number" ? edge - by : zoned(edge, time_zone).subtract(by).epochMilliseconds,
  );
  // An hour that is skipped there ends when it begins.
  for (let i = moved.length - 2; i >= 0; i--) moved[i] = Math.min(moved[i] ?? 0, moved[i + 1] ?? 0);
  return moved;
}

/** The ranges of the same length, by local time, before and after one: whole months beside whole months. */
export function neighbours(range: Range, time_zone: string): { before: Range; after: Range } {
  const by = distance(range, { to: "before" }, time_zone);
  const moved = (ms: number, sign: 1 | -1) =>
    typeof by === "number"
      ? ms + sign * by
      : zoned(ms, time_zone)[sign === 1 ? "add" : "subtract"](by).epochMilliseconds;
  const { start_ms, end_ms } = range;
  return {
    before: { start_ms: moved(start_ms, -1), end_ms: start_ms },
    after: { start_ms: end_ms, end_ms: moved(end_ms, 1) },
  };
}

function distance(
  { start_ms, end_ms }: Range,
  { to, align_weekdays = false }: Compare,
  time_zone: string,
): Temporal.DurationLike | number {
  if (to === "last_year") return align_weekdays ? { days: DAYS_OF_A_YEAR_OF_WEEKS } : { years: 1 };
  const [first, last] = [zoned(start_ms, time_zone), zoned(end_ms, time_zone)];
  if (align_weekdays) return { weeks: weeksOf(first, last) };
  const are_days = [first, last].every((at) => at.equals(at.startOfDay()));
  if (!are_days) return end_ms - start_ms;
  const dates = [first.toPlainDate(), last.toPlainDate()] as const;
  if (dates.every(({ day }) => day === 1))
    return { months: dates[0].until(dates[1], { largestUnit: "month" }).months };
  return { days: dates[0].until(dates[1]).days };
}

/** How many weeks cover a range by the local clock: one at least, also where it was set back past a midnight. */
function weeksOf(first: Temporal.ZonedDateTime, last: Temporal.ZonedDateTime): number {
  const { days } = first.toPlainDate().until(last.toPlainDate());
  const begun = Temporal.PlainTime.compare(last.toPlainTime(), first.toPlainTime()) > 0 ? 1 : 0;
  return Math.max(1, Math.ceil((days + begun) / 7));
}

function zoned(ms: number, time_zone: string): Temporal.ZonedDateTime {
  return Temporal.Instant.fromEpochMilliseconds(ms).toZonedDateTimeISO(time_zone);
}
