import type { Store } from "../../../src/store/store.ts";
import type { Frequency } from "../../../src/emandate/schedule.ts";

// What runs are held against, written without their code, and stores that behave badly.

/** The days of a period in which a day lies, counted without the code under test. */
export function samePeriod(frequency: Frequency, a: Temporal.PlainDate, b: Temporal.PlainDate): boolean {
  if (frequency === "Daily") return a.equals(b);
  if (frequency === "Weekly")
    return a.subtract({ days: a.dayOfWeek }).equals(b.subtract({ days: b.dayOfWeek }));
  return a.year === b.year && (frequency === "Yearly" || a.month === b.month);
}

/** Whether a mandate that began on `first` is collected on a day, by the calendar on the wall. */
export function isCollectionDay(
  frequency: Frequency,
  first: Temporal.PlainDate,
  day: Temporal.PlainDate,
): boolean {
  const passed = first.until(day).days;
  if (passed < 0) return false;
  if (frequency === "Daily") return true;
  if (frequency === "Weekly") return passed % 7 === 0;
  if (frequency === "Yearly" && day.month !== first.month) return false;
  return day.day === Math.min(first.day, day.daysInMonth);
}

/** A store whose process dies: from the n-th transaction on nothing is written any more, before or after it. */
export function dying(store: Store, n: number, commits_last: boolean): Store {
  let left = n;
  return {
    ...store,
    async tx(work) {
      left -= 1;
      if (left > 0) return store.tx(work);
      if (left === 0 && commits_last) await store.tx(work);
      throw new Error("The process died");
    },
  };
}

/** A store whose transactions begin a moment after they were asked for: what was read before may not hold then. */
export function slowed(store: Store): Store {
  return {
    ...store,
    async tx(work) {
      await Bun.sleep(Math.random() * 3);
      return store.tx(work);
    },
  };
}
