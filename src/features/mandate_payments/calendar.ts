import type { Frequency } from "../emandate_products/model.ts";

// The periods that mandates are debited by: calendar ones in Kuala Lumpur, which count debits, and in each of them
// the day of the collection, which the first one sets.

/** A calendar period of a frequency, `[from, to)`, and what it is called: a day, a week from Monday, … */
export interface DebitPeriod {
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
 * The calendar period of a frequency in which a day falls: "2026-03-31", "2026-W14", "2026-03" or "2026". A mandate
 * is collected at most once in each. Source: emandate.md, Choices.
 */
export function debitPeriod(frequency: Frequency, day: Temporal.PlainDate): DebitPeriod {
  return PERIODS[frequency](day);
}

/** From the first collection to the n-th one after it: 31 January, 28 February, 31 March. */
const STEPS: Record<Frequency, (n: number) => Temporal.DurationLike> = {
  Daily: (n) => ({ days: n }),
  Weekly: (n) => ({ weeks: n }),
  Monthly: (n) => ({ months: n }),
  Yearly: (n) => ({ years: n }),
};

const UNITS = { Daily: "days", Weekly: "weeks", Monthly: "months", Yearly: "years" } as const;

/**
 * The days of collection from `from` on, each computed from the first one: where a month is shorter the last day
 * stands in, and only there. Ends with the year 9999.
 */
export function* collectionDays(
  frequency: Frequency,
  anchor: Temporal.PlainDate,
  from: Temporal.PlainDate,
): Generator<Temporal.PlainDate, void, undefined> {
  const unit = UNITS[frequency];
  const passed = anchor.until(from, { largestUnit: unit })[unit];
  for (let n = Math.max(0, passed); ; n++) {
    const day = anchor.add(STEPS[frequency](n));
    if (day.year > 9_999) return;
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
