import type { DuckDBConnection } from "@duckdb/node-api";
import type { EventFilter } from "../../port.ts";
import type { Companies } from "../index/companies.ts";
import { unbound } from "../../query/time_range.ts";

/** Queries without the bounds of time that exclude nothing; `has_few`: whether few events are within them. */
export async function inRange<Q extends EventFilter, A>(
  companies: Companies,
  connection: DuckDBConnection,
  query: Q,
  run: (query: Q, has_few: boolean) => Promise<A>,
): Promise<A> {
  await companies.refine(connection, query);
  const reduced = unbound(query, companies.rangeOf(query.company_id));
  const has_few = companies.haveFew(query);
  const result = await run(reduced, has_few);
  const { start_ms, end_ms } = unbound(query, companies.rangeOf(query.company_id));
  // Events that widened the range meanwhile may be in the result, and outside of the query's bounds.
  return start_ms === reduced.start_ms && end_ms === reduced.end_ms ? result : run(query, has_few);
}
