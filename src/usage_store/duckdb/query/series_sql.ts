import type { EventFilter } from "../../port.ts";
import type { SeriesGrouping, SeriesKey, SeriesQuery } from "../../series.ts";
import { HOUR_MS } from "../../time_buckets.ts";
import { whereSql } from "./filters.ts";
import { keptHoursSql } from "./kept_hours.ts";
import { cutTextSql, valueSql } from "./metadata_sql.ts";
import { type GroupRows, groupRowsSql, valueColumn } from "./group_rows.ts";
import { hoursSql } from "./rollup.ts";
import { bucketSql } from "../../query/bucket_sql.ts";
import type { Parameters } from "../engine/sql.ts";

// A series in SQL, in two steps. Its rows are sums by bucket and group; its answer are the rows of the top groups, of all
// others together and of everything, in each bucket and over all.

/** What rows are added up from: events, sums by hour, or group sums; with `kept` what stayed of removed events too. */
export type SeriesSource =
  | { kind: "events" }
  | { kind: "hours" }
  | { kind: "groups"; rows: GroupRows }
  /** The first of all events came at `first_ms`: an edge may lie in its hour, before it. */
  | { kind: "kept"; first_ms: number };

/** SQL of the rows: bucket, g0, g1, [subscription_id,] the sums that the measure needs, and read. */
export function rowsSql(
  wanted: SeriesQuery,
  filter: EventFilter,
  source: SeriesSource,
  parameters: Parameters,
): string {
  const parts = partsSql(wanted, filter, source, parameters);
  const { group_by, max_key_length } = wanted;
  // Values are cut once for each group, and not for each event.
  const is_whole = parts.length === 1 && group_by.every(({ by }) => by === "subscription");
  if (is_whole) return parts.join();
  const groups = group_by.map(({ by }, i) =>
    by === "metadata" ? `${cutTextSql(`g${i}`, max_key_length, parameters)} AS g${i}` : `g${i}`,
  );
  const columns = ["bucket", ...groups, ...(countsSubscriptions(wanted) ? ["subscription_id"] : [])];
  return `SELECT ${[...columns, ...sumsOf(wanted)].join(", ")}, sum(read) AS read
    FROM (${parts.join(" UNION ALL ")}) GROUP BY ALL`;
}

/** The sums that a measure needs, beside the number of events: what it needs not takes a quarter of the time. */
const NEEDED: Record<SeriesQuery["measure"], readonly ("total" | "low" | "high")[]> = {
  units: ["total"],
  events: [],
  mean: ["total"],
  smallest: ["low"],
  largest: ["high"],
  active_subscriptions: [],
};

/** SQL of the sums of events. */
function sumsOfEvents({ measure }: SeriesQuery): string[] {
  const of_usage = { total: "sum(usage)", low: "min(usage)", high: "max(usage)" };
  return ["count(*) AS events", ...NEEDED[measure].map((name) => `${of_usage[name]} AS ${name}`)];
}

/** SQL of the sums of sums. */
function sumsOf({ measure }: SeriesQuery): string[] {
  const of_sums = { total: "sum(total)", low: "min(low)", high: "max(high)" };
  return [
    "coalesce(sum(events), 0) AS events",
    ...NEEDED[measure].map((name) => `${of_sums[name]} AS ${name}`),
  ];
}

const noValue = () => "''";

/** A bucket that is the same for all is no group: the engine would answer a sum of nothing. */
const NOT_OF_NOTHING = "HAVING count(*) > 0";

/** SQL of rows as those of the answer, but that values are whole; in parts that may have the same groups. */
function partsSql(
  wanted: SeriesQuery,
  filter: EventFilter,
  source: SeriesSource,
  parameters: Parameters,
): string[] {
  const ofHours = (sql: string, at = `hour * ${HOUR_MS}`) =>
    partSql(wanted, { from: sql, at, sums: sumsOf(wanted) }, parameters);
  if (source.kind === "hours") return [ofHours(hoursSql(filter, parameters))];
  if (source.kind === "groups") {
    const { rows } = source;
    const from = groupRowsSql(filter, rows, parameters);
    const valueSqlOf = (key: string) => valueColumn(rows, key);
    return [partSql(wanted, { from, at: "at_ms", sums: sumsOf(wanted), valueSqlOf }, parameters)];
  }
  const columns = "timestamp, subscription_id, usage, metadata";
  const from = `SELECT ${columns} FROM usage_events WHERE ${whereSql(filter, parameters)}`;
  const valueSqlOf = (key: string) => valueSql(key, parameters);
  const events = partSql(
    wanted,
    { from, at: "timestamp", sums: sumsOfEvents(wanted), valueSqlOf },
    parameters,
  );
  if (source.kind === "events") return [events];
  const at = `greatest(hour * ${HOUR_MS}, ${parameters.integer(source.first_ms)})`;
  return [events, ofHours(keptHoursSql(filter, parameters), at)];
}

/** What is added up: SQL of rows, of when they are, of their sums, and of the values of metadata keys. */
interface Part {
  from: string;
  at: string;
  sums: readonly string[];
  valueSqlOf?: (key: string) => string;
}

function partSql(
  wanted: SeriesQuery,
  { from, at, sums, valueSqlOf = noValue }: Part,
  parameters: Parameters,
): string {
  const { group_by, edges } = wanted;
  const groups = group_by.map((grouping, i) => {
    if (grouping.by === "metadata") return `${valueSqlOf(grouping.key)} AS g${i}`;
    return `${grouping.labels === undefined ? "subscription_id::BIGINT" : `labels_${i}.label`} AS g${i}`;
  });
  const columns = [
    `${bucketSql(at, edges, (dividend, divisor) => `(${dividend}) // ${divisor}`)} AS bucket`,
    ...groups,
    ...(countsSubscriptions(wanted) ? ["subscription_id"] : []),
    ...sums,
    "count(*) AS read",
  ];
  const labels = group_by.map((grouping, i) => labelsSql(grouping, i, parameters));
  return `SELECT ${columns.join(", ")} FROM (${from}) ${labels.join(" ")} GROUP BY ALL ${NOT_OF_NOTHING}`;
}

export function countsSubscriptions({ measure }: SeriesQuery): boolean {
  return measure === "active_subscriptions";
}

/** SQL that joins the number that each subscription has, if it is grouped by these. */
function labelsSql(grouping: SeriesGrouping, position: number, parameters: Parameters): string {
  if (grouping.by === "metadata" || grouping.labels === undefined) return "";
  const { labels } = grouping;
  const name = `labels_${position}`;
  // As texts: the driver builds lists value by value, which for a hundred thousand blocks the process.
  const list = (values: Iterable<number>) =>
    `unnest(string_split(${parameters.text([...values].join())}, ','))::BIGINT`;
  const table =
    labels.size === 0
      ? "SELECT 0::BIGINT AS id, 0::BIGINT AS label LIMIT 0"
      : `SELECT ${list(labels.keys())} AS id, ${list(labels.values())} AS label`;
  return `LEFT JOIN (${table}) AS ${name} ON ${name}.id = subscription_id`;
}

/** SQL of what a measure is, of sums: as text, and as what groups are ranked by. */
const MEASURES_SQL: Record<SeriesQuery["measure"], { value: string; rank: string }> = {
  units: { value: "total::VARCHAR", rank: "total DESC" },
  events: { value: "events::VARCHAR", rank: "events DESC" },
  mean: { value: "mean_millionths::VARCHAR", rank: "mean_millionths DESC" },
  smallest: { value: "low::VARCHAR", rank: "low" },
  largest: { value: "high::VARCHAR", rank: "high DESC" },
  active_subscriptions: { value: "subscriptions::VARCHAR", rank: "subscriptions DESC" },
};

/**
 * SQL of the answer, from a table of rows. Its rows are the place of a group, one more than there are for all others and
 * null for everything; the bucket, null for all; the keys; the measure as text (a mean in millionths), null of nothing;
 * the numbers of events, of what was read and of groups, the last two in the row of everything.
 */
export function answerSql(wanted: SeriesQuery, rows: string, parameters: Parameters): string {
  const { group_by, measure, by_events, top, only } = wanted;
  const names = group_by.map((_, i) => `g${i}`);
  const { value } = MEASURES_SQL[measure];
  const { rank } = MEASURES_SQL[by_events === true ? "events" : measure];
  const places = only?.length ?? top;
  const ranked =
    only === undefined
      ? `SELECT ${[...names, `row_number() OVER (ORDER BY ${[rank, ...names.map((name) => `${name} NULLS LAST`)].join(", ")})`].join(", ")} AS place
        FROM (${measuredSql(wanted, names, `FROM ${rows} GROUP BY ALL`)})`
      : `SELECT * FROM (${onlySql(group_by, only, parameters)})`;
  const same = names.map((name) => `${rows}.${name} IS NOT DISTINCT FROM ranked.${name}`);
  const placed =
    names.length === 0
      ? `SELECT * FROM ${rows}`
      : `SELECT coalesce(least(ranked.place, ${places + 1}), ${places + 1}) AS place, ${rows}.*
        FROM ${rows} LEFT JOIN (${ranked}) AS ranked ON ${same.join(" AND ")}`;
  const keys = names.map((name) => `any_value(${name}) AS ${name}`);
  const sets = names.length === 0 ? "(bucket), ()" : "(place, bucket), (place), (bucket), ()";
  const sums = measuredSql(
    wanted,
    [names.length === 0 ? "NULL::INTEGER AS place" : "place", "bucket", ...keys, "sum(read)::BIGINT AS read"],
    `FROM (${placed}) GROUP BY GROUPING SETS (${sets})`,
  );
  const groups =
    names.length === 0 ? "0" : `(SELECT count(*) FROM (SELECT 1 FROM ${rows} GROUP BY ${names.join(", ")}))`;
  return `SELECT ${["place", "bucket", value, "events::BIGINT", "read", groups, ...names].join(", ")} FROM (${sums})`;
}

/** SQL of sums with all that a measure is computed from. */
function measuredSql(wanted: SeriesQuery, columns: readonly string[], from: string): string {
  const { measure } = wanted;
  const subscriptions =
    measure === "active_subscriptions" ? ["count(DISTINCT subscription_id) AS subscriptions"] : [];
  const sums = `SELECT ${[...columns, ...sumsOf(wanted), ...subscriptions].join(", ")} ${from}`;
  if (measure !== "mean") return sums;
  // Whole numbers: the engine would divide decimals as doubles.
  return `SELECT *, if(events = 0, NULL, sign(millionths) * ((2 * abs(millionths) + events) // (2 * events)))
      AS mean_millionths
    FROM (SELECT *, replace(total::VARCHAR, '.', '')::HUGEINT AS millionths FROM (${sums}))`;
}

/** SQL of given groups, each with its place. */
function onlySql(
  group_by: readonly SeriesGrouping[],
  only: readonly (readonly SeriesKey[])[],
  parameters: Parameters,
): string {
  const columns = group_by.map(({ by }, i) => {
    const type = by === "metadata" ? "VARCHAR" : "BIGINT";
    return { name: `g${i}`, type };
  });
  const rowOf = (keys: readonly SeriesKey[], place: number) => [
    ...columns.map(({ name, type }, i) => `${keySql(keys[i] ?? null, parameters)}::${type} AS ${name}`),
    `${place} AS place`,
  ];
  if (only.length === 0) return `SELECT ${rowOf([], 0).join(", ")} LIMIT 0`;
  return only.map((keys, i) => `SELECT ${rowOf(keys, i + 1).join(", ")}`).join(" UNION ALL ");
}

function keySql(key: SeriesKey, parameters: Parameters): string {
  if (key === null) return "NULL";
  return typeof key === "number" ? parameters.integer(key) : parameters.text(key);
}
