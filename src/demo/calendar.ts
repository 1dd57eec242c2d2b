/** The days of the demo's past, in its company's time zone: twelve whole months, and the running one up to now. */
export class Calendar {
  readonly now: Temporal.ZonedDateTime;
  readonly today: Temporal.PlainDate;
  /** The first day of the first month. */
  readonly start: Temporal.PlainDate;

  constructor(now: Temporal.Instant, zone: string) {
    this.now = now.toZonedDateTimeISO(zone);
    this.today = this.now.toPlainDate();
    this.start = this.today.with({ day: 1 }).subtract({ months: MONTHS });
  }

  /** A time of a day; without one its beginning. */
  at(day: Temporal.PlainDate, time = "00:00"): Temporal.ZonedDateTime {
    return day.toZonedDateTime({
      timeZone: this.now.timeZoneId,
      plainTime: Temporal.PlainTime.from(time),
    });
  }

  /** A day of a month of the past, which is counted from 0. */
  month(month: number, day = 1): Temporal.PlainDate {
    return this.start.add({ months: month }).with({ day });
  }

  ago(days: number): Temporal.PlainDate {
    return this.today.subtract({ days });
  }

  /** How many days lie between the start and a day. */
  daysTo(day: Temporal.PlainDate): number {
    return this.start.until(day, { largestUnit: "days" }).days;
  }
}

/** Whole months before the running one. */
const MONTHS = 12;
