import type { DuckDBConnection, DuckDBValue } from "@duckdb/node-api";
import { AppError } from "../../../../core/errors.ts";
import { addRows } from "../aggregate_rows.ts";
import {
  DAY_MS,
  dayText,
  HOUR_MS,
  hourText,
  monthText,
  type OffsetSegment,
  offsetSegments,
  type Slices,
  slicesOf,
} from "../time_buckets.ts";
import { type AggregateQuery, type AggregateRow, type GroupKind, metadataKeyOf } from "../usage_store.ts";
import { whereSql } from "./filters.ts";
import { groupTextSql, readScalar, TEXTS_OF_A_SCALAR } from "./metadata_sql.ts";
import { EVENT_SUMS, hoursSql, isByTime, SUMS_OF_SUMS, type TimeRange } from "./rollup.ts";
import { asDecimal, asNumber, asText, Parameters, query } from "./sql.ts";

type Key = AggregateRow["keys"][number];

/** How a kind of group is computed in SQL and read back. */
interface Grouping {
  /** Its columns; of times they are made from slices of time, of others `of_events` tells what they are. */
  columns: readonly string[];
  of_events?: string;
  key: (values: readonly DuckDBValue[]) => Key;
}

// local_day and local_hour count from 1970-01-01T00:00 local time.
const TIMES: Record<"day" | "hour" | "month", Grouping> = {
  day: { columns: ["local_day"], key: ([day]) => dayText(asNumber(day)) },
  month: { columns: ["local_month"], key: ([month]) => monthText(asNumber(month)) },
  hour: {
    columns: ["local_hour", "offset_ms"],
    key: ([hour, offset_ms]) => hourText(asNumber(hour), asNumber(offset_ms)),
  },
};

/** The groups of the events that match. `range` bounds what is worked out of the zone's rules. */
export async function aggregate(
  connection: DuckDBConnection,
  wanted: AggregateQuery,
  range: TimeRange,
): Promise<AggregateRow[]> {
  const parameters = new Parameters();
  const groupings = wanted.group_by.map((kind, i) => groupingOf(kind, i, wanted, parameters));
  const columns = groupings.flatMap((grouping) => grouping.columns);
  const of_metadata = wanted.group_by.filter((kind) => metadataKeyOf(kind) !== undefined).length;
  const max_rows = wanted.max_groups * TEXTS_OF_A_SCALAR ** of_metadata;
  const sql = `SELECT ${["total::VARCHAR", "events", "low::VARCHAR", "high::VARCHAR", ...columns].join(", ")}
    FROM (${groupsSql(wanted, groupings, range, parameters)}) LIMIT ${parameters.integer(max_rows + 1)}`;
  const rows = (await query(connection, sql, parameters)).map((row) => toAggregateRow(row, groupings));
  const groups = of_metadata === 0 ? rows : joined(rows);
  if (groups.length <= wanted.max_groups) return groups;
  throw new AppError(
    "invalid",
    `Cannot aggregate usage: there are over ${wanted.max_groups} groups; ` +
      "narrow it by time or subscription, or group by something coarser",
  );
}

function groupingOf(
  kind: GroupKind,
  position: number,
  { max_key_length }: AggregateQuery,
  parameters: Parameters,
): Grouping {
  if (kind === "day" || kind === "hour" || kind === "month") return TIMES[kind];
  const key = metadataKeyOf(kind);
  if (key === undefined) {
    return { columns: ["subscription_id"], of_events: "subscription_id", key: ([id]) => asNumber(id) };
  }
  const column = `metadata_${position}`;
  return {
    columns: [column],
    of_events: `${groupTextSql(key, max_key_length, parameters)} AS ${column}`,
    key: ([text = null]) => (text === null ? null : readScalar(asText(text))),
  };
}

function groupsSql(
  wanted: AggregateQuery,
  groupings: readonly Grouping[],
  range: TimeRange,
  parameters: Parameters,
): string {
  if (groupings.every(({ of_events }) => of_events !== undefined)) {
    return sumsSql(wanted, groupings, undefined, parameters);
  }
  const until_ms = Math.min(wanted.end_ms ?? Number.POSITIVE_INFINITY, range.max_timestamp + 1);
  const from_ms = Math.max(
    0,
    Math.min(Math.max(wanted.start_ms ?? 0, range.min_timestamp), range.max_timestamp),
  );
  const segments = offsetSegments(wanted.time_zone, from_ms, until_ms);
  const slices = slicesOf(segments, wanted.group_by.includes("hour") ? HOUR_MS : DAY_MS);
  const columns = groupings.flatMap((grouping) => grouping.columns).join(", ");
  return `WITH
    slices AS (${sumsSql(wanted, groupings, slices, parameters)}),
    zoned AS (
      SELECT *, slice_ms + offset_ms AS local_ms
      FROM (SELECT *, slice * ${slices.width_ms} - ${slices.shift_ms} AS slice_ms FROM slices)
      ${segmentsSql(segments, parameters)}),
    local AS (
      SELECT *, (local_ms + ${DAY_MS}) // ${HOUR_MS} - 24 AS local_hour,
        (local_ms + ${DAY_MS}) // ${DAY_MS} - 1 AS local_day,
        datediff('month', DATE '1970-01-01', DATE '1970-01-01' + local_day::INTEGER) AS local_month
      FROM zoned)
    SELECT ${columns}, ${SUMS_OF_SUMS} FROM local GROUP BY ${columns}`;
}

/** Sums by what the events tell, and by slice of time where there are slices: one division an event. */
function sumsSql(
  wanted: AggregateQuery,
  groupings: readonly Grouping[],
  slices: Slices | undefined,
  parameters: Parameters,
): string {
  const columns = groupings.flatMap(({ of_events }) => of_events ?? []);
  const by_hour = columns.length === 0 && isByTime(wanted) && (slices === undefined || holdHours(slices));
  if (slices !== undefined) {
    const at = by_hour ? `hour * ${HOUR_MS}` : "timestamp";
    const shifted = slices.shift_ms === 0 ? at : `(${at} + ${slices.shift_ms})`;
    columns.push(`${shifted} // ${slices.width_ms} AS slice`);
  }
  const [sums, from] = by_hour
    ? [SUMS_OF_SUMS, `(${hoursSql(wanted, parameters)})`]
    : [EVENT_SUMS, `usage_events WHERE ${whereSql(wanted, parameters)}`];
  return `SELECT ${[...columns, sums].join(", ")} FROM ${from} GROUP BY ALL`;
}

/** Whether every UTC hour lies in one slice. */
function holdHours({ width_ms, shift_ms }: Slices): boolean {
  return width_ms % HOUR_MS === 0 && shift_ms % HOUR_MS === 0;
}

/** Joins each slice with its segment's offset. The first segment also takes the slice that begins before it. */
function segmentsSql(segments: readonly OffsetSegment[], parameters: Parameters): string {
  const [first] = segments;
  if (segments.length === 1 && first) return `, (SELECT ${parameters.integer(first.offset_ms)} AS offset_ms)`;
  const starts = segments.map(({ start_ms }, i) => (i === 0 ? start_ms - DAY_MS : start_ms));
  const offsets = segments.map(({ offset_ms }) => offset_ms);
  return `ASOF JOIN (SELECT unnest(${parameters.integers(starts)}) AS start_ms,
    unnest(${parameters.integers(offsets)}) AS offset_ms) ON slice_ms >= start_ms`;
}

function toAggregateRow(row: DuckDBValue[], groupings: readonly Grouping[]): AggregateRow {
  const [total, events, low, high, ...values] = row;
  return {
    keys: groupings.map(({ columns, key }) => key(values.splice(0, columns.length))),
    total_usage: total === null ? "0" : asDecimal(total),
    event_count: asNumber(events),
    min_usage: low === null ? null : asDecimal(low),
    max_usage: high === null ? null : asDecimal(high),
  };
}

/** Makes one row of those that have the same keys. */
function joined(rows: readonly AggregateRow[]): AggregateRow[] {
  const groups = Map.groupBy(rows, ({ keys }) => JSON.stringify(keys));
  return [...groups.values()].flatMap((group) => {
    const [first] = group;
    if (first === undefined || group.length === 1) return group;
    return { keys: first.keys, ...addRows(group) };
  });
}
