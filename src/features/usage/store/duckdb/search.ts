import type { DuckDBConnection, DuckDBValue } from "@duckdb/node-api";
import { parseMetadata } from "../metadata.ts";
import type { SearchQuery, SearchResult, StoredEvent } from "../usage_store.ts";
import { whereSql } from "./filters.ts";
import { asDecimal, asNumber, asText, asUuid, Parameters, query } from "./sql.ts";

/** The page and the count, of one instant: `connection` is in a transaction. */
export async function search(connection: DuckDBConnection, wanted: SearchQuery): Promise<SearchResult> {
  const counting = new Parameters();
  const [counted] = await query(
    connection,
    `SELECT count(*) FROM usage_events WHERE ${whereSql(wanted, counting)}`,
    counting,
  );
  const total = asNumber(counted?.[0]);
  if (wanted.offset >= total || wanted.limit === 0) return { rows: [], total };

  const parameters = new Parameters();
  const direction = wanted.sort_order === "asc" ? "ASC" : "DESC";
  const column = wanted.sort_by === "usage" ? "usage" : "timestamp";
  const where = whereSql(wanted, parameters);
  const rows = await query(
    connection,
    `SELECT id, subscription_id, timestamp, usage::VARCHAR, metadata, created_at FROM usage_events
    WHERE ${where} ORDER BY ${column} ${direction}, id ${direction}
    LIMIT ${parameters.integer(wanted.limit)} OFFSET ${parameters.integer(wanted.offset)}`,
    parameters,
  );
  return { rows: rows.map(toStoredEvent), total };
}

function toStoredEvent(row: DuckDBValue[]): StoredEvent {
  const [id, subscription_id, timestamp, usage, metadata, created_at] = row;
  return {
    id: asUuid(id).toString(),
    subscription_id: asNumber(subscription_id),
    timestamp: asNumber(timestamp),
    usage: asDecimal(usage),
    metadata: metadata === null ? null : parseMetadata(asText(metadata)),
    created_at: asNumber(created_at),
  };
}
