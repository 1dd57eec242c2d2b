// The calendar by which the scheme works: days, and when they begin, in Kuala Lumpur.

const ZONE = "Asia/Kuala_Lumpur";

/** The day in Kuala Lumpur. */
export function dayAt(at: Temporal.Instant): Temporal.PlainDate {
  return at.toZonedDateTimeISO(ZONE).toPlainDate();
}

/** When a day begins in Kuala Lumpur. */
export function startOfDay(day: Temporal.PlainDate): Temporal.Instant {
  return day.toZonedDateTime(ZONE).toInstant();
}

/** Whether banks work: not on Saturdays, Sundays and the days off, YYYY-MM-DD. */
export function isWorkingDay(day: Temporal.PlainDate, days_off: ReadonlySet<string>): boolean {
  return day.dayOfWeek <= 5 && !days_off.has(day.toString());
}

/** The first working day that is not before `day`. */
export function workingDayFrom(day: Temporal.PlainDate, days_off: ReadonlySet<string>): Temporal.PlainDate {
  let found = day;
  while (!isWorkingDay(found, days_off)) found = found.add({ days: 1 });
  return found;
}

/** The day by which so many working days have passed since `day`, which does not count itself. */
export function addWorkingDays(
  day: Temporal.PlainDate,
  count: number,
  days_off: ReadonlySet<string>,
): Temporal.PlainDate {
  let found = day;
  for (let i = 0; i < count; i++) found = workingDayFrom(found.add({ days: 1 }), days_off);
  return found;
}
