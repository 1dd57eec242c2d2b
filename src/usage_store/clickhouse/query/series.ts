import { type Decimal, quotient } from "../../../core/money.ts";
import type { EventFilter } from "../../port.ts";
import type { SeriesGrouping, SeriesKey, SeriesLine, SeriesQuery, SeriesResult } from "../../series.ts";
import { HOUR_MS } from "../../time_buckets.ts";
import type { Bounds, ClickHouse } from "../engine/engine.ts";
import {
  asDecimal,
  asNumber,
  asText,
  integer,
  integers,
  type Row,
  texts,
  type Value,
} from "../engine/sql.ts";
import { bucketSql } from "../../query/bucket_sql.ts";
import { EVENT_SUMS, type Source, SUMS_OF_SUMS } from "./aggregate.ts";
import { HOUR, hoursWhereSql, isByHour } from "./filters.ts";
import { groupTextSql, scalarSql } from "./metadata_sql.ts";

/** The events of all buckets. */
export function filterOf({
  edges,
  ...filter
}: SeriesQuery): EventFilter & { start_ms: number; end_ms: number } {
  return { ...filter, start_ms: edges[0] ?? 0, end_ms: edges.at(-1) ?? 0 };
}

/** What the engine has of events by the hour, if that answers a series. */
export function hoursOf(wanted: SeriesQuery): Source | undefined {
  const filter = filterOf(wanted);
  const is_plain = wanted.group_by.length === 0 && !countsSubscriptions(wanted) && isByHour(filter);
  if (!is_plain || wanted.edges.some((edge) => edge % HOUR_MS !== 0)) return undefined;
  return {
    from: `usage_events WHERE ${hoursWhereSql(filter)}`,
    at: `${HOUR} * ${HOUR_MS}`,
    sums: EVENT_SUMS,
  };
}

/**
 * A measure over time, of a source that stays the same: the groups with the most are found by one statement, and all is
 * summed by these in another.
 */
export async function series(
  engine: ClickHouse,
  wanted: SeriesQuery,
  source: Source,
  bounds: Bounds,
): Promise<SeriesResult> {
  const rows = rowsSql(wanted, source);
  const { shown, group_count } = await groupsOf(engine, wanted, rows, bounds);
  const found = await engine.ask(linesSql(wanted, shown, rows), bounds);
  const lines = Map.groupBy(found, ([place]) => asNumber(place));
  const lineOf = (place: number, keys: readonly SeriesKey[]) =>
    readLine(wanted, keys, lines.get(place) ?? []);
  const has_groups = wanted.group_by.length > 0;
  const everything = lines.get(EVERYTHING) ?? [];
  return {
    groups: has_groups ? shown.map((keys, i) => lineOf(i + 1, keys)) : [],
    other: has_groups && lines.has(shown.length + 1) ? lineOf(shown.length + 1, []) : null,
    total: lineOf(EVERYTHING, []),
    group_count,
    read: asNumber(everything.find(isOfAllTime)?.[7] ?? 0),
  };
}

/** The place of the line of everything, and the bucket of all time. */
const EVERYTHING = 0;
const ALL_TIME = -1;

const isOfAllTime = ([, bucket]: Row): boolean => asNumber(bucket) === ALL_TIME;

function countsSubscriptions({ measure }: SeriesQuery): boolean {
  return measure === "active_subscriptions";
}

/** SQL of sums by bucket and group, some of several rows: bucket, g0, g1, [subscription_id,] total, events, low, high, read. */
function rowsSql(wanted: SeriesQuery, { from, at, sums }: Source): string {
  const bucket = `toInt64(${bucketSql(at, wanted.edges, (dividend, divisor) => `intDiv(${dividend}, ${divisor})`)}) AS bucket`;
  const names = wanted.group_by.map((_, i) => `g${i}`);
  // Labels are looked up for subscriptions, not for each event.
  const keys = wanted.group_by.map(({ by }, i) => (by === "metadata" ? `g${i}` : "subscription_id"));
  const by = [...new Set([...keys, ...(countsSubscriptions(wanted) ? ["subscription_id"] : [])])];
  const columns = by.map((key) => {
    const grouping = wanted.group_by[names.indexOf(key)];
    return grouping === undefined ? key : `${groupSql(wanted, grouping)} AS ${key}`;
  });
  const rows = `SELECT ${[bucket, ...columns].join(", ")}, ${sums}, count() AS read FROM ${from}
    GROUP BY ${["bucket", ...by].join(", ")}`;
  const labels = wanted.group_by.flatMap((grouping, i) =>
    grouping.by === "metadata" ? [] : [`${groupSql(wanted, grouping)} AS g${i}`],
  );
  return labels.length === 0 ? rows : `SELECT *, ${labels.join(", ")} FROM (${rows})`;
}

function groupSql({ max_key_length }: SeriesQuery, grouping: SeriesGrouping): string {
  if (grouping.by === "metadata") return groupTextSql(scalarSql(grouping.key), max_key_length);
  if (grouping.labels === undefined) return "toNullable(toInt64(subscription_id))";
  if (grouping.labels.size === 0) return "CAST(NULL, 'Nullable(Int64)')";
  const [ids, labels] = [grouping.labels.keys(), grouping.labels.values()].map((list) => integers([...list]));
  return `nullIf(transform(toInt64(subscription_id), ${ids}, ${labels}, ${NO_LABEL}), ${NO_LABEL})`;
}

/** A number that no label is. */
const NO_LABEL = "toInt64(-9223372036854775808)";

/** What groups are ranked by. */
const RANKS: Readonly<Record<SeriesQuery["measure"], string>> = {
  units: "total DESC",
  events: "events DESC",
  // In whole millionths, half away from zero.
  mean: `sign(total) * intDiv(2 * abs(toInt256(toDecimal256(total, 6) * 1000000)) + toInt256(events),
    2 * toInt256(events)) DESC`,
  smallest: "low ASC",
  largest: "high DESC",
  active_subscriptions: "subscriptions DESC",
};

/** The groups to show, and how many there are. */
async function groupsOf(
  engine: ClickHouse,
  { group_by, measure, by_events, top, only }: SeriesQuery,
  rows: string,
  bounds: Bounds,
): Promise<{ shown: readonly (readonly SeriesKey[])[]; group_count: number }> {
  if (group_by.length === 0) return { shown: [[]], group_count: 0 };
  const names = group_by.map((_, i) => `g${i}`).join(", ");
  if (only !== undefined) {
    const counted = `SELECT count() FROM (SELECT ${names} FROM (${rows}) GROUP BY ${names})`;
    const [[groups = 0] = []] = await engine.ask(counted, bounds);
    return { shown: only, group_count: asNumber(groups) };
  }
  const counts = measure === "active_subscriptions" ? ", uniqExact(subscription_id) AS subscriptions" : "";
  const order = group_by.map((_, i) => `g${i} ASC NULLS LAST`).join(", ");
  const found = await engine.ask(
    `SELECT ${names}, count() OVER () AS groups FROM (
      SELECT ${names}, ${SUMS_OF_SUMS}${counts} FROM (${rows}) GROUP BY ${names})
    ORDER BY ${RANKS[by_events === true ? "events" : measure]}, ${order} LIMIT ${integer(Math.max(top, 1))}`,
    bounds,
  );
  const group_count = asNumber(found[0]?.[group_by.length] ?? 0);
  const shown = found.slice(0, top).map((row) => group_by.map(({ by }, i) => keyOf(by, row[i] ?? null)));
  return { shown, group_count };
}

function keyOf(by: SeriesGrouping["by"], key: Value): SeriesKey {
  if (key === null) return null;
  return by === "metadata" ? asText(key) : asNumber(key);
}

/**
 * SQL of the answer: place, bucket, total, events, low, high, subscriptions, read. Places are those of the groups shown, from
 * 1, one more of all others, and 0 of everything.
 */
function linesSql(wanted: SeriesQuery, shown: readonly (readonly SeriesKey[])[], rows: string): string {
  const subscriptions = countsSubscriptions(wanted) ? "uniqExact(subscription_id)" : "toUInt64(0)";
  const others = shown.length + 1;
  const known = texts(shown.map((keys) => nameOf(keys.map(textOf))));
  const name = nameSql(wanted.group_by.map((_, i) => `ifNull(concat('v', toString(g${i})), 'n')`));
  const found = `indexOf(${known}, ${name})`;
  const place = wanted.group_by.length === 0 ? "1" : `if(${found} = 0, ${others}, ${found})`;
  return `SELECT if(grouping(place) = 1, toInt64(${EVERYTHING}), place) AS of_place,
      if(grouping(bucket) = 1, toInt64(${ALL_TIME}), bucket) AS of_bucket,
      sum(total), sum(events), min(low), max(high), ${subscriptions}, sum(read)
    FROM (SELECT toInt64(${place}) AS place, * FROM (${rows}))
    GROUP BY GROUPING SETS ((place, bucket), (place), (bucket), ())`;
}

/** A key as text, so that none is another's. */
function textOf(key: SeriesKey): string {
  return key === null ? "n" : `v${key}`;
}

/** The texts of one or two keys as one. */
function nameOf([first = "", second]: readonly string[]): string {
  return second === undefined ? first : `${Buffer.byteLength(first)}:${first}${second}`;
}

/** SQL of `nameOf`. */
function nameSql([first = "''", second]: readonly string[]): string {
  return second === undefined ? first : `concat(toString(length(${first})), ':', ${first}, ${second})`;
}

function readLine(wanted: SeriesQuery, keys: readonly SeriesKey[], rows: readonly Row[]): SeriesLine {
  const { measure } = wanted;
  const buckets = new Map<number, Decimal>();
  let [value, events]: [Decimal | null, number] = [isCount(measure) ? "0" : null, 0];
  for (const row of rows) {
    const measured = measureOf(measure, row);
    if (measured === null) continue;
    if (!isOfAllTime(row)) buckets.set(asNumber(row[1]), measured);
    else [value, events] = [measured, asNumber(row[3])];
  }
  return { keys, value, events, buckets };
}

const isCount = (measure: SeriesQuery["measure"]) =>
  measure === "units" || measure === "events" || measure === "active_subscriptions";

/** The measure of sums; null of no events. */
function measureOf(measure: SeriesQuery["measure"], row: Row): Decimal | null {
  const [, , total, events, low, high, subscriptions] = row;
  if (asNumber(events) === 0) return null;
  if (measure === "events") return asText(events);
  if (measure === "active_subscriptions") return asText(subscriptions);
  if (measure === "mean") return quotient(asDecimal(total), asText(events), 6);
  return asDecimal(measure === "units" ? total : measure === "smallest" ? low : high);
}
