import type { DuckDBConnection } from "@duckdb/node-api";
import { sum } from "../../../core/money.ts";
import { beforeEvents } from "../../closed_usage.ts";
import type { EventFilter, UsageWindow, WindowSum } from "../../port.ts";
import { HOUR_MS } from "../../time_buckets.ts";
import { asDecimal, asNumber, Parameters, query } from "../engine/sql.ts";
import { whereSql } from "./filters.ts";
import { windowsSql } from "./windows.ts";

/** SQL of what was kept of removed events, as rows of subscription_id, hour, total, events, low and high. */
export function keptHoursSql(wanted: EventFilter, parameters: Parameters): string {
  const { company_id, subscription_ids, start_ms, end_ms } = wanted;
  const conditions = [whereSql({ company_id, subscription_ids }, parameters)];
  if (start_ms !== undefined) conditions.push(`hour >= ${parameters.integer(Math.ceil(start_ms / HOUR_MS))}`);
  if (end_ms !== undefined) conditions.push(`hour < ${parameters.integer(Math.floor(end_ms / HOUR_MS))}`);
  return `SELECT subscription_id, hour::BIGINT AS hour, total, events, low, high FROM usage_kept_hours
    WHERE ${conditions.join(" AND ")}`;
}

/**
 * The sums of windows that begin before `since_ms`, where the company's events begin; the transaction sees events and
 * kept sums of one instant. Errors: conflict when a window cuts an hour of removed events.
 */
export async function sumsWithKept(
  connection: DuckDBConnection,
  company_id: number,
  windows: readonly UsageWindow[],
  since_ms: number,
): Promise<WindowSum[]> {
  const cut = windows.find(({ start_ms, end_ms }) =>
    [start_ms, Math.min(end_ms, since_ms)].some((ms) => ms % HOUR_MS !== 0),
  );
  if (cut) throw beforeEvents(since_ms);
  const parameters = new Parameters();
  const named = windowsSql(windows, parameters);
  const where = whereSql({ company_id }, parameters);
  const joined = (rows: string, at: string) => `SELECT position, rows.* EXCLUDE (subscription_id, at_ms)
    FROM (SELECT subscription_id, ${at} AS at_ms, ${rows} WHERE ${where}) AS rows JOIN windows
      ON rows.subscription_id = windows.subscription_id AND at_ms >= start_ms AND at_ms < end_ms`;
  const events = "usage AS total, 1::BIGINT AS events, (usage < 0)::BIGINT AS corrections FROM usage_events";
  const result = windows.map((): WindowSum => ({ units: "0", event_count: 0, corrections: 0 }));
  for (const [position, units, event_count, corrections] of await query(
    connection,
    `WITH windows AS (${named})
    SELECT position, sum(total)::VARCHAR, sum(events)::BIGINT, sum(corrections)::BIGINT FROM (
      ${joined(events, "timestamp")} UNION ALL
      ${joined("total, events, corrections FROM usage_kept_hours", `hour::BIGINT * ${HOUR_MS}`)})
    GROUP BY position`,
    parameters,
  )) {
    result[asNumber(position)] = {
      units: sum([asDecimal(units)]),
      event_count: asNumber(event_count),
      corrections: asNumber(corrections),
    };
  }
  return result;
}
