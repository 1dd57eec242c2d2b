import { type Decimal, max, min, sum } from "../core/money.ts";
import { AppError } from "../core/errors.ts";
import type { AggregateRow } from "./port.ts";

/** The sums of a group. */
export type Sums = Omit<AggregateRow, "keys">;

/** Adds up the sums of several rows. */
export function addRows(rows: readonly Sums[]): Sums {
  const [only, another] = rows;
  if (only !== undefined && another === undefined) return only;
  return {
    total_usage: sum(rows.map(({ total_usage }) => total_usage)),
    event_count: rows.reduce((count, row) => count + row.event_count, 0),
    min_usage: extreme(
      rows.map(({ min_usage }) => min_usage),
      min,
    ),
    max_usage: extreme(
      rows.map(({ max_usage }) => max_usage),
      max,
    ),
  };
}

/** The smallest or largest value; null only where nothing was summed. */
function extreme(
  values: readonly (Decimal | null)[],
  pick: (a: Decimal, b: Decimal) => Decimal,
): Decimal | null {
  return values.reduce((a, b) => (a === null || b === null ? (a ?? b) : pick(a, b)), null);
}

export function tooManyGroups(max_groups: number): AppError {
  return new AppError(
    "invalid",
    `Cannot aggregate usage: there are over ${max_groups} groups; narrow it by time or subscription, ` +
      "or group by something coarser",
  );
}
