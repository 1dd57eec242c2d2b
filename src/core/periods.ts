import { earlier as earlierOf, iso, later as laterOf } from "./time.ts";

/** A time zone of a company, and since when it is set; null: from the beginning. */
export interface ZoneEntry {
  readonly timezone: string;
  readonly from: Temporal.Instant | null;
}

/** A company's time zones, ascending by `from`; only the first has none. */
export type ZoneTimeline = readonly ZoneEntry[];

/**
 * A billing month, `[from, to)`. Its days for proration are the local dates `[start_date, end_date)` as the
 * calendar names them, whatever their hours: a day that a clock change shortens is one day.
 */
export interface Period {
  readonly from: Temporal.Instant;
  readonly to: Temporal.Instant;
  readonly start_date: Temporal.PlainDate;
  readonly end_date: Temporal.PlainDate;
  readonly time_zone: string;
}

/** The bounds of a period as they stand on record, `[from, to)`, whatever the zone's rules say by now. */
export interface Bounds {
  readonly from: Temporal.Instant;
  readonly to: Temporal.Instant;
}

/** More periods than anyone bills at once: a hundred years of them. */
export const MAX_PERIODS = 1_200;

/** Months since year 0: a period is named by the month in which it starts. */
type Month = number;

/** The periods from `first_month` on are cut in this zone; `starts_at` is the first one's start. */
interface Era {
  readonly first_month: Month;
  readonly starts_at: Temporal.Instant | null;
  readonly timezone: string;
}

/** The anchor day in a month, or the month's last day where it is shorter: 31 → 28 February. */
function anchorDate(month: Month, anchor_day: number): Temporal.PlainDate {
  return Temporal.PlainDate.from(
    { year: Math.floor(month / 12), month: (month % 12) + 1, day: anchor_day },
    { overflow: "constrain" },
  );
}

/** Local midnight of the anchor day; the day's first instant where there is no midnight. */
function boundary(month: Month, anchor_day: number, timezone: string): Temporal.Instant {
  return anchorDate(month, anchor_day).toZonedDateTime(timezone).toInstant();
}

/** The last month whose boundary, by `boundaryOf`, is not after the instant. */
function lastMonth(instant: Temporal.Instant, boundaryOf: (month: Month) => Temporal.Instant): Month {
  const { year, month } = instant.toZonedDateTimeISO("UTC");
  // A zone may be a day ahead of UTC, so the search begins a month later. It ends within four steps.
  let found = year * 12 + month;
  while (Temporal.Instant.compare(boundaryOf(found), instant) > 0) found -= 1;
  return found;
}

/**
 * Which zone cuts which periods. A period that runs when a zone is set ends at midnight of the zone it began
 * in; the next one starts there, and ends at midnight of the zone in force at its start.
 */
function eras(anchor_day: number, zones: ZoneTimeline): [Era, ...Era[]] {
  const [first, ...later] = zones;
  if (!first) throw new RangeError("Cannot cut billing periods: no time zone is given");
  const earlier: Era[] = [];
  let last: Era = { first_month: Number.NEGATIVE_INFINITY, starts_at: null, timezone: first.timezone };
  for (const { timezone, from } of later) {
    if (!from) throw new RangeError(`Cannot cut billing periods: time zone ${timezone} has no beginning`);
    if (last.starts_at && Temporal.Instant.compare(from, last.starts_at) <= 0) {
      last = { ...last, timezone }; // set again before the era before it had begun
      continue;
    }
    const boundaryOf = (month: Month) => boundary(month, anchor_day, last.timezone);
    const running = Math.max(lastMonth(from, boundaryOf), last.first_month);
    const first_month = boundaryOf(running).equals(from) ? running : running + 1;
    earlier.push(last);
    last = { first_month, starts_at: boundaryOf(first_month), timezone };
  }
  return [last, ...earlier.toReversed()];
}

/** A stretch of time whose calendar months are cut in one zone. */
export interface ZoneEra {
  readonly timezone: string;
  /** Null: from the beginning. */
  readonly starts_at: Temporal.Instant | null;
  /** The month that begins then, "2026-10". */
  readonly first_month: string | null;
}

/** The stretches of time whose calendar months are cut in one zone each, as the periods of anchor day 1 are, oldest first. */
export function zoneEras(zones: ZoneTimeline): ZoneEra[] {
  return eras(1, zones)
    .toReversed()
    .map(({ timezone, starts_at, first_month }) => ({
      timezone,
      starts_at,
      first_month: starts_at && anchorDate(first_month, 1).toPlainYearMonth().toString(),
    }));
}

/** So long after its start a period runs, however a zone's rules have moved its bounds: none has fewer than 28 days. */
const WELL_INSIDE = { hours: 14 * 24 };

/**
 * Cuts one subscription's time: `period(month)` is computed from the anchor and the month alone, but for bounds
 * that are on record, which stand: the period before ends where one begins, and the next begins where one ends.
 */
function calendar(anchor_day: number, zones: ZoneTimeline, recorded: readonly Bounds[]) {
  if (!Number.isInteger(anchor_day) || anchor_day < 1 || anchor_day > 31) {
    throw new RangeError(`Cannot cut billing periods: anchor day ${anchor_day} is not from 1 to 31`);
  }
  const newest_first = eras(anchor_day, zones);
  const zoneOf = (month: Month) =>
    (newest_first.find(({ first_month }) => first_month <= month) ?? newest_first[0]).timezone;
  // A boundary belongs to the period that ends there.
  const computed = (month: Month) => boundary(month, anchor_day, zoneOf(month - 1));
  const of_month = new Map(
    recorded.map((bounds) => [lastMonth(bounds.from.add(WELL_INSIDE), computed), bounds]),
  );
  const start = (month: Month) => of_month.get(month)?.from ?? of_month.get(month - 1)?.to ?? computed(month);
  const end = (month: Month) =>
    of_month.get(month)?.to ?? of_month.get(month + 1)?.from ?? computed(month + 1);
  return {
    monthOf: (instant: Temporal.Instant) => lastMonth(instant, start),
    period: (month: Month): Period => ({
      from: start(month),
      to: end(month),
      start_date: anchorDate(month, anchor_day),
      end_date: anchorDate(month + 1, anchor_day),
      time_zone: zoneOf(month),
    }),
  };
}

/**
 * The billing period in which an instant falls. `anchor_day`: 1–31, the day of the month on which periods
 * start. `recorded`: bounds on record of periods around it. See docs/billing.md#rounding-and-time.
 */
export function periodContaining(
  instant: Temporal.Instant,
  anchor_day: number,
  zones: ZoneTimeline,
  recorded: readonly Bounds[] = [],
): Period {
  const { monthOf, period } = calendar(anchor_day, zones, recorded);
  return period(monthOf(instant));
}

/** The period with these bounds on record, and the days that it has by the calendar. */
export function recordedPeriod(bounds: Bounds, anchor_day: number, zones: ZoneTimeline): Period {
  return periodContaining(bounds.from, anchor_day, zones, [bounds]);
}

/**
 * The billing period that starts in a month, "2026-11". Callers check the text first.
 * Errors: throws on another text.
 */
export function periodStartingIn(
  year_month: string,
  anchor_day: number,
  zones: ZoneTimeline,
  recorded: readonly Bounds[] = [],
): Period {
  if (!/^\d{4}-\d\d$/.test(year_month)) {
    throw new RangeError(`Cannot name a billing period ${year_month}: a month is YYYY-MM`);
  }
  const { year, month } = Temporal.PlainYearMonth.from(year_month);
  return calendar(anchor_day, zones, recorded).period(year * 12 + month - 1);
}

/** Instants that every store can hold: those of the years 1 to 9999. */
const EARLIEST = "0001-01-01T00:00:00Z";
const LATEST = "9999-12-31T23:59:59.999Z";

/** A span that holds all of the period that starts in a month, "2026-11", and a part of those around it. */
export function aroundMonth(year_month: string): Bounds {
  const { year, month } = Temporal.PlainYearMonth.from(year_month);
  const first = Temporal.PlainDate.from({ year, month, day: 1 }).toZonedDateTime("UTC");
  return {
    from: storable(first.subtract({ days: 3 }).toInstant()),
    to: storable(first.add({ months: 2, days: 3 }).toInstant()),
  };
}

function storable(at: Temporal.Instant): Temporal.Instant {
  return earlierOf(laterOf(at, Temporal.Instant.from(EARLIEST)), Temporal.Instant.from(LATEST));
}

/**
 * The billing periods that touch `[from, until)`, oldest first: the first contains `from`, the last begins
 * before `until`. Errors: throws after `MAX_PERIODS`.
 */
export function* periodsBetween(
  from: Temporal.Instant,
  until: Temporal.Instant,
  anchor_day: number,
  zones: ZoneTimeline,
  recorded: readonly Bounds[] = [],
): Generator<Period, void, undefined> {
  const { monthOf, period } = calendar(anchor_day, zones, recorded);
  const first = monthOf(from);
  for (let month = first; month < first + MAX_PERIODS; month += 1) {
    const next = period(month);
    if (Temporal.Instant.compare(next.from, until) >= 0) return;
    yield next;
  }
  throw new RangeError(`Cannot list the billing periods since ${iso(from)}: more than ${MAX_PERIODS}`);
}

/** So many periods in a row, the first of them given. */
export function periodsFrom(first: Period, count: number, anchor_day: number, zones: ZoneTimeline): Period[] {
  const { period } = calendar(anchor_day, zones, [first]);
  const { year, month } = first.start_date;
  const later = Array.from({ length: count - 1 }, (_, i) => period(year * 12 + month + i));
  return [first, ...later];
}

/** A span in which all starts of periods are, by whatever rules of their zone. */
export function aroundStarts(periods: readonly Period[]): Bounds {
  const [first, ...later] = periods.map(({ from }) => from);
  if (!first) throw new RangeError("Cannot span periods: there are none");
  const span = { from: later.reduce(earlierOf, first), to: later.reduce(laterOf, first) };
  return { from: span.from.subtract(WELL_INSIDE), to: span.to.add(WELL_INSIDE) };
}

/** Whether two starts are those of one period of a subscription, by other rules of its zone. */
export function isSameStart(a: Temporal.Instant, b: Temporal.Instant): boolean {
  return Temporal.Duration.compare(a.since(b).abs(), WELL_INSIDE) < 0;
}

/** How many months later one period starts than another. */
export function monthsBetween(first: Period, last: Period): number {
  return (last.start_date.year - first.start_date.year) * 12 + last.start_date.month - first.start_date.month;
}

/** How many days a period has: the denominator of every proration in it. */
export function daysOf(period: Period): number {
  return period.start_date.until(period.end_date).days;
}

/**
 * The day of the period on which an instant of it falls. A period that follows a change of zone begins at the
 * old zone's midnight: its first and last day reach as far as its bounds. So does a first day that the zone
 * skipped: what lives from the period's first instant on has all of its days.
 */
export function dayOf(instant: Temporal.Instant, period: Period): Temporal.PlainDate {
  if (instant.equals(period.from)) return period.start_date;
  const day = instant.toZonedDateTimeISO(period.time_zone).toPlainDate();
  const last_day = period.end_date.subtract({ days: 1 });
  if (Temporal.PlainDate.compare(day, period.start_date) < 0) return period.start_date;
  return Temporal.PlainDate.compare(day, last_day) > 0 ? last_day : day;
}
