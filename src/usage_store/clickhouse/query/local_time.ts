import { DAY_MS, type OffsetSegment } from "../../time_buckets.ts";
import { integer, integers } from "../engine/sql.ts";

// Local time in SQL: whole numbers of hours, days and months since 1970. Dividends must not be negative: the engine rounds
// towards zero.

/** SQL of the offset from UTC at an instant; the first segment counts for all before it. */
export function offsetSql(at: string, segments: readonly OffsetSegment[]): string {
  const [first, ...others] = segments;
  if (first === undefined || others.length === 0) return `toInt64(${integer(first?.offset_ms ?? 0)})`;
  const starts = integers(segments.map(({ start_ms }) => start_ms));
  const offsets = integers(segments.map(({ offset_ms }) => offset_ms));
  return `transform(roundDown(toInt64(${at}), ${starts}), ${starts}, ${offsets}, toInt64(0))`;
}

/** SQL of the number of the local hour or day of an instant with this offset. */
export function numberSql(at: string, offset: string, unit_ms: number): string {
  return `intDiv(${at} + ${offset} + ${DAY_MS}, ${unit_ms}) - ${DAY_MS / unit_ms}`;
}

/**
 * SQL of the number of the month of a day: the engine's own dates end early. Years begin in March, so that the leap day is
 * their last: `civil_from_days` of Howard Hinnant's "chrono-Compatible Low-Level Date Algorithms".
 */
export function monthSql(day: string): string {
  const year_of_era = "intDiv(doe - intDiv(doe, 1460) + intDiv(doe, 36524) - intDiv(doe, 146096), 365)";
  const day_of_year = "doe - (365 * yoe + intDiv(yoe, 4) - intDiv(yoe, 100))";
  // Months since March of year 0; 1970-01 is two before March.
  const month = `(yoe + era * 400) * 12 + intDiv(5 * (${day_of_year}) + 2, 153) + 2 - ${1970 * 12}`;
  return letSql(
    "z",
    `toInt64(${day}) + 719468`,
    letSql("era", "intDiv(z, 146097)", letSql("doe", "z - era * 146097", letSql("yoe", year_of_era, month))),
  );
}

/** SQL of an expression in which `name` stands for a value that is computed once. */
function letSql(name: string, value: string, expression: string): string {
  return `arrayMap(${name} -> ${expression}, [${value}])[1]`;
}
