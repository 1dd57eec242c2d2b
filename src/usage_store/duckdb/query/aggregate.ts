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
  midnightsOf,
  monthText,
  type OffsetSegment,
  offsetSegments,
  type Slices,
  slicesOf,
} from "../../time_buckets.ts";
import { type AggregateQuery, type AggregateRow, type GroupKind, isTime, metadataKeyOf } from "../../port.ts";
import { whereSql } from "./filters.ts";
import { groupTextSql, readScalar, storedGroupSql, TEXTS_OF_A_SCALAR } from "./metadata_sql.ts";
import { type GroupRows, groupRowsSql, valueColumn } from "./group_rows.ts";
import { arePreferred, EVENT_SUMS, hoursSql, SUMS_OF_SUMS } from "./rollup.ts";
import { isByTime, type TimeRange } from "../../query/time_range.ts";
import { type Cuts, groupRowsOf } from "./sums_choice.ts";
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
  const segments = segmentsOf(wanted, range);
  const slices = slicesOf(segments, kinds.includes("hour") ? HOUR_MS : DAY_MS);
  if (since_ms !== undefined && !holdHours(slices)) throw notKept(since_ms, "by whole hours of UTC");
  const cuts = cutsOf(wanted, range, segments);
  const { sums, from, at, group_rows } = sourceOf(
    wanted,
    { range, has_few, summed, since_ms },
    cuts,
    parameters,
  );
  const is_of_events = at === "timestamp";
  const [first] = segments;
  const is_sliced = is_timed && (segments.length > 1 || kinds.includes("month"));
  // A local day is found row by row: where the clock changes slices are hours, by subscription nearly as many as events.
  const by_day =
    is_sliced &&
    (is_of_events || group_rows !== undefined) &&
    !kinds.includes("hour") &&
    segments.length <= FEW_SEGMENTS;
  const zoned = by_day ? DAY_LOCAL : zonedLocal;
  const local = is_sliced ? zoned : constantLocal(at, first?.offset_ms ?? 0);
  const { max_key_length } = wanted;
  const textOf = (key: string) =>
    group_rows === undefined
      ? groupTextSql(key, max_key_length, parameters)
      : storedGroupSql(valueColumn(group_rows, key), max_key_length, parameters);
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
  // Sums are slices already.
  const rows = !is_of_events
    ? `SELECT ${[...of_events.map(namedSql), `${at} AS slice_ms`].join(", ")}, total, events, low, high FROM ${from}`
    : `SELECT *, slice * ${width_ms} - ${shift_ms} AS slice_ms FROM (
        SELECT ${[...of_events.map(namedSql), `(${at} + ${shift_ms}) // ${width_ms} AS slice`, sums].join(", ")}
        FROM ${from} GROUP BY ALL)`;
  const sql = `SELECT ${[...of_slices, SUMS_OF_SUMS].join(", ")} FROM ${zonedSql(rows, segments, parameters)} GROUP BY ALL`;
  return { sql, groupings };
}

/** What is added up: SQL of the rows, of when they are and of their sums; `group_rows` where these are group sums. */
interface Source {
  from: string;
  at: string;
  sums: string;
  group_rows?: GroupRows;
}

function ofHours(sql: string): Source {
  return { from: `(${sql})`, at: `hour * ${HOUR_MS}`, sums: SUMS_OF_SUMS };
}

function sourceOf(wanted: AggregateQuery, known: Known, cuts: Cuts, parameters: Parameters): Source {
  const { has_few, summed, since_ms } = known;
  if (since_ms !== undefined) return ofHours(keptHoursSql(wanted, parameters));
  if (arePreferred(wanted, has_few)) {
    const is_by_time = isByTime(wanted) && wanted.group_by.every(isTime);
    if (is_by_time && cuts.hold_hours) return ofHours(hoursSql(wanted, parameters));
    const group_rows = groupRowsOf(wanted, cuts, summed);
    if (group_rows !== undefined) {
      const from = `(${groupRowsSql(wanted, group_rows, parameters)})`;
      return { from, at: "at_ms", sums: SUMS_OF_SUMS, group_rows };
    }
  }
  return { from: `usage_events WHERE ${whereSql(wanted, parameters)}`, at: "timestamp", sums: EVENT_SUMS };
}

/** Local days beyond which sums by day are not read. */
const MAX_DAYS = 4_000;

/** How a query cuts its time: by hours, by local days, of which months are made, or not at all. */
export function cutsOf(wanted: AggregateQuery, range: TimeRange, segments = segmentsOf(wanted, range)): Cuts {
  const { group_by, start_ms, end_ms } = wanted;
  const by_hour = group_by.includes("hour");
  const hold_hours = holdHours(slicesOf(segments, by_hour ? HOUR_MS : DAY_MS));
  if (by_hour) return { hold_hours };
  if (segments.length === 0)
    return { hold_hours, edges: [start_ms ?? Number.NEGATIVE_INFINITY, end_ms ?? Number.POSITIVE_INFINITY] };
  const until_ms = Math.min(end_ms ?? Number.POSITIVE_INFINITY, range.max_timestamp + 1);
  const midnights = midnightsOf(segments, until_ms, MAX_DAYS) ?? [];
  const [first, last] = [midnights[0], midnights.at(-1)];
  if (first === undefined || last === undefined) return { hold_hours };
  // Whole days at both ends, or more where the clock changes on one of them.
  const from_ms = start_ms ?? Math.min(first - DAY_MS, segments[0]?.start_ms ?? 0);
  return { hold_hours, edges: [from_ms, ...midnights, end_ms ?? Math.max(last + DAY_MS, until_ms)] };
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

/** The segments of one offset in the query's time, as far as there are events; none where it is not grouped by time. */
function segmentsOf(
  { group_by, time_zone, start_ms, end_ms }: AggregateQuery,
  range: TimeRange,
): OffsetSegment[] {
  if (!group_by.some(isTime)) return [];
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
