/** How long histories are. */
export interface Pace {
  readonly steps: number;
  /** From one step to the next, at least. */
  readonly step_days: number;
  /** How old usage may be that comes late. */
  readonly late_days: number;
  /** Whether all commitments are to a year. */
  readonly yearly: boolean;
}

/** Four months, looked at closely. */
export const MONTHS: Pace = { steps: 8, step_days: 13, late_days: 80, yearly: false };
/** More than two years, at whose ends commitments are settled. */
export const YEARS: Pace = { steps: 6, step_days: 125, late_days: 500, yearly: true };

/** All months in which a period of a history starts, "2026-11". */
export function monthsUntil(now_ms: number): string[] {
  const first = Temporal.PlainYearMonth.from("2023-11");
  const now = Temporal.Instant.fromEpochMilliseconds(now_ms).toZonedDateTimeISO("UTC").toPlainDate();
  const { months } = first.until(now.toPlainYearMonth(), { largestUnit: "months" });
  return Array.from({ length: months + 1 }, (_, i) => first.add({ months: i }).toString());
}
