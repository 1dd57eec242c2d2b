import { addWorkingDays } from "./working_days.ts";

// The calendar of collections: each period is collected on the day that the first collection sets.

/** How often a mandate is debited. */
export const FREQUENCIES = ["Daily", "Weekly", "Monthly", "Yearly"] as const;
export type Frequency = (typeof FREQUENCIES)[number];

const UNITS = { Daily: "days", Weekly: "weeks", Monthly: "months", Yearly: "years" } as const;

/**
 * The collection days from `from` on, each computed from the first one, `anchor`: 31 January, 28 February, 31 March.
 * Ends with the year 9999.
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

/** Whether a mandate's last day, on which it is still in force, has passed. */
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
 * The calendar period of a frequency that contains a day: the day, the week from Monday (ISO 8601), the month, the
 * year. max_no_debit limits the debits in it.
 */
export function debitPeriod(frequency: Frequency, day: Temporal.PlainDate): DebitPeriod {
  return PERIODS[frequency](day);
}

/** The part of a mandate that decides its collection days. */
export interface CollectedMandate {
  readonly frequency: Frequency;
  /** The day of the first collection, YYYY-MM-DD; null until it is known. */
  readonly anchor_date: string | null;
  /** The day of the next collection. */
  readonly next_day: Temporal.PlainDate;
  readonly expiry_date: string | null;
}

/** The collections of a mandate that are due. */
export interface CollectionPlan {
  /** The day that is collected now; null where only older ones were missed. */
  readonly due: Temporal.PlainDate | null;
  /** The days of older periods that were missed. */
  readonly missed: readonly Temporal.PlainDate[];
  /** The next collection after these; null where the mandate ends before it. */
  readonly next: Temporal.PlainDate | null;
}

/**
 * Plans the collections of a mandate that are due by the end of `until`, as of `today`: the current calendar period
 * once; older ones are missed. At most `most` periods: `next` may then be due as well. See docs/emandate.md#collection.
 */
export function planCollection(
  { frequency, anchor_date, next_day, expiry_date }: CollectedMandate,
  { until, today }: { until: Temporal.PlainDate; today: Temporal.PlainDate },
  most: number,
): CollectionPlan {
  const anchor = anchor_date === null ? next_day : Temporal.PlainDate.from(anchor_date);
  const current = debitPeriod(frequency, today).key;
  const missed: Temporal.PlainDate[] = [];
  let due: Temporal.PlainDate | null = null;
  let periods = 0;
  for (const day of collectionDays(frequency, anchor, next_day)) {
    if (hasExpired(expiry_date, day)) break;
    if (Temporal.PlainDate.compare(day, until) > 0 || periods === most) return { due, missed, next: day };
    if (debitPeriod(frequency, day).key === current) due = day;
    else missed.push(day);
    periods += 1;
  }
  return { due, missed, next: null };
}

/**
 * The first collection day of a mandate that became active `today`: after the lead days, or on its first day where
 * that is later; null where it ends before. See docs/emandate.md#collection.
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

/** The next collection day of a mandate that is resumed `today`: the first of its own days from then on. */
export function nextCollection(
  { frequency, anchor_date, expiry_date }: Omit<CollectedMandate, "next_day">,
  today: Temporal.PlainDate,
): Temporal.PlainDate | null {
  if (anchor_date === null) return null;
  const next = collectionDays(frequency, Temporal.PlainDate.from(anchor_date), today).next().value;
  return next === undefined || hasExpired(expiry_date, next) ? null : next;
}
