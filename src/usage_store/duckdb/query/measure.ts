import type { DuckDBConnection } from "@duckdb/node-api";
import { type Decimal, quotient, toBig } from "../../../core/money.ts";
import {
  type Aggregation,
  type Measured,
  type MeasureQuery,
  type MeterTerms,
  type MeterUse,
  type MeterWindow,
  readFrom,
  useOf,
} from "../../meter.ts";
import type { UsageWindow } from "../../port.ts";
import { tooManyGroups } from "../../aggregate_rows.ts";
import { asBigInt, asNumber, asText, Parameters, queryMany } from "../engine/sql.ts";
import { whereSql } from "./filters.ts";
import { KeysOfEvents } from "./keys_of_events.ts";
import { conditionSql, partSql, valueSql } from "./meter_sql.ts";
import { DIGEST_SUMS, digestOf } from "./totals.ts";
import { minimum, windowsSql } from "./windows.ts";

/** A window that measures, by its position, what one of the uses does of its events. */
interface PlacedWindow extends MeterWindow {
  readonly position: number;
}

/** Measures all windows by one statement, which reads the events once for each use. Parts of a window are in no order. */
export async function measure(connection: DuckDBConnection, wanted: MeasureQuery): Promise<Measured[][]> {
  const result = wanted.windows.map((): Measured[] => []);
  const placed = wanted.windows.map((window, position) => ({ ...window, position }));
  const byUse = [...Map.groupBy(placed, ({ use }) => use)];
  if (byUse.length === 0) return result;
  const parameters = new Parameters();
  const statements = byUse.flatMap(([, windows]) => {
    const [first] = windows;
    return first === undefined ? [] : [useSql(wanted, useOf(wanted, first), windows, parameters)];
  });
  const max_rows = parameters.integer(wanted.max_parts + 1);
  const rows = await queryMany(
    connection,
    `SELECT position, part, value, events, skipped, first, second FROM (${statements.join(" UNION ALL ")})
    LIMIT ${max_rows}`,
    parameters,
    ([position, part, value, events, skipped, first, second]) => ({
      position: asNumber(position),
      part: asText(part),
      value: value === null ? null : asText(value ?? ""),
      events: asNumber(events),
      skipped: asNumber(skipped),
      digest: first === null ? "0".repeat(32) : digestOf(asBigInt(first), asBigInt(second)),
    }),
  );
  if (rows.length > wanted.max_parts) throw tooManyGroups(wanted.max_parts);
  for (const { position, part, value, events, skipped, digest } of rows) {
    const window = wanted.windows[position];
    if (window === undefined) throw new RangeError(`Cannot place a part: there is no window ${position}`);
    const { aggregation } = useOf(wanted, window).meter;
    result[position]?.push({
      part: JSON.parse(part),
      quantity: value === null ? "0" : quantityOf(aggregation, value, events, window.whole_ms),
      event_count: events,
      skipped_events: skipped,
      digest,
    });
  }
  return result;
}

/** The quantity by what the engine computed exactly; only divisions are left. */
function quantityOf(aggregation: Aggregation, value: Decimal, events: number, whole_ms: number): Decimal {
  if (aggregation === "average") return quotient(value, String(events), 6);
  if (aggregation === "weighted_sum") return quotient(value, String(whole_ms), 6);
  return toBig(value).toFixed();
}

/** SQL of one use, as rows of position, part, value, events, skipped and the two sums of the digest. */
function useSql(
  stored: StoredEvents,
  use: MeterUse,
  windows: readonly PlacedWindow[],
  parameters: Parameters,
): string {
  const { meter } = use;
  const stretches = windows.map((window) => ({ ...window, from_ms: readFrom(meter, window) }));
  const values = valuesSql(stored, use, stretches, parameters);
  const hashed = `SELECT *, if(value IS NULL, NULL,
      md5_number(id::VARCHAR || '|' || timestamp::VARCHAR || '|' || value::VARCHAR)) AS md5 FROM (${values})`;
  return `SELECT position, part, (${aggregateSql(meter)})::VARCHAR AS value, count(value) AS events,
      count(*) - count(value) AS skipped, ${DIGEST_SUMS.first} AS first, ${DIGEST_SUMS.second} AS second
    FROM (${meter.percentile === null ? hashed : rankedSql(hashed)}) GROUP BY position, part`;
}

/** Which stored events count. */
type StoredEvents = Pick<MeasureQuery, "company_id" | "created_until_ms" | "last_seq">;

/** A window by its position, with the events from `from_ms` on. */
export interface PlacedStretch extends UsageWindow {
  position: number;
  from_ms: number;
}

/** SQL of what a use reads of the events of windows: position, start_ms, end_ms, id, timestamp, part, value. */
export function valuesSql(
  { company_id, created_until_ms, last_seq }: StoredEvents,
  { meter, parts }: MeterUse,
  stretches: readonly PlacedStretch[],
  parameters: Parameters,
): string {
  const from = stretches.map(({ from_ms }) => from_ms);
  const span = {
    start_ms: minimum(from),
    end_ms: stretches.reduce((latest, { end_ms }) => Math.max(latest, end_ms), 0),
  };
  const conditions = [
    whereSql({ company_id, ...span }, parameters),
    "timestamp >= from_ms AND timestamp < end_ms",
    ...(created_until_ms === undefined ? [] : [`created_at < ${parameters.integer(created_until_ms)}`]),
    ...(last_seq === undefined ? [] : [`seq <= ${parameters.integer(last_seq)}`]),
  ];
  const keys = new KeysOfEvents();
  const filters = meter.filters.map((filter) => conditionSql(filter, keys, parameters));
  const [part, value] = [partSql(parts, keys, parameters), valueSql(meter, keys)];
  const position = stretches.map((stretch) => stretch.position);
  const events = `SELECT position, start_ms, end_ms, id, timestamp, usage${keys.columnSql()}
    FROM usage_events JOIN (${windowsSql(stretches, parameters, { position, from_ms: from })})
      USING (subscription_id)
    WHERE ${conditions.join(" AND ")}`;
  return `SELECT position, start_ms, end_ms, id, timestamp, ${part} AS part, ${value} AS value
    FROM (${events}) ${filters.length === 0 ? "" : `WHERE ${filters.join(" AND ")}`}`;
}

const RANKED = `row_number() OVER (PARTITION BY position, part ORDER BY value NULLS LAST) AS rank,
  count(value) OVER (PARTITION BY position, part) AS counted`;

function rankedSql(events: string): string {
  return `SELECT *, ${RANKED} FROM (${events})`;
}

/** SQL of what the values of a part come to, but for the percentile. */
const AGGREGATES: Readonly<Record<Exclude<Aggregation, "percentile">, string>> = {
  count: "count(*)",
  sum: "sum(value)",
  average: "sum(value)",
  min: "min(value)",
  max: "max(value)",
  latest: "max_by(value, (timestamp, id)) FILTER (value IS NOT NULL)",
  unique: "count(DISTINCT value)",
  weighted_sum: "sum(value * (end_ms - greatest(timestamp, start_ms)))",
};

function aggregateSql({ aggregation, percentile }: MeterTerms): string {
  if (aggregation !== "percentile") return AGGREGATES[aggregation];
  return `max(value) FILTER (rank = ${rankSql(percentile ?? "100")})`;
}

/** The rank of the ⌈p/100 × n⌉-th smallest of n. */
function rankSql(percentile: Decimal): string {
  const millionths = toBig(percentile).times("1000000").toFixed();
  return `(counted * (${millionths})::BIGINT + 99999999) // 100000000`;
}
