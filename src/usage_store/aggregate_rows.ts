import { type Decimal, max, min, sum } from "../core/money.ts";
import type { AggregateRow } from "./port.ts";

/** What a group's rows make together. */
export type Sums = Omit<AggregateRow, "keys">;

/** The sums of several rows as one. */
export function addRows(rows: readonly Sums[]): Sums {
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

/** Null only where nothing was summed. */
function extreme(
  values: readonly (Decimal | null)[],
  pick: (a: Decimal, b: Decimal) => Decimal,
): Decimal | null {
  return values.reduce((a, b) => (a === null || b === null ? (a ?? b) : pick(a, b)), null);
}
