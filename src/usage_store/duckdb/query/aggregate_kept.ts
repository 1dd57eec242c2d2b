import type { DuckDBConnection } from "@duckdb/node-api";
import { addRows, tooManyGroups } from "../../aggregate_rows.ts";
import { notKept } from "../../closed_usage.ts";
import { type AggregateQuery, type AggregateRow, type EventFilter, metadataKeyOf } from "../../port.ts";
import { HOUR_MS } from "../../time_buckets.ts";
import type { Companies } from "../index/companies.ts";
import { aggregate } from "./aggregate.ts";
import { isBySubscription, unbound } from "./rollup.ts";

/**
 * Sums a query that reaches back before its company's events begin: these and what was kept of the removed ones, in a
 * transaction that sees both of one instant. Errors: invalid when what was kept can't answer it.
 */
export function withKept(
  query: AggregateQuery,
  companies: Companies,
): (connection: DuckDBConnection) => Promise<AggregateRow[]> {
  const { company_id, max_groups } = query;
  const since_ms = companies.sinceOf(company_id);
  // Removed events came no later, so that a bound which excludes none may cut an hour.
  const range = companies.rangeOf(company_id);
  const reduced = unbound(query, range);
  const { start_ms = 0, end_ms = since_ms, group_by } = reduced;
  const edges = [start_ms, end_ms];
  const is_by_metadata = group_by.some((kind) => metadataKeyOf(kind) !== undefined);
  checkKept(reduced, { edges, is_by_metadata, first_ms: range.min_timestamp, since_ms });
  const known = { range: companies.range, has_few: false };
  return async (connection) => {
    const removed = await aggregate(connection, reduced, { ...known, since_ms });
    return joinGroups([...removed, ...(await aggregate(connection, query, known))], max_groups);
  };
}

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
function joinGroups(rows: readonly AggregateRow[], max_groups: number): AggregateRow[] {
  const groups = Map.groupBy(rows, ({ keys }) => JSON.stringify(keys));
  if (groups.size > max_groups) throw tooManyGroups(max_groups);
  return [...groups.values()].map((group) => ({ keys: group[0]?.keys ?? [], ...addRows(group) }));
}
