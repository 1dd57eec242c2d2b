import { addWorkingDays } from "./working_days.ts";
import type { Frequency } from "./products/model.ts";

// On which days mandates are collected: in each calendar period on the day that the first collection sets.

const UNITS = { Daily: "days", Weekly: "weeks", Monthly: "months", Yearly: "years" } as const;

/**
 * The days of collection from `from` on, each computed from the first one, `anchor`: 31 January, 28 February,
 * 31 March. Ends with the year 9999.
 */
export function* collectionDays(
  frequency: Frequency,
  anchor: Temporal.PlainDate,
  from: Temporal.PlainDate,
): Generator<Temporal.PlainDate, undefined, undefined> {
  const unit = UNITS[frequency];
  const passed = anchor.until(from, { largestUnit: unit })[unit];
  for (let n = Math.max(0, passed); ; n++) {
    const day = anchor.add({ [unit]: n });
    if (day.year > 9_999) return undefined;
    if (Temporal.PlainDate.compare(day, from) >= 0) yield day;
  }
}

/** The first day of collection that is not before `from`, or null where the calendar ends. */
export function collectionDayFrom(
  frequency: Frequency,
  anchor: Temporal.PlainDate,
  from: Temporal.PlainDate,
): Temporal.PlainDate | null {
  return collectionDays(frequency, anchor, from).next().value ?? null;
}

/** Whether a mandate's last day, which is one of its own, has passed. */
export function hasExpired(expiry_date: string | null, today: Temporal.PlainDate): boolean {
  return expiry_date !== null && expiry_date < today.toString();
}

/** The days `[from, to)` of a calendar period. */
export interface DebitPeriod {
  /** "2026-11-21", "2026-W47", "2026-11" or "2026": the same for all days of the period, and for no other's. */
  readonly key: string;
  readonly from: Temporal.PlainDate;
  readonly to: Temporal.PlainDate;
}

const PERIODS: Record<Frequency, (day: Temporal.PlainDate) => DebitPeriod> = {
  Daily: (day) => ({ key: day.toString(), from: day, to: day.add({ days: 1 }) }),
  Weekly(day) {
    const from = day.subtract({ days: day.dayOfWeek - 1 });
    const week = String(day.weekOfYear).padStart(2, "0");
    return { key: `${day.yearOfWeek}-W${week}`, from, to: from.add({ weeks: 1 }) };
  },
  Monthly(day) {
    const from = day.with({ day: 1 });
    return { key: day.toPlainYearMonth().toString(), from, to: from.add({ months: 1 }) };
  },
  Yearly(day) {
    const from = day.with({ month: 1, day: 1 });
    return { key: String(day.year), from, to: from.add({ years: 1 }) };
  },
};

/**
 * The calendar period of a frequency in which a day falls: the day, the week from Monday on (ISO 8601), the month,
 * the year. max_no_debit counts the debits in it.
 */
export function debitPeriod(frequency: Frequency, day: Temporal.PlainDate): DebitPeriod {
  return PERIODS[frequency](day);
}

/** A mandate as far as collecting it goes. */
export interface CollectedMandate {
  readonly frequency: Frequency;
  /** YYYY-MM-DD; the day of the first collection, null before that is known. */
  readonly anchor_date: string | null;
  /** The day of the next collection. */
  readonly next_day: Temporal.PlainDate;
  readonly expiry_date: string | null;
}

/** What is due of a mandate. */
export interface CollectionPlan {
  /** The day for which it is collected now; null where only older ones were missed. */
  readonly due: Temporal.PlainDate | null;
  /** The days of older periods that were missed. */
  readonly missed: readonly Temporal.PlainDate[];
  /** The next collection after these; null where the mandate ends before it. */
  readonly next: Temporal.PlainDate | null;
}

/**
 * What of a mandate is due by the end of the day `until`, as things stand `today`: the running calendar period once,
 * older ones are missed. After so many periods as `most` the rest is left for the next call: `next` is due then too.
 * See docs/emandate.md#collection.
 */
export function planCollection(
  { frequency, anchor_date, next_day, expiry_date }: CollectedMandate,
  { until, today }: { until: Temporal.PlainDate; today: Temporal.PlainDate },
  most: number,
): CollectionPlan {
  const anchor = anchor_date === null ? next_day : Temporal.PlainDate.from(anchor_date);
  const running = debitPeriod(frequency, today).key;
  const missed: Temporal.PlainDate[] = [];
  let due: Temporal.PlainDate | null = null;
  let periods = 0;
  for (const day of collectionDays(frequency, anchor, next_day)) {
    if (hasExpired(expiry_date, day)) break;
    if (Temporal.PlainDate.compare(day, until) > 0 || periods === most) return { due, missed, next: day };
    if (debitPeriod(frequency, day).key === running) due = day;
    else missed.push(day);
    periods += 1;
  }
  return { due, missed, next: null };
}

/**
 * When a mandate that became active `today` is collected first: so many working days later, or on its first day
 * where that is later; null where it ends before. See docs/emandate.md#collection.
 */
export function firstCollection(
  mandate: { effective_date: string | null; expiry_date: string | null },
  today: Temporal.PlainDate,
  {
    first_collection_lead_days,
    holidays,
  }: { first_collection_lead_days: number; holidays: readonly string[] },
): Temporal.PlainDate | null {
  const earliest = addWorkingDays(today, first_collection_lead_days, new Set(holidays));
  const { effective_date, expiry_date } = mandate;
  const starts = effective_date === null ? earliest : Temporal.PlainDate.from(effective_date);
  const first = Temporal.PlainDate.compare(starts, earliest) > 0 ? starts : earliest;
  return hasExpired(expiry_date, first) ? null : first;
}

/** When a mandate is collected next that waited until `today`, resumed say: not before, on a day of its own. */
export function nextCollection(
  { frequency, anchor_date, expiry_date }: Omit<CollectedMandate, "next_day">,
  today: Temporal.PlainDate,
): Temporal.PlainDate | null {
  if (anchor_date === null) return null;
  const next = collectionDayFrom(frequency, Temporal.PlainDate.from(anchor_date), today);
  return next === null || hasExpired(expiry_date, next) ? null : next;
}
