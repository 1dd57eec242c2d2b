import { company } from "../app/session.ts";

// Times are shown in the company's zone, whatever the browser's is. Calendars are the service's: nothing is computed here.

const formats = new Map<string, Intl.DateTimeFormat>();

function format(options: Intl.DateTimeFormatOptions, timeZone = company.value.timezone): Intl.DateTimeFormat {
  const key = JSON.stringify([options, timeZone]);
  const known = formats.get(key) ?? new Intl.DateTimeFormat(undefined, { timeZone, ...options });
  formats.set(key, known);
  return known;
}

type Moment = string | number;
const at = (moment: Moment) => (typeof moment === "number" ? moment : instantMs(moment));

/** Unix ms of an ISO time. */
export function instantMs(iso: string): number {
  // Browsers without Temporal remain: Date is what reads ISO times everywhere.
  // oxlint-disable-next-line no-restricted-globals
  return Date.parse(iso);
}

/** "27 Nov 2026, 14:05". */
export const dateTime = (moment: Moment): string =>
  format({ dateStyle: "medium", timeStyle: "short" }).format(at(moment));
/** "27 Nov 2026, 14:05:09.120": of events, which may be milliseconds apart. */
export const preciseTime = (moment: Moment): string =>
  format({
    day: "numeric",
    month: "short",
    year: "numeric",
    hour: "2-digit",
    minute: "2-digit",
    second: "2-digit",
    fractionalSecondDigits: 3,
  }).format(at(moment));
/** "27 Nov 2026, 14:05:09", in UTC: for titles. */
export const utc = (moment: Moment): string =>
  `${format({ dateStyle: "medium", timeStyle: "medium" }, "UTC").format(at(moment))} UTC`;
/** "27 Nov 2026". */
export const date = (moment: Moment): string => format({ dateStyle: "medium" }).format(at(moment));
/** "Nov 2026". */
export const month = (moment: Moment): string =>
  format({ month: "short", year: "numeric" }).format(at(moment));
/** A day of the calendar, which no zone has a say in: "27 Nov 2026" of "2026-11-27". */
export const calendarDay = (iso: string): string =>
  format({ dateStyle: "medium" }, "UTC").format(at(`${iso}T00:00Z`));
/** A month of the calendar: "Nov 2026" of "2026-11". */
export const calendarMonth = (iso: string): string =>
  format({ month: "short", year: "numeric" }, "UTC").format(at(`${iso}-01T00:00Z`));
/** "Sep 2026 to Nov 2026", of the first and the last. */
export const monthsOf = ({ from, to }: { from: string; to: string }): string =>
  from === to ? calendarMonth(from) : `${calendarMonth(from)} to ${calendarMonth(to)}`;
/** "14:05:09". */
export const clock = (moment: Moment): string => format({ timeStyle: "medium" }).format(at(moment));

/** A period as inclusive days: "1 Nov – 30 Nov 2026", from a half-open one. */
export function period(start: Moment, end: Moment): string {
  return format({ dateStyle: "medium" }).formatRange(at(start), Math.max(at(start), at(end) - 1));
}

/** The lengths of buckets, as the service names them. */
type Interval = "minute" | "five_minutes" | "fifteen_minutes" | "hour" | "day" | "week" | "month";

/** A bucket by its name: "Mon, 2 Mar 2026, 14:00", "2 – 8 Mar 2026", "Mar 2026". */
export function bucketName(interval: Interval, start: Moment, end: Moment): string {
  if (interval === "month") return month(start);
  if (interval === "week") return period(start, end);
  const day = { weekday: "short", day: "numeric", month: "short", year: "numeric" } as const;
  return format(interval === "day" ? day : { ...day, hour: "2-digit", minute: "2-digit" }).format(at(start));
}

/** The start of a bucket as an axis has it: "14:00", "2 Mar", "Mar 2026". The first hour of a day is the day. */
export function tickName(interval: Interval, start: Moment): string {
  if (interval === "month") return month(start);
  const is_date = interval === "day" || interval === "week" || isMidnight(start);
  return format(is_date ? { day: "numeric", month: "short" } : { hour: "2-digit", minute: "2-digit" }).format(
    at(start),
  );
}

/** Whether the company's clock shows the beginning of a day. */
export function isMidnight(moment: Moment): boolean {
  const parts = format({ hour: "2-digit", minute: "2-digit", second: "2-digit", hourCycle: "h23" });
  return parts.formatToParts(at(moment)).every(({ type, value }) => type === "literal" || value === "00");
}

/** A half-open span: inclusive days where it is of whole ones, else with its times. */
export function span(start: Moment, end: Moment): string {
  if (isMidnight(start) && isMidnight(end)) return period(start, end);
  return format({ dateStyle: "medium", timeStyle: "short" }).formatRange(at(start), at(end));
}

/** A time by the company's clock, as fields of forms have it: "2026-03-02T14:00". */
export function fieldTime(moment: Moment): string {
  const parts = format({
    year: "numeric",
    month: "2-digit",
    day: "2-digit",
    hour: "2-digit",
    minute: "2-digit",
    hourCycle: "h23",
    calendar: "iso8601",
    numberingSystem: "latn",
  }).formatToParts(at(moment));
  const part = (wanted: string) => parts.find(({ type }) => type === wanted)?.value ?? "";
  return `${part("year")}-${part("month")}-${part("day")}T${part("hour")}:${part("minute")}`;
}

/** An instant in ISO 8601, of Unix ms. */
export function isoTime(ms: number): string {
  // oxlint-disable-next-line no-restricted-globals
  return new Date(ms).toISOString();
}

/** The day after a day, "2026-03-31": no zone has a say in that. */
export function nextDay(day: string): string {
  const ms = instantMs(`${day}T00:00:00Z`);
  return Number.isNaN(ms) ? day : isoTime(ms + 86_400_000).slice(0, 10);
}

const relative = new Intl.RelativeTimeFormat(undefined, { numeric: "auto" });
const UNITS = [
  ["day", 86_400_000],
  ["hour", 3_600_000],
  ["minute", 60_000],
  ["second", 1_000],
] as const;

/** "2 hours ago". */
export function ago(moment: Moment, now = performance.timeOrigin + performance.now()): string {
  const by = at(moment) - now;
  const [unit, ms] = UNITS.find(([, length]) => Math.abs(by) >= length) ?? (["second", 1_000] as const);
  return relative.format(Math.trunc(by / ms), unit);
}
