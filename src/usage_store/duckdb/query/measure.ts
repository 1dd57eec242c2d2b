import type { DuckDBConnection } from "@duckdb/node-api";
import { type Decimal, quotient, toBig } from "../../../core/money.ts";
import { type Aggregation, type Measured, type MeasureQuery, type MeterTerms, useOf } from "../../meter.ts";
import { tooManyGroups } from "../../aggregate_rows.ts";
import { asBigInt, asNumber, asText, Parameters, queryMany } from "../engine/sql.ts";
import { type PlacedStretch, type StoredEvents, valuesSql } from "./meter_values.ts";
import { md5Sql, type PlacedUse, scanSql, scansOf } from "./shared_scan.ts";
import { digestSums } from "./totals.ts";
import { digestOf, NO_DIGEST } from "../../digest.ts";

/** Measures all windows by one statement, which reads the events as seldom as it can. Parts of a window are in no order. */
export async function measure(connection: DuckDBConnection, wanted: MeasureQuery): Promise<Measured[][]> {
  const result = wanted.windows.map((): Measured[] => []);
  const scans = scansOf(wanted);
  if (scans.length === 0) return result;
  const parameters = new Parameters();
  const statements = scans.map((scan) => {
    const [only] = scan.uses;
    return scan.uses.length === 1 && only
      ? useSql(wanted, only, scan.stretches, parameters)
      : scanSql(wanted, scan, parameters);
  });
  const positions = new Map(scans.flatMap(({ uses }) => uses.map((one) => [one.index, one.positions])));
  const max_rows = parameters.integer(wanted.max_parts + 1);
  const rows = await queryMany(
    connection,
    `SELECT use, position, part, value, events, skipped, corrections, first, second
    FROM (${statements.join(" UNION ALL ")}) LIMIT ${max_rows}`,
    parameters,
    ([use, position, part, value, events, skipped, corrections, first, second]) => {
      const place = positions.get(asNumber(use))?.[asNumber(position)] ?? -1;
      const window = wanted.windows[place];
      if (window === undefined) throw new RangeError(`Cannot place a part: there is no window ${place}`);
      const { aggregation } = useOf(wanted, window).meter;
      const event_count = asNumber(events);
      const measured: Measured = {
        part: JSON.parse(asText(part)),
        quantity: value === null ? "0" : quantityOf(aggregation, asText(value), event_count, window.whole_ms),
        event_count,
        skipped_events: asNumber(skipped),
        corrections: asNumber(corrections),
        digest: first === null ? NO_DIGEST : digestOf(asBigInt(first), asBigInt(second)),
      };
      return { place, measured };
    },
  );
  if (rows.length > wanted.max_parts) throw tooManyGroups(wanted.max_parts);
  for (const { place, measured } of rows) result[place]?.push(measured);
  return result;
}

/** The quantity by what the engine computed exactly; only divisions are left. */
function quantityOf(aggregation: Aggregation, value: Decimal, events: number, whole_ms: number): Decimal {
  if (aggregation === "average") return quotient(value, String(events), 6);
  if (aggregation === "weighted_sum") return quotient(value, String(whole_ms), 6);
  return toBig(value).toFixed();
}

/** SQL of one use, as rows of use, position, part, value, events, skipped, corrections and the two sums of the digest. */
function useSql(
  stored: StoredEvents & Pick<MeasureQuery, "without_digests">,
  { use, index }: PlacedUse,
  stretches: readonly PlacedStretch[],
  parameters: Parameters,
): string {
  const { meter } = use;
  const values = valuesSql(stored, use, stretches, parameters);
  const read = stored.without_digests ? values : `SELECT *, ${md5Sql("value")} AS md5 FROM (${values})`;
  const { first, second } = stored.without_digests ? { first: "NULL", second: "NULL" } : digestSums();
  return `SELECT ${index} AS use, position, part, (${aggregateSql(meter)})::VARCHAR AS value, count(value) AS events,
      count(*) - count(value) AS skipped, count(value) FILTER (usage < 0) AS corrections,
      ${first} AS first, ${second} AS second
    FROM (${meter.percentile === null ? read : rankedSql(read)}) GROUP BY position, part`;
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
