import { addRows, tooManyGroups } from "../aggregate_rows.ts";
import { notKept } from "../closed_usage.ts";
import type { AggregateRow, EventFilter } from "../port.ts";
import { HOUR_MS } from "../time_buckets.ts";
import { isBySubscription } from "./time_range.ts";

/**
 * Errors: invalid for a query that reaches back before `since_ms`, where a company's events begin, and that the sums by
 * subscription and hour, which were kept of the earlier ones, can't answer: it has other conditions than these, groups by
 * metadata, or cuts its time at `edges` within an hour. None of those events came before `first_ms`.
 */
export function checkKept(
  wanted: EventFilter,
  {
    edges,
    is_by_metadata,
    first_ms,
    since_ms,
  }: { edges: readonly number[]; is_by_metadata: boolean; first_ms: number; since_ms: number },
): void {
  if (!isBySubscription(wanted) || is_by_metadata) throw notKept(since_ms, "by subscription and time alone");
  const cutsHour = (ms: number) => ms > first_ms && ms < since_ms && ms % HOUR_MS !== 0;
  if (edges.some(cutsHour)) throw notKept(since_ms, "by whole hours of UTC");
}

/** The groups of events and of those that were removed, together. Errors: invalid when there are too many. */
export function joinGroups(rows: readonly AggregateRow[], max_groups: number): AggregateRow[] {
  const groups = Map.groupBy(rows, ({ keys }) => JSON.stringify(keys));
  if (groups.size > max_groups) throw tooManyGroups(max_groups);
  return [...groups.values()].map((group) => ({ keys: group[0]?.keys ?? [], ...addRows(group) }));
}
