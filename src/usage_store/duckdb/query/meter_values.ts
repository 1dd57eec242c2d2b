import type { MeasureQuery, MeterUse } from "../../meter.ts";
import type { UsageWindow } from "../../port.ts";
import type { Parameters } from "../engine/sql.ts";
import { whereSql } from "./filters.ts";
import { KeysOfEvents } from "./keys_of_events.ts";
import { conditionSql, countsSql, partSql, valueSql } from "./meter_sql.ts";
import { windowsSql } from "./windows.ts";
import { minimum } from "../../windows.ts";

/** Which stored events count. */
export type StoredEvents = Pick<MeasureQuery, "company_id" | "created_until_ms" | "last_seq">;

/** A window by its position, with the events from `from_ms` on, and where given only those after a number. */
export interface PlacedStretch extends UsageWindow {
  position: number;
  from_ms: number;
  after_seq?: number;
}

/** SQL of what a use reads of the events of windows: position, start_ms, end_ms, id, timestamp, usage, part, value. */
export function valuesSql(
  stored: StoredEvents,
  { meter, parts, except = [] }: MeterUse,
  stretches: readonly PlacedStretch[],
  parameters: Parameters,
): string {
  const keys = new KeysOfEvents();
  const filters = [
    ...meter.filters.map((filter) => conditionSql(filter, keys, parameters)),
    ...except.map((other) => `NOT ${countsSql(other, keys, parameters)}`),
  ];
  const [part, value] = [partSql(parts, keys, parameters), valueSql(meter, keys)];
  return `SELECT position, start_ms, end_ms, id, timestamp, usage, ${part} AS part, ${value} AS value
    FROM (${eventsSql(stored, stretches, keys, parameters)})
    ${filters.length === 0 ? "" : `WHERE ${filters.join(" AND ")}`}`;
}

/** SQL of the events of windows: position, start_ms, end_ms, id, timestamp, usage, and the column of the keys. */
export function eventsSql(
  { company_id, created_until_ms, last_seq }: StoredEvents,
  stretches: readonly PlacedStretch[],
  keys: KeysOfEvents,
  parameters: Parameters,
): string {
  const from = stretches.map(({ from_ms }) => from_ms);
  const span = {
    start_ms: minimum(from),
    end_ms: stretches.reduce((latest, { end_ms }) => Math.max(latest, end_ms), 0),
  };
  const after = stretches.map(({ after_seq = 0 }) => after_seq);
  const least_seq = minimum(after);
  const conditions = [
    whereSql({ company_id, ...span }, parameters),
    ...(least_seq > 0 ? [`seq > ${parameters.integer(least_seq)}`] : []),
    ...(after.some((seq) => seq > 0) ? ["seq > after_seq"] : []),
    "timestamp >= from_ms AND timestamp < end_ms",
    ...(created_until_ms === undefined ? [] : [`created_at < ${parameters.integer(created_until_ms)}`]),
    ...(last_seq === undefined ? [] : [`seq <= ${parameters.integer(last_seq)}`]),
  ];
  const position = stretches.map((stretch) => stretch.position);
  return `SELECT position, start_ms, end_ms, id, timestamp, usage${keys.columnSql()}
    FROM usage_events JOIN (${windowsSql(stretches, parameters, { position, from_ms: from, after_seq: after })})
      USING (subscription_id)
    WHERE ${conditions.join(" AND ")}`;
}
