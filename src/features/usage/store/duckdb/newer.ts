import type { DuckDBConnection } from "@duckdb/node-api";
import type { KnownWindow } from "../usage_store.ts";
import { whereSql } from "./filters.ts";
import { asNumber, Parameters, query } from "./sql.ts";

/**
 * Which windows hold events beyond those that are known of them, by one join. What bounds all windows stands as
 * plain conditions in two branches, not in one with an OR: by each of them the engine skips blocks.
 */
export async function haveNewer(
  connection: DuckDBConnection,
  company_id: number,
  windows: readonly KnownWindow[],
): Promise<boolean[]> {
  const newer = windows.map(() => false);
  if (windows.length === 0) return newer;
  const parameters = new Parameters();
  for (const [position] of await query(connection, newerSql(company_id, windows, parameters), parameters)) {
    newer[asNumber(position)] = true;
  }
  return newer;
}

function newerSql(company_id: number, windows: readonly KnownWindow[], parameters: Parameters): string {
  const column = (name: keyof KnownWindow) => parameters.integers(windows.map((window) => window[name]));
  const least = (name: keyof KnownWindow) =>
    windows.reduce((min, window) => Math.min(min, window[name]), Number.MAX_SAFE_INTEGER);
  const start_ms = least("start_ms");
  const end_ms = windows.reduce((max, window) => Math.max(max, window.end_ms), 0);
  const events = (condition: string) => `SELECT subscription_id, timestamp, seq, created_at FROM usage_events
    WHERE ${whereSql({ company_id, start_ms, end_ms }, parameters)} AND ${condition}`;
  return `WITH windows AS (
      SELECT unnest(${parameters.integers(windows.map((_, i) => i))}) AS position,
        unnest(${column("subscription_id")})::INTEGER AS subscription_id,
        unnest(${column("start_ms")}) AS start_ms, unnest(${column("end_ms")}) AS end_ms,
        unnest(${column("last_seq")}) AS last_seq,
        unnest(${column("created_until_ms")}) AS created_until_ms),
    event AS (
      ${events(`seq > ${parameters.integer(least("last_seq"))}`)}
      UNION ALL
      ${events(`created_at >= ${parameters.integer(least("created_until_ms"))}`)})
    SELECT DISTINCT position FROM event JOIN windows USING (subscription_id)
    WHERE timestamp >= start_ms AND timestamp < end_ms
      AND (seq > last_seq OR created_at >= created_until_ms)`;
}
