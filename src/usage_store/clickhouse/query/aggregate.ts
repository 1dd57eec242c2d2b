import { tooManyGroups } from "../../aggregate_rows.ts";
import { type AggregateQuery, type AggregateRow, type GroupKind, metadataKeyOf } from "../../port.ts";
import {
  DAY_MS,
  dayText,
  HOUR_MS,
  hourText,
  monthText,
  type OffsetSegment,
  offsetSegments,
  slicesOf,
} from "../../time_buckets.ts";
import type { Bounds, ClickHouse } from "../engine/engine.ts";
import { asDecimal, asNumber, asText, integer, type Value } from "../engine/sql.ts";
import { HOUR, hoursWhereSql, isByHour, whereSql } from "./filters.ts";
import { monthSql, numberSql, offsetSql } from "./local_time.ts";
import { groupTextSql, scalarSql } from "./metadata_sql.ts";
import { timesOf } from "./times.ts";

/** A grouping: its columns of events or slices, and the key that is read from them. */
interface Grouping {
  columns: readonly string[];
  key: (values: readonly Value[]) => number | string | null;
}

/** The sums of rows, and what they are the sums of. */
export interface Source {
  from: string;
  /** SQL of the instant of a row. */
  at: string;
  sums: string;
}

export const EVENT_SUMS = "sum(usage) AS total, count() AS events, min(usage) AS low, max(usage) AS high";
export const SUMS_OF_SUMS = "sum(total) AS total, sum(events) AS events, min(low) AS low, max(high) AS high";

/** The groups of the matching events. */
export async function aggregate(
  engine: ClickHouse,
  asked: AggregateQuery,
  bounds: Bounds,
): Promise<AggregateRow[]> {
  const is_timed = asked.group_by.some(isTime);
  const wanted = is_timed ? await timesOf(engine, asked, bounds) : asked;
  if (wanted === undefined) return [];
  return sumGroups(engine, wanted, sourceOf(wanted), bounds);
}

/** What a query is added up from: the events, or what the engine has of them by the hour. */
function sourceOf(wanted: AggregateQuery): Source {
  const by_hour = isByHour(wanted) && wanted.group_by.every(isTime) && holdHours(wanted);
  return by_hour
    ? { from: `usage_events WHERE ${hoursWhereSql(wanted)}`, at: `${HOUR} * ${HOUR_MS}`, sums: EVENT_SUMS }
    : { from: `usage_events WHERE ${whereSql(wanted)}`, at: "timestamp", sums: EVENT_SUMS };
}

/** Sums a source by the groups of a query. Errors: invalid when there are too many. */
export async function sumGroups(
  engine: ClickHouse,
  wanted: AggregateQuery,
  { from, at, sums }: Source,
  bounds: Bounds,
): Promise<AggregateRow[]> {
  const segments = segmentsOf(wanted);
  const { width_ms, shift_ms } = slicesOf(segments, wanted.group_by.includes("hour") ? HOUR_MS : DAY_MS);
  const groupings = wanted.group_by.map((kind, i) => groupingOf(kind, i, segments));
  // Slices of one offset each, as only they meet the zone's rules.
  const slice = `intDiv(${at} + ${integer(shift_ms)}, ${integer(width_ms)}) * ${integer(width_ms)} - ${integer(shift_ms)}`;
  const names = wanted.group_by.flatMap((kind, i) => (isTime(kind) ? [] : namesOf(kind, i)));
  const inner = [
    ...wanted.group_by.flatMap((kind, i) => (isTime(kind) ? [] : columnsOf(kind, i, wanted))),
    ...(wanted.group_by.some(isTime) ? [`${slice} AS slice_ms`] : []),
  ];
  const inner_names = [...names, ...(wanted.group_by.some(isTime) ? ["slice_ms"] : [])];
  const grouped = inner_names.length === 0 ? "" : `GROUP BY ${inner_names.join(", ")}`;
  const rows = `SELECT ${[...inner, sums].join(", ")} FROM ${from} ${grouped}`;
  const columns = groupings.flatMap((grouping) => grouping.columns);
  const keys = columns.map((column, i) => `${column} AS k${i}`);
  const by = columns.length === 0 ? "" : `GROUP BY ${columns.map((_, i) => `k${i}`).join(", ")}`;
  const found = await engine.ask(
    `SELECT ${[...keys, "sum(total)", "sum(events)", "min(low)", "max(high)"].join(", ")}
    FROM (${rows}) ${by} LIMIT ${integer(wanted.max_groups + 1)}`,
    bounds,
  );
  if (found.length > wanted.max_groups) throw tooManyGroups(wanted.max_groups);
  return found.map((row) => {
    const values = [...row];
    const group_keys = groupings.map(({ columns: own, key }) => key(values.splice(0, own.length)));
    const [total, events, low, high] = values;
    const event_count = asNumber(events);
    return {
      keys: group_keys,
      total_usage: asDecimal(total),
      event_count,
      min_usage: event_count === 0 ? null : asDecimal(low),
      max_usage: event_count === 0 ? null : asDecimal(high),
    };
  });
}

export function isTime(kind: GroupKind): kind is "day" | "hour" | "month" {
  return kind === "day" || kind === "hour" || kind === "month";
}

function namesOf(kind: GroupKind, position: number): string[] {
  return [kind === "subscription" ? "subscription_id" : `metadata_${position}`];
}

function columnsOf(kind: GroupKind, position: number, { max_key_length }: AggregateQuery): string[] {
  const key = metadataKeyOf(kind);
  if (key === undefined) return ["subscription_id"];
  return [`${groupTextSql(scalarSql(key), max_key_length)} AS metadata_${position}`];
}

function groupingOf(kind: GroupKind, position: number, segments: readonly OffsetSegment[]): Grouping {
  const offset = offsetSql("slice_ms", segments);
  const day = numberSql("slice_ms", offset, DAY_MS);
  if (kind === "day") return { columns: [day], key: ([number]) => dayText(asNumber(number)) };
  if (kind === "month") return { columns: [monthSql(day)], key: ([month]) => monthText(asNumber(month)) };
  if (kind === "hour")
    return {
      columns: [numberSql("slice_ms", offset, HOUR_MS), offset],
      key: ([number, offset_ms]) => hourText(asNumber(number), asNumber(offset_ms)),
    };
  const [name = ""] = namesOf(kind, position);
  if (kind === "subscription") return { columns: [name], key: ([id]) => asNumber(id) };
  return { columns: [name], key: ([text = null]) => (text === null ? null : asText(text)) };
}

/** The segments of one offset in the query's time, which has both bounds where it is grouped by time. */
function segmentsOf({ group_by, time_zone, start_ms = 0, end_ms = 1 }: AggregateQuery): OffsetSegment[] {
  return group_by.some(isTime) ? offsetSegments(time_zone, start_ms, end_ms) : [];
}

/** Whether every UTC hour lies in one slice. */
export function holdHours(wanted: AggregateQuery): boolean {
  if (!wanted.group_by.some(isTime)) return true;
  const unit_ms = wanted.group_by.includes("hour") ? HOUR_MS : DAY_MS;
  const { width_ms, shift_ms } = slicesOf(segmentsOf(wanted), unit_ms);
  return width_ms % HOUR_MS === 0 && shift_ms % HOUR_MS === 0;
}
