import type { DuckDBConnection, DuckDBValue } from "@duckdb/node-api";
import type { Aggregation, MeterUse } from "../../meter.ts";
import { type Millionths, narrow } from "../../meter_reader.ts";
import type { TallyQuery, TallyRow } from "../../running/totals_source.ts";
import { MAX_GROUPS } from "../../running/window_totals.ts";
import { asNumber, asText, Parameters, queryMany } from "../engine/sql.ts";
import { type PlacedStretch, valuesSql } from "./meter_values.ts";

/** Tallies all windows by one statement, which reads the events once for each use: as `measure`, without proofs. */
export async function tally(connection: DuckDBConnection, wanted: TallyQuery): Promise<TallyRow[]> {
  const placed = wanted.windows.map((window, position) => ({
    ...window,
    position,
    from_ms: window.start_ms,
  }));
  const parameters = new Parameters();
  const statements = [...Map.groupBy(placed, ({ use }) => use)].flatMap(([position, windows]) => {
    const use = wanted.uses[position];
    return use === undefined ? [] : [useSql(wanted, use, windows, parameters)];
  });
  if (statements.length === 0) return [];
  return queryMany(connection, statements.join(" UNION ALL "), parameters, toRow);
}

function useSql(
  wanted: TallyQuery,
  use: MeterUse,
  windows: readonly PlacedStretch[],
  parameters: Parameters,
): string {
  const { aggregation } = use.meter;
  const { value = "NULL", moment = "NULL", last = LAST.none, text = "NULL" } = COLUMNS[aggregation] ?? {};
  const groups = aggregation === "unique" ? "position, part, value" : "position, part";
  // One more than are kept, so that it is known that there are.
  const bound =
    "keys" in use.parts && use.parts.keys.length > 0
      ? `QUALIFY dense_rank() OVER (PARTITION BY position ORDER BY part) <= ${MAX_GROUPS + 1}`
      : "";
  return `SELECT position, part, (${value})::VARCHAR AS value, (${moment})::VARCHAR AS moment, ${last},
      (${text})::VARCHAR AS text
    FROM (${valuesSql(wanted, use, windows, parameters)}) WHERE value IS NOT NULL GROUP BY ${groups} ${bound}`;
}

/** SQL of the event that has the latest value. */
const LAST = {
  none: "NULL::BIGINT AS last_ms, '' AS last_id",
  latest: "max(timestamp) AS last_ms, max_by(id, (timestamp, id))::VARCHAR AS last_id",
};

/** SQL of what the values of a group come to, by default nothing. */
const COLUMNS: Partial<
  Record<Aggregation, { value?: string; moment?: string; last?: string; text?: string }>
> = {
  count: { value: "sum(value)" },
  sum: { value: "sum(value)" },
  min: { value: "min(value)" },
  max: { value: "max(value)" },
  latest: { value: "max_by(value, (timestamp, id))", last: LAST.latest },
  unique: { text: "value" },
  weighted_sum: { value: "sum(value)", moment: "sum(value * (timestamp - start_ms))" },
};

function toRow([position, part, value, moment, last_ms, last_id, text]: DuckDBValue[]): TallyRow {
  const group: unknown = JSON.parse(asText(part))[0] ?? null;
  const more =
    last_ms === null ? millionthsOf(moment) : { timestamp: asNumber(last_ms), id: asText(last_id) };
  return {
    window: asNumber(position),
    group: typeof group === "string" ? group : null,
    value: millionthsOf(value),
    more,
    text: text === null ? null : asText(text),
  };
}

/** Of the text of a decimal with six digits after the point; null for none. */
function millionthsOf(text: DuckDBValue | undefined): Millionths | null {
  return text === null ? null : narrow(BigInt(asText(text).replace(".", "")));
}
