// The scheme's calendar: days and working days in Kuala Lumpur.

const ZONE = "Asia/Kuala_Lumpur";

/** The day in Kuala Lumpur. */
export function dayAt(at: Temporal.Instant): Temporal.PlainDate {
  return at.toZonedDateTimeISO(ZONE).toPlainDate();
}

/** The start of a day in Kuala Lumpur. */
export function startOfDay(day: Temporal.PlainDate): Temporal.Instant {
  return day.toZonedDateTime(ZONE).toInstant();
}

/** Whether banks work on a day: not on Saturdays, Sundays and the holidays, YYYY-MM-DD. */
export function isWorkingDay(day: Temporal.PlainDate, holidays: ReadonlySet<string>): boolean {
  return day.dayOfWeek <= 5 && !holidays.has(day.toString());
}

/** The first working day that is not before `day`. */
export function workingDayFrom(day: Temporal.PlainDate, holidays: ReadonlySet<string>): Temporal.PlainDate {
  let found = day;
  while (!isWorkingDay(found, holidays)) found = found.add({ days: 1 });
  return found;
}

/** The day after `count` working days; `day` itself does not count. */
export function addWorkingDays(
  day: Temporal.PlainDate,
  count: number,
  holidays: ReadonlySet<string>,
): Temporal.PlainDate {
  let found = day;
  for (let i = 0; i < count; i++) found = workingDayFrom(found.add({ days: 1 }), holidays);
  return found;
}
