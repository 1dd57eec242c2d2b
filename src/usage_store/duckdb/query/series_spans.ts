import type { DuckDBConnection } from "@duckdb/node-api";
import type { EventFilter } from "../../port.ts";
import { type Counts, cutSpans, SECOND_MS, type Span } from "../../query/spans.ts";
import { HOUR_MS } from "../../time_buckets.ts";
import { whereSql } from "./filters.ts";
import { asNumber, Parameters, query } from "../engine/sql.ts";

/**
 * Cuts a company's time into spans, the newest first, of at most `max_events` events each, unless one second has more.
 * `connection` is in a transaction.
 */
export async function spansOf(
  connection: DuckDBConnection,
  { company_id, start_ms, end_ms }: Span & { company_id: number },
  max_events: number,
): Promise<Span[]> {
  const hours = await hourCounts(connection, { company_id, start_ms, end_ms });
  return cutSpans({ start_ms, end_ms }, max_events, hours, (hour) =>
    secondCounts(connection, { company_id, ...hour }),
  );
}

async function hourCounts(
  connection: DuckDBConnection,
  { company_id, start_ms, end_ms }: Span & { company_id: number },
): Promise<Counts> {
  const parameters = new Parameters();
  const [first, last] = [Math.floor(start_ms / HOUR_MS), Math.ceil(end_ms / HOUR_MS)];
  const rows = await query(
    connection,
    `SELECT hour, sum(events)::BIGINT FROM usage_hours WHERE ${whereSql({ company_id }, parameters)}
      AND hour >= ${parameters.integer(first)} AND hour < ${parameters.integer(last)}
    GROUP BY hour ORDER BY hour DESC`,
    parameters,
  );
  return rows.map(([hour, events]) => [asNumber(hour), asNumber(events)]);
}

async function secondCounts(connection: DuckDBConnection, filter: EventFilter): Promise<Counts> {
  const parameters = new Parameters();
  const rows = await query(
    connection,
    `SELECT timestamp // ${SECOND_MS} AS second, count(*) FROM usage_events WHERE ${whereSql(filter, parameters)}
    GROUP BY second ORDER BY second DESC`,
    parameters,
  );
  return rows.map(([second, events]) => [asNumber(second), asNumber(events)]);
}
