import { createHash } from "node:crypto";
import { BIGINT, DECIMAL, type DuckDBType, INTEGER, UUID, VARCHAR } from "@duckdb/node-api";

/** The version of the layout; a file with another one is refused. */
export const SCHEMA_VERSION = 2;

/** The oldest program that may use a file of this layout, which the file says of itself as `min_program`. */
export const MIN_PROGRAM = "0.1.0";

/** Up to twelve digits before the point and six after: the sums of it are exact. */
export const USAGE_TYPE = DECIMAL(18, 6);
/** A sum of usages, of more than any file holds. */
export const TOTAL_TYPE = DECIMAL(38, 6);

/**
 * The columns of events, in their order. `seq` numbers the rows in the order of commits, from 1, with gaps where a
 * commit failed. There is no unique index on the id: it costs more than the rest of the write, and grows with the table.
 */
export const EVENT_COLUMNS = {
  seq: BIGINT,
  company_id: INTEGER,
  subscription_id: INTEGER,
  timestamp: BIGINT,
  id: UUID,
  usage: USAGE_TYPE,
  metadata: VARCHAR,
  created_at: BIGINT,
} as const;

/**
 * The tables of events; each event is in one of them. It arrives in a hot one, in the order of commits, moves on to
 * `usage_runs`, short sorted segments of some hundred thousand events, and from there to `usage_settled`, longer ones.
 * Segments are sorted by company and timestamp, so that a query reads few blocks of each. compaction.ts moves them, and
 * explains why there are four hot ones.
 */
export const HOT_TABLES = ["usage_hot_0", "usage_hot_1", "usage_hot_2", "usage_hot_3"] as const;
export const EVENT_TABLES = [...HOT_TABLES, "usage_runs", "usage_settled"] as const;
/** Every table. */
export const STORED_TABLES = [
  "usage_meta",
  ...EVENT_TABLES,
  "usage_hour_deltas",
  "usage_hour_folds",
  "usage_group_sums",
  "usage_group_summed",
  "usage_kept_hours",
  "usage_kept_since",
] as const;
export type HotTable = (typeof HOT_TABLES)[number];

/**
 * The columns of sums by company and UTC hour, counted since 1970, with the `seq` of the last event in them.
 * A commit adds its own sums as `usage_hour_deltas`; they are folded into `usage_hour_folds`. Both may hold
 * several rows of an hour: only together they are its sum.
 */
export const HOUR_COLUMNS = {
  company_id: INTEGER,
  hour: INTEGER,
  total: TOTAL_TYPE,
  events: BIGINT,
  low: USAGE_TYPE,
  high: USAGE_TYPE,
  seq: BIGINT,
} as const;

/**
 * The columns of group sums, one row each: by company, by hour of UTC or by day, whose number since 1970 is `span`, and by
 * subscription, the values of metadata keys as JSON text, or both. What they are by has a name, as in sums_kind.ts.
 * `usage_group_summed` says which there are, all of the events up to its `seq`. The two came later than the layout's
 * version: a program that does not know them leaves them alone. They are emptied where another program had the file last,
 * which may have erased or removed events that are in them: they are made again.
 */
const GROUP_SUM_COLUMNS = {
  company_id: INTEGER,
  name: VARCHAR,
  subscription_id: INTEGER,
  span: INTEGER,
  value: VARCHAR,
  second_value: VARCHAR,
  total: TOTAL_TYPE,
  events: BIGINT,
  low: USAGE_TYPE,
  high: USAGE_TYPE,
} as const;
const GROUP_SUMMED_COLUMNS = { company_id: INTEGER, name: VARCHAR, seq: BIGINT } as const;

/** The group sums of earlier programs, which were by hour only. */
const EARLIER_GROUP_SUMS = ["usage_group_hours", "usage_summed"] as const;

/**
 * What stays of events that were removed: their sums by company, subscription and UTC hour, a row each, and where each
 * such company's events begin now, in Unix ms. Both came later than the layout's version too.
 */
export const KEPT_HOUR_COLUMNS = {
  company_id: INTEGER,
  subscription_id: INTEGER,
  hour: INTEGER,
  total: TOTAL_TYPE,
  events: BIGINT,
  low: USAGE_TYPE,
  high: USAGE_TYPE,
  corrections: BIGINT,
} as const;
const KEPT_SINCE_COLUMNS = { company_id: INTEGER, since_ms: BIGINT } as const;

const EVENTS_SQL = Object.entries(EVENT_COLUMNS)
  .map(([name, type]) => `${name} ${String(type)}${name === "metadata" ? "" : " NOT NULL"}`)
  .join(", ");
const HOURS_SQL = notNull(HOUR_COLUMNS);

/**
 * Creates usage_meta: schema_version, min_program, fingerprint_key (16 bytes in hex), `tables`, and the identity as in
 * identity.ts.
 */
export const CREATE_META =
  "CREATE TABLE IF NOT EXISTS usage_meta (name VARCHAR NOT NULL, value VARCHAR NOT NULL);";

/**
 * Creates missing tables. Queries read the views `usage_events` and `usage_hours`, which agree at every instant.
 */
export const CREATE_TABLES = `
  ${EVENT_TABLES.map((table) => `CREATE TABLE IF NOT EXISTS ${table} (${EVENTS_SQL});`).join("\n")}
  CREATE TABLE IF NOT EXISTS usage_hour_deltas (${HOURS_SQL});
  CREATE TABLE IF NOT EXISTS usage_hour_folds (${HOURS_SQL});
  CREATE TABLE IF NOT EXISTS usage_group_sums (${notNull(GROUP_SUM_COLUMNS)});
  CREATE TABLE IF NOT EXISTS usage_group_summed (${notNull(GROUP_SUMMED_COLUMNS)});
  DELETE FROM usage_group_sums; DELETE FROM usage_group_summed;
  ${EARLIER_GROUP_SUMS.map((table) => `DROP TABLE IF EXISTS ${table};`).join(" ")}
  CREATE TABLE IF NOT EXISTS usage_kept_hours (${notNull(KEPT_HOUR_COLUMNS)});
  CREATE TABLE IF NOT EXISTS usage_kept_since (${notNull(KEPT_SINCE_COLUMNS)});
  CREATE OR REPLACE VIEW usage_events AS
    ${EVENT_TABLES.toReversed()
      .map((table) => `FROM ${table}`)
      .join(" UNION ALL ")};
  CREATE OR REPLACE VIEW usage_hours AS FROM usage_hour_folds UNION ALL FROM usage_hour_deltas;`;

/**
 * Names the tables and views of this program in usage_meta: a file with it has them all. Another program's views read
 * other tables, and whoever makes such ones raises `min_program`, so that no older program puts its own in their place.
 */
export const TABLES_DIGEST = createHash("sha256").update(CREATE_TABLES).digest("hex");

function notNull(columns: Record<string, DuckDBType>): string {
  return Object.entries(columns)
    .map(([name, type]) => `${name} ${String(type)} NOT NULL`)
    .join(", ");
}
