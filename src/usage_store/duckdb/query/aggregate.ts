import type { DuckDBConnection, DuckDBValue } from "@duckdb/node-api";
import { interleave, ROWS_A_TURN } from "../../../core/chunk.ts";
import { addRows, tooManyGroups } from "../../aggregate_rows.ts";
import { notKept } from "../../closed_usage.ts";
import { keptHoursSql } from "./kept_hours.ts";
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
} from "../../time_buckets.ts";
import {
  type AggregateQuery,
  type AggregateRow,
  type EventFilter,
  type GroupKind,
  metadataKeyOf,
} from "../../port.ts";
import { whereSql } from "./filters.ts";
import { groupTextSql, readScalar, storedGroupSql, TEXTS_OF_A_SCALAR } from "./metadata_sql.ts";
import { arePreferred, EVENT_SUMS, type GroupHours, hoursSql, keysOfValues, SUMS_OF_SUMS } from "./rollup.ts";
import { isByTime, type TimeRange } from "../../query/time_range.ts";
import { BY_SUBSCRIPTION, sumsNames } from "./sums_names.ts";
import type { Summed } from "../maintain/group_sums.ts";
import { asDecimal, asNumber, asText, Parameters, queryMany } from "../engine/sql.ts";

type Key = AggregateRow["keys"][number];

/** The SQL columns of a grouping, and the key read back from them. */
interface Grouping {
  columns: readonly Column[];
  key: (values: readonly DuckDBValue[]) => Key;
}

interface Column {
  name: string;
  sql: string;
}

/** Local time in SQL: the number of its hour or day since 1970, and its offset. */
interface Local {
  number: (unit_ms: number) => string;
  offset_ms: string;
}

/** What a query goes by. */
interface Known {
  /** Bounds the zone offsets to compute. */
  range: TimeRange;
  /** Whether few events are within the query's bounds of time. */
  has_few: boolean;
  /** What the group sums hold; without it they are not read. */
  summed?: Summed | undefined;
  /** Where the company's events begin: given, what was kept of the removed ones is summed, and no event. */
  since_ms?: number | undefined;
}

/** The groups of the matching events. */
export async function aggregate(
  connection: DuckDBConnection,
  wanted: AggregateQuery,
  known: Known,
): Promise<AggregateRow[]> {
  const parameters = new Parameters();
  const { sql, groupings } = groupsSql(wanted, known, parameters);
  const names = groupings.flatMap(({ columns }) => columns.map(({ name }) => name));
  const of_metadata = wanted.group_by.filter((kind) => metadataKeyOf(kind) !== undefined).length;
  const max_rows = wanted.max_groups * TEXTS_OF_A_SCALAR ** of_metadata;
  const rows = await queryMany(
    connection,
    `SELECT ${["total::VARCHAR", "events", "low::VARCHAR", "high::VARCHAR", ...names].join(", ")} FROM (${sql})
    LIMIT ${parameters.integer(max_rows + 1)}`,
    parameters,
    (row) => toAggregateRow(row, groupings),
  );
  const groups = of_metadata === 0 ? rows : await joined(rows);
  if (groups.length <= wanted.max_groups) return groups;
  throw tooManyGroups(wanted.max_groups);
}

/**
 * The sums of each group. With one offset from UTC the local hour or day of an event is one division. With several, and
 * for months, events are summed by slice of time first, and only slices are converted to local time.
 */
function groupsSql(
  wanted: AggregateQuery,
  { range, has_few, summed, since_ms }: Known,
  parameters: Parameters,
): { sql: string; groupings: Grouping[] } {
  const kinds = wanted.group_by;
  const is_timed = kinds.some(isTime);
  const segments = is_timed ? segmentsOf(wanted, range) : [];
  const slices = slicesOf(segments, kinds.includes("hour") ? HOUR_MS : DAY_MS);
  const by_time = isByTime(wanted) && kinds.every(isTime);
  const groups = by_time ? undefined : groupHoursOf(wanted, summed);
  if (since_ms !== undefined && !holdHours(slices)) throw notKept(since_ms, "by whole hours of UTC");
  const by_hour =
    since_ms !== undefined ||
    (holdHours(slices) && (by_time || groups !== undefined) && arePreferred(wanted, has_few));
  const at = by_hour ? `hour * ${HOUR_MS}` : "timestamp";
  const [sums, from] = by_hour
    ? [
        SUMS_OF_SUMS,
        `(${since_ms === undefined ? hoursSql(wanted, parameters, groups) : keptHoursSql(wanted, parameters)})`,
      ]
    : [EVENT_SUMS, `usage_events WHERE ${whereSql(wanted, parameters)}`];
  const [first] = segments;
  const is_sliced = is_timed && (segments.length > 1 || kinds.includes("month"));
  // A local day is found event by event: where the clock changes slices are hours, by subscription nearly as many as events.
  const by_day = is_sliced && !by_hour && !kinds.includes("hour") && segments.length <= FEW_SEGMENTS;
  const zoned = by_day ? DAY_LOCAL : zonedLocal;
  const local = is_sliced ? zoned : constantLocal(at, first?.offset_ms ?? 0);
  const { max_key_length } = wanted;
  const textOf = (key: string) =>
    by_hour ? storedGroupSql(max_key_length, parameters) : groupTextSql(key, max_key_length, parameters);
  const groupings = kinds.map((kind, i) => groupingOf(kind, i, local, textOf));
  if (!is_sliced) {
    const columns = groupings.flatMap((grouping) => grouping.columns).map(namedSql);
    return { sql: `SELECT ${[...columns, sums].join(", ")} FROM ${from} GROUP BY ALL`, groupings };
  }
  const of_events = groupings.flatMap(({ columns }, i) => (isTime(kinds[i]) ? [] : columns));
  const of_slices = groupings.flatMap(({ columns }, i) =>
    columns.map(({ name, sql }) => (isTime(kinds[i]) ? namedSql({ name, sql }) : name)),
  );
  if (by_day) {
    const day = `(${at} + ${offsetSql(at, segments)} + ${DAY_MS}) // ${DAY_MS} - 1 AS local_day`;
    const days = `SELECT ${[...of_events.map(namedSql), day, sums].join(", ")} FROM ${from} GROUP BY ALL`;
    return {
      sql: `SELECT ${[...of_slices, SUMS_OF_SUMS].join(", ")} FROM (${days}) GROUP BY ALL`,
      groupings,
    };
  }
  const { shift_ms, width_ms } = slices;
  // Sums by hour are slices already.
  const rows = by_hour
    ? `SELECT ${[...of_events.map(namedSql), `${at} AS slice_ms`].join(", ")}, total, events, low, high FROM ${from}`
    : `SELECT *, slice * ${width_ms} - ${shift_ms} AS slice_ms FROM (
        SELECT ${[...of_events.map(namedSql), `(${at} + ${shift_ms}) // ${width_ms} AS slice`, sums].join(", ")}
        FROM ${from} GROUP BY ALL)`;
  const sql = `SELECT ${[...of_slices, SUMS_OF_SUMS].join(", ")} FROM ${zonedSql(rows, segments, parameters)} GROUP BY ALL`;
  return { sql, groupings };
}

/** The names of the group sums that would suffice for the query, the fewest first; none when events must be read. */
export function sufficientSums(wanted: EventFilter & Pick<AggregateQuery, "group_by">): string[] {
  const grouped = wanted.group_by.map(metadataKeyOf).filter((key) => key !== undefined);
  const filtered = keysOfValues(wanted);
  const [key, ...others] = new Set([...grouped, ...(filtered ?? [])]);
  if (filtered === undefined || grouped.length > 1 || others.length > 0) return [];
  if (key === undefined) return [BY_SUBSCRIPTION];
  const is_whole = wanted.subscription_ids === undefined && !wanted.group_by.includes("subscription");
  return sumsNames(key).slice(is_whole ? 0 : 1);
}

/** The group sums that suffice for the query, if there are any. */
function groupHoursOf(wanted: AggregateQuery, summed: Summed | undefined): GroupHours | undefined {
  const present = summed?.keys.get(wanted.company_id);
  const name = sufficientSums(wanted).find((one) => present?.has(one) === true);
  return summed === undefined || name === undefined ? undefined : { name, seq: summed.seq };
}

function isTime(kind: GroupKind | undefined): kind is "day" | "hour" | "month" {
  return kind === "day" || kind === "hour" || kind === "month";
}

function namedSql({ name, sql }: Column): string {
  return sql === name ? name : `${sql} AS ${name}`;
}

function groupingOf(
  kind: GroupKind,
  position: number,
  local: Local,
  textOf: (metadata_key: string) => string,
): Grouping {
  const day = { name: "local_day", sql: local.number(DAY_MS) };
  if (kind === "day") return { columns: [day], key: ([number]) => dayText(asNumber(number)) };
  if (kind === "month") {
    const sql = `datediff('month', DATE '1970-01-01', DATE '1970-01-01' + (${day.sql})::INTEGER)`;
    return { columns: [{ name: "local_month", sql }], key: ([month]) => monthText(asNumber(month)) };
  }
  if (kind === "hour") {
    const hour = { name: "local_hour", sql: local.number(HOUR_MS) };
    return {
      columns: [hour, { name: "offset_ms", sql: local.offset_ms }],
      key: ([number, offset_ms]) => hourText(asNumber(number), asNumber(offset_ms)),
    };
  }
  const key = metadataKeyOf(kind);
  if (key === undefined) {
    const id = "subscription_id";
    return { columns: [{ name: id, sql: id }], key: ([value]) => asNumber(value) };
  }
  return {
    columns: [{ name: `metadata_${position}`, sql: textOf(key) }],
    key: ([text = null]) => (text === null ? null : readScalar(asText(text))),
  };
}

/** Local time of the instant `at`, with one offset. */
function constantLocal(at: string, offset_ms: number): Local {
  // The dividend must not be negative: the engine rounds towards zero.
  const raised_ms = offset_ms < 0 ? DAY_MS : 0;
  const shift_ms = offset_ms + raised_ms;
  return {
    number: (unit_ms) =>
      `${shift_ms === 0 ? at : `(${at} + ${shift_ms})`} // ${unit_ms} - ${raised_ms / unit_ms}`,
    offset_ms: `(${offset_ms})::BIGINT`,
  };
}

/** Local time of slices that have their offset. */
const zonedLocal: Local = {
  number: (unit_ms) => `(slice_ms + offset_ms + ${DAY_MS}) // ${unit_ms} - ${DAY_MS / unit_ms}`,
  offset_ms: "offset_ms",
};

/** Local time of sums by local day. */
const DAY_LOCAL: Local = { number: () => "local_day", offset_ms: "NULL" };

/** The segments of one offset in the query's time, as far as there are events. */
function segmentsOf({ time_zone, start_ms, end_ms }: AggregateQuery, range: TimeRange): OffsetSegment[] {
  const until_ms = Math.min(end_ms ?? Number.POSITIVE_INFINITY, range.max_timestamp + 1);
  const from_ms = Math.max(0, Math.min(Math.max(start_ms ?? 0, range.min_timestamp), range.max_timestamp));
  return offsetSegments(time_zone, from_ms, until_ms);
}

/** Whether every UTC hour lies in one slice. */
function holdHours({ width_ms, shift_ms }: Slices): boolean {
  return width_ms % HOUR_MS === 0 && shift_ms % HOUR_MS === 0;
}

/** Segments that are told apart by comparisons: they take a quarter of the time of a join, until they are many. */
const FEW_SEGMENTS = 64;

/** SQL of rows with the offset of their slice. */
function zonedSql(rows: string, segments: readonly OffsetSegment[], parameters: Parameters): string {
  if (segments.length > FEW_SEGMENTS)
    return `(${rows}) ASOF JOIN (${segmentsSql(segments, parameters)}) ON slice_ms >= start_ms`;
  return `(SELECT *, (${offsetSql("slice_ms", segments)})::BIGINT AS offset_ms FROM (${rows}))`;
}

/** SQL of the offset at an instant, by halves. */
function offsetSql(at: string, segments: readonly OffsetSegment[]): string {
  const half = Math.floor(segments.length / 2);
  const [first, middle] = [segments[0], segments[half]];
  if (first === undefined || middle === undefined || half === 0) return String(first?.offset_ms ?? 0);
  return `CASE WHEN ${at} < ${middle.start_ms} THEN ${offsetSql(at, segments.slice(0, half))}
    ELSE ${offsetSql(at, segments.slice(half))} END`;
}

/** The segments as a table. The first includes the slice that begins before it. */
function segmentsSql(segments: readonly OffsetSegment[], parameters: Parameters): string {
  const starts = segments.map(({ start_ms }, i) => (i === 0 ? start_ms - DAY_MS : start_ms));
  const offsets = segments.map(({ offset_ms }) => offset_ms);
  return `SELECT unnest(${parameters.integers(starts)}) AS start_ms,
    unnest(${parameters.integers(offsets)}) AS offset_ms`;
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

/** Merges the rows with the same keys. */
async function joined(rows: readonly AggregateRow[]): Promise<AggregateRow[]> {
  const groups = new Map<string, AggregateRow>();
  for await (const batch of interleave(rows, ROWS_A_TURN)) {
    for (const row of batch) {
      const { keys } = row;
      const text = JSON.stringify(keys);
      const known = groups.get(text);
      groups.set(text, known === undefined ? row : { keys, ...addRows([known, row]) });
    }
  }
  return [...groups.values()];
}
