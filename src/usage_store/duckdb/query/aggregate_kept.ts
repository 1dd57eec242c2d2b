import type { DuckDBConnection } from "@duckdb/node-api";
import { type AggregateQuery, type AggregateRow, metadataKeyOf } from "../../port.ts";
import type { Companies } from "../index/companies.ts";
import { aggregate } from "./aggregate.ts";
import { checkKept, joinGroups } from "../../query/check_kept.ts";
import { unbound } from "../../query/time_range.ts";

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
