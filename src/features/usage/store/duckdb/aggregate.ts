import type { DuckDBConnection, DuckDBValue } from "@duckdb/node-api";
import { AppError } from "../../../../core/errors.ts";
import {
  DAY_MS,
  dayText,
  HOUR_MS,
  hourText,
  monthText,
  type OffsetSegment,
  offsetSegments,
  slicesOf,
} from "../time_buckets.ts";
import type { AggregateQuery, AggregateRow, GroupKind } from "../usage_store.ts";
import { whereSql } from "./filters.ts";
import { asDecimal, asNumber, Parameters, query } from "./sql.ts";

/** The timestamps that the store holds, from the smallest to the largest. */
export interface TimeRange {
  min_timestamp: number;
  max_timestamp: number;
}

/** How a kind of group is computed in SQL, as integers, and read back. */
interface Grouping {
  columns: readonly string[];
  /** The ascending order of the groups, over the columns' names. */
  order: string;
  key: (values: readonly number[]) => number | string;
}

// local_day and local_hour count from 1970-01-01T00:00 local time.
const GROUPINGS: Record<GroupKind, Grouping> = {
  subscription: { columns: ["subscription_id"], order: "subscription_id", key: ([id = 0]) => id },
  day: { columns: ["local_day"], order: "local_day", key: ([day = 0]) => dayText(day) },
  month: { columns: ["local_month"], order: "local_month", key: ([month = 0]) => monthText(month) },
  hour: {
    columns: ["local_hour", "offset_ms"],
    order: `local_hour * ${HOUR_MS} - offset_ms, local_hour`,
    key: ([hour = 0, offset_ms = 0]) => hourText(hour, offset_ms),
  },
};

const EVENT_SUMS = "sum(usage) AS total, count(*) AS events, min(usage) AS low, max(usage) AS high";
const SLICE_SUMS = "sum(total) AS total, sum(events) AS events, min(low) AS low, max(high) AS high";

/** The groups of the events that match. `range` bounds what is worked out of the zone's rules. */
export async function aggregate(
  connection: DuckDBConnection,
  wanted: AggregateQuery,
  range: TimeRange,
): Promise<AggregateRow[]> {
  const parameters = new Parameters();
  const groupings = wanted.group_by.map((kind) => GROUPINGS[kind]);
  const columns = groupings.flatMap((grouping) => grouping.columns);
  const grouped = wanted.group_by.every((kind) => kind === "subscription")
    ? plainSql(wanted, columns, parameters)
    : localSql(wanted, columns, range, parameters);
  const sums = ["total::VARCHAR", "events", "low::VARCHAR", "high::VARCHAR"];
  const sql = `SELECT ${[...sums, ...columns].join(", ")}
    FROM (${grouped})
    ${columns.length > 0 ? `ORDER BY ${groupings.map((grouping) => grouping.order).join(", ")}` : ""}
    LIMIT ${parameters.integer(wanted.max_groups + 1)}`;
  const rows = await query(connection, sql, parameters);
  if (rows.length > wanted.max_groups) {
    throw new AppError(
      "invalid",
      `Cannot aggregate usage: there are over ${wanted.max_groups} groups; ` +
        "narrow it by time or subscription, or group by something coarser",
    );
  }
  return rows.map((row) => toAggregateRow(row, groupings));
}

function plainSql(wanted: AggregateQuery, columns: readonly string[], parameters: Parameters): string {
  const groupBy = columns.length > 0 ? `GROUP BY ${columns.join(", ")}` : "";
  return `SELECT ${[...columns, EVENT_SUMS].join(", ")} FROM usage_events
    WHERE ${whereSql(wanted, parameters)} ${groupBy}`;
}

/** Sums by slice of time first, one division an event; only the slices are then put into local time. */
function localSql(
  wanted: AggregateQuery,
  columns: readonly string[],
  range: TimeRange,
  parameters: Parameters,
): string {
  const until_ms = Math.min(wanted.end_ms ?? Number.POSITIVE_INFINITY, range.max_timestamp + 1);
  const from_ms = Math.max(
    0,
    Math.min(Math.max(wanted.start_ms ?? 0, range.min_timestamp), range.max_timestamp),
  );
  const segments = offsetSegments(wanted.time_zone, from_ms, until_ms);
  const { width_ms, shift_ms } = slicesOf(segments, wanted.group_by.includes("hour") ? HOUR_MS : DAY_MS);
  const by = columns.includes("subscription_id") ? "subscription_id, " : "";
  const width = parameters.integer(width_ms);
  const shift = parameters.integer(shift_ms);
  return `WITH
    slices AS (
      SELECT ${by}(timestamp + ${shift}) // ${width} AS slice, ${EVENT_SUMS} FROM usage_events
      WHERE ${whereSql(wanted, parameters)} GROUP BY ${by}slice),
    segments AS (${segmentsSql(segments, parameters)}),
    zoned AS (
      SELECT ${by}slice * ${width} - ${shift} + offset_ms AS local_ms, offset_ms, total, events, low, high
      FROM slices ASOF JOIN segments ON slice * ${width} - ${shift} >= start_ms),
    local AS (
      SELECT *, (local_ms + ${DAY_MS}) // ${HOUR_MS} - 24 AS local_hour,
        (local_ms + ${DAY_MS}) // ${DAY_MS} - 1 AS local_day,
        datediff('month', DATE '1970-01-01', DATE '1970-01-01' + local_day::INTEGER) AS local_month
      FROM zoned)
    SELECT ${columns.join(", ")}, ${SLICE_SUMS} FROM local GROUP BY ${columns.join(", ")}`;
}

/** The segments as a table. The first also takes the slice that begins before it. */
function segmentsSql(segments: readonly OffsetSegment[], parameters: Parameters): string {
  const starts = segments.map(({ start_ms }, i) => (i === 0 ? start_ms - DAY_MS : start_ms));
  const offsets = segments.map(({ offset_ms }) => offset_ms);
  return `SELECT unnest(${parameters.integers(starts)}) AS start_ms,
    unnest(${parameters.integers(offsets)}) AS offset_ms`;
}

function toAggregateRow(row: DuckDBValue[], groupings: readonly Grouping[]): AggregateRow {
  const [total, events, low, high, ...keys] = row;
  const numbers = keys.map(asNumber);
  return {
    keys: groupings.map(({ columns, key }) => key(numbers.splice(0, columns.length))),
    total_usage: total === null ? "0" : asDecimal(total),
    event_count: asNumber(events),
    min_usage: low === null ? null : asDecimal(low),
    max_usage: high === null ? null : asDecimal(high),
  };
}
