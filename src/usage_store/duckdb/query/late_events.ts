import type { DuckDBConnection } from "@duckdb/node-api";
import type { KnownWindow } from "../../port.ts";
import { whereSql } from "./filters.ts";
import { asNumber, Parameters, query } from "../engine/sql.ts";
import { windowsSql } from "./windows.ts";
import { minimum, spanOf } from "../../windows.ts";

/**
 * Whether each window has events beyond those known, by one join. The bounds of all windows are plain conditions in two
 * branches, not in one with an OR: by each of them the engine skips blocks.
 */
export async function haveLateEvents(
  connection: DuckDBConnection,
  company_id: number,
  windows: readonly KnownWindow[],
): Promise<boolean[]> {
  const late = windows.map(() => false);
  if (windows.length === 0) return late;
  const parameters = new Parameters();
  for (const [position] of await query(
    connection,
    lateEventsSql(company_id, windows, parameters),
    parameters,
  )) {
    late[asNumber(position)] = true;
  }
  return late;
}

function lateEventsSql(company_id: number, windows: readonly KnownWindow[], parameters: Parameters): string {
  const last_seq = windows.map((window) => window.last_seq);
  const created_until_ms = windows.map((window) => window.created_until_ms);
  const span = spanOf(windows);
  const events = (condition: string) => `SELECT subscription_id, timestamp, seq, created_at FROM usage_events
    WHERE ${whereSql({ company_id, ...span }, parameters)} AND ${condition}`;
  return `WITH windows AS (${windowsSql(windows, parameters, { last_seq, created_until_ms })}),
    event AS (
      ${events(`seq > ${parameters.integer(minimum(last_seq))}`)}
      UNION ALL
      ${events(`created_at >= ${parameters.integer(minimum(created_until_ms))}`)})
    SELECT DISTINCT position FROM event JOIN windows USING (subscription_id)
    WHERE timestamp >= start_ms AND timestamp < end_ms
      AND (seq > last_seq OR created_at >= created_until_ms)`;
}
