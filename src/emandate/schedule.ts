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
