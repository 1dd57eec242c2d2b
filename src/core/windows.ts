import { periodContaining, periodStartingIn, type ZoneTimeline } from "./periods.ts";

/** Windows of time by name. `last_…h` and `…d` are counted back from now, all others are those of the calendar. */
export const RELATIVE_WINDOWS = [
  "last_1h",
  "last_24h",
  "last_7d",
  "last_30d",
  "last_90d",
  "today",
  "yesterday",
  "this_week",
  "last_week",
  "this_month",
  "last_month",
  "this_quarter",
  "last_quarter",
  "this_year",
  "last_year",
] as const;
export type RelativeWindow = (typeof RELATIVE_WINDOWS)[number];

/** A span of time in Unix ms: start inclusive, end exclusive; an absent bound is open. */
export interface Window {
  start_ms?: number | undefined;
  end_ms?: number | undefined;
}

/** A window with both of its bounds. */
export interface BoundedWindow extends Window {
  start_ms: number;
  end_ms: number;
}

const HOUR_MS = 3_600_000;

/** Of windows by the calendar: their unit, and how many units before the running one they are. */
const BY_CALENDAR: Partial<Record<RelativeWindow, [unit: Unit, back: number]>> = {
  today: ["day", 0],
  yesterday: ["day", 1],
  this_week: ["week", 0],
  last_week: ["week", 1],
  this_month: ["month", 0],
  last_month: ["month", 1],
  this_quarter: ["quarter", 0],
  last_quarter: ["quarter", 1],
  this_year: ["year", 0],
  last_year: ["year", 1],
};
type Unit = "day" | "week" | keyof typeof MONTHS;

const MONTHS = { month: 1, quarter: 3, year: 12 };

/**
 * The window that a word names. `last_…h` and `…d` include the current millisecond, so that an event just stored is
 * found. Months, quarters and years are cut as bills were: by the zone that was in force then. Weeks begin on Monday.
 * Decisions 0022, 0282.
 */
export function windowOf(word: RelativeWindow, now: Temporal.Instant, zones: ZoneTimeline): BoundedWindow {
  const [unit, back] = BY_CALENDAR[word] ?? [];
  if (unit === undefined || back === undefined) {
    const [, count = "0", letter] = /^last_(\d+)([hd])$/.exec(word) ?? [];
    const hours = Number(count) * (letter === "d" ? 24 : 1);
    return { start_ms: now.epochMilliseconds - hours * HOUR_MS, end_ms: now.epochMilliseconds + 1 };
  }
  if (unit === "day" || unit === "week") return daysOf(unit, back, now, zones);
  const { year, month } = periodContaining(now, 1, zones).start_date;
  const count = MONTHS[unit];
  const running = year * 12 + month - 1;
  return monthsOf(running - (running % count) - back * count, count, zones);
}

/** The window of a month, "2026-10", as bills of whole months were cut. */
export function windowOfMonth(year_month: string, zones: ZoneTimeline): BoundedWindow {
  const { year, month } = Temporal.PlainYearMonth.from(year_month);
  return monthsOf(year * 12 + month - 1, 1, zones);
}

function daysOf(unit: "day" | "week", back: number, now: Temporal.Instant, zones: ZoneTimeline) {
  const zone = currentZone(zones);
  const today = now.toZonedDateTimeISO(zone).toPlainDate();
  const days = unit === "day" ? 1 : 7;
  const first = unit === "day" ? today : today.subtract({ days: today.dayOfWeek - 1 });
  const start = first.subtract({ days: back * days });
  const at = (date: Temporal.PlainDate) => date.toZonedDateTime(zone).epochMilliseconds;
  return { start_ms: at(start), end_ms: at(start.add({ days })) };
}

function monthsOf(first: number, count: number, zones: ZoneTimeline): BoundedWindow {
  const start = periodStartingIn(monthText(first), 1, zones).from;
  return {
    start_ms: start.epochMilliseconds,
    end_ms: periodStartingIn(monthText(first + count - 1), 1, zones).to.epochMilliseconds,
  };
}

/** "2026-10", of months since year 0. */
function monthText(months: number): string {
  return Temporal.PlainYearMonth.from({ year: Math.floor(months / 12), month: (months % 12) + 1 }).toString();
}

/** The zone in which a company counts days now. */
export function currentZone(zones: ZoneTimeline): string {
  return zones.at(-1)?.timezone ?? "UTC";
}
