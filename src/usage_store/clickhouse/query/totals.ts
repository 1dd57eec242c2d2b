import { digestOf, NO_DIGEST } from "../../digest.ts";
import { minimum, spanOf } from "../../windows.ts";
import type {
  KnownWindow,
  MonthDigest,
  TotalsOptions,
  UsageWindow,
  WindowSum,
  WindowTotal,
} from "../../port.ts";
import { monthText } from "../../time_buckets.ts";
import type { Bounds, ClickHouse } from "../engine/engine.ts";
import { asBigInt, asDecimal, asNumber, integer, integers } from "../engine/sql.ts";
import type { ContentDigest } from "../../segment_rows.ts";
import { subscriptionSql, whereSql } from "./filters.ts";
import { CANONICAL_METADATA } from "./metadata_sql.ts";
import { monthSql } from "./local_time.ts";

/** SQL of the number that identifies an event and what it counts. */
export function md5Sql(value: string): string {
  return `MD5(concat(toString(id), '|', toString(timestamp), '|', ${value}))`;
}

/** SQL of the two sums of a digest. Sums of whole numbers are modulo 2^64. */
export const DIGEST_SUMS = ["substring(md5, 1, 8)", "substring(md5, 9, 8)"].map(
  (half) => `sum(reinterpretAsUInt64(${half}))`,
);

/** SQL of windows as a table of position, subscription_id, start_ms, end_ms and more columns. */
export function windowsSql(
  windows: readonly UsageWindow[],
  extra: Readonly<Record<string, readonly number[]>> = {},
): string {
  const columns = {
    position: windows.map((_, i) => i),
    subscription_id: windows.map(({ subscription_id }) => subscription_id),
    start_ms: windows.map(({ start_ms }) => start_ms),
    end_ms: windows.map(({ end_ms }) => end_ms),
    ...extra,
  };
  const names = Object.keys(columns).map((name, i) => `row.${i + 1} AS ${name}`);
  const lists = Object.values(columns).map(integers);
  return `SELECT ${names.join(", ")} FROM (SELECT arrayJoin(arrayZip(${lists.join(", ")})) AS row)`;
}

/** SQL of the events of windows, with the columns of these. */
function joinedSql(
  company_id: number,
  windows: readonly UsageWindow[],
  {
    columns,
    condition = "true",
    extra = {},
  }: { columns: string; condition?: string; extra?: Record<string, number[]> },
): string {
  const ids = [...new Set(windows.map(({ subscription_id }) => subscription_id))];
  return `SELECT ${columns} FROM (
      SELECT toInt64(subscription_id) AS subscription_id, timestamp, id, usage, seq, created_at FROM usage_events
      WHERE ${whereSql({ company_id, ...spanOf(windows) })} AND ${subscriptionSql(ids)} AND ${condition}
    ) AS event JOIN (${windowsSql(windows, extra)}) AS window ON event.subscription_id = window.subscription_id
    WHERE timestamp >= start_ms AND timestamp < end_ms`;
}

/** Up to where events count, as of `TotalsOptions`. */
type StoredBy = Omit<TotalsOptions, "timeout_ms">;

/** SQL of the condition of the events that count. */
export function storedSql({ created_until_ms, last_seq }: StoredBy): string {
  const conditions = [
    ...(created_until_ms === undefined ? [] : [`created_at < ${integer(created_until_ms)}`]),
    ...(last_seq === undefined ? [] : [`seq <= ${integer(last_seq)}`]),
  ];
  return conditions.length === 0 ? "true" : conditions.join(" AND ");
}

/** The totals of all windows by one join. */
export async function totals(
  engine: ClickHouse,
  company_id: number,
  windows: readonly UsageWindow[],
  stored_by: StoredBy,
  bounds: Bounds,
): Promise<WindowTotal[]> {
  const found = windows.map((): WindowTotal => ({ ...NO_USAGE, digest: NO_DIGEST }));
  if (windows.length === 0) return found;
  const condition = storedSql(stored_by);
  const columns = `position, usage, ${md5Sql("toDecimalString(usage, 6)")} AS md5`;
  const rows = await engine.ask(
    `SELECT position, sum(usage), count(), countIf(usage < 0), ${DIGEST_SUMS.join(", ")}
    FROM (${joinedSql(company_id, windows, { columns, condition })}) GROUP BY position`,
    bounds,
  );
  for (const [position, units, events, corrections, first, second] of rows)
    found[asNumber(position)] = {
      units: asDecimal(units),
      event_count: asNumber(events),
      corrections: asNumber(corrections),
      digest: digestOf(asBigInt(first), asBigInt(second)),
    };
  return found;
}

const NO_USAGE: WindowSum = { units: "0", event_count: 0, corrections: 0 };

/** As `totals`, without digests. */
export async function sums(
  engine: ClickHouse,
  company_id: number,
  windows: readonly UsageWindow[],
  bounds: Bounds,
  stored_by: StoredBy = {},
): Promise<WindowSum[]> {
  const found = windows.map(() => NO_USAGE);
  if (windows.length === 0) return found;
  const rows = await engine.ask(
    `SELECT position, sum(usage), count(), countIf(usage < 0)
    FROM (${joinedSql(company_id, windows, { columns: "position, usage", condition: storedSql(stored_by) })}) GROUP BY position`,
    bounds,
  );
  for (const [position, units, events, corrections] of rows)
    found[asNumber(position)] = {
      units: asDecimal(units),
      event_count: asNumber(events),
      corrections: asNumber(corrections),
    };
  return found;
}

/** Whether each window has events beyond those known. */
export async function haveLateEvents(
  engine: ClickHouse,
  company_id: number,
  windows: readonly KnownWindow[],
  bounds: Bounds,
): Promise<boolean[]> {
  const late = windows.map(() => false);
  if (windows.length === 0) return late;
  const last_seq = windows.map((window) => window.last_seq);
  const created_until_ms = windows.map((window) => window.created_until_ms);
  // By each of them the engine skips blocks.
  const condition = `(seq > ${integer(minimum(last_seq))} OR created_at >= ${integer(minimum(created_until_ms))})`;
  const extra = { last_seq, created_until_ms };
  const rows = await engine.ask(
    `SELECT DISTINCT position FROM (
      ${joinedSql(company_id, windows, { columns: "position, seq, created_at, last_seq, created_until_ms", condition, extra })})
    WHERE seq > last_seq OR created_at >= created_until_ms`,
    bounds,
  );
  for (const [position] of rows) late[asNumber(position)] = true;
  return late;
}

/** The digests of all that the events have. */
export async function contentDigests(engine: ClickHouse, bounds: Bounds): Promise<ContentDigest[]> {
  const content = [
    ...["id", "seq", "subscription_id", "timestamp"].map((column) => `toString(${column})`),
    "toDecimalString(usage, 6)",
    "toString(created_at)",
    `if(metadata = '', '', ${CANONICAL_METADATA})`,
  ];
  const rows = await engine.ask(
    `SELECT company_id, month, count(), ${DIGEST_SUMS.join(", ")} FROM (
      SELECT company_id, ${monthSql("intDiv(timestamp, 86400000)")} AS month,
        MD5(concatWithSeparator('|', ${content.join(", ")})) AS md5
      FROM usage_events WHERE company_id > 0)
    GROUP BY company_id, month`,
    bounds,
  );
  return rows.map(([company_id, month, events, first, second]) => ({
    company_id: asNumber(company_id),
    month: monthText(asNumber(month)),
    events: asNumber(events),
    digest: digestOf(asBigInt(first), asBigInt(second)),
  }));
}

/** As `UsageStore.monthDigests`. */
export async function monthDigests(
  engine: ClickHouse,
  last_seq: number,
  bounds: Bounds,
): Promise<MonthDigest[]> {
  const rows = await engine.ask(
    `SELECT company_id, month, count(), sum(usage), ${DIGEST_SUMS.join(", ")} FROM (
      SELECT company_id, ${monthSql("intDiv(timestamp, 86400000)")} AS month, usage,
        ${md5Sql("toDecimalString(usage, 6)")} AS md5
      FROM usage_events WHERE company_id > 0 AND seq <= ${integer(last_seq)})
    GROUP BY company_id, month ORDER BY company_id, month`,
    bounds,
  );
  return rows.map(([company_id, month, events, units, first, second]) => ({
    company_id: asNumber(company_id),
    month: monthText(asNumber(month)),
    events: asNumber(events),
    units: asDecimal(units),
    digest: digestOf(asBigInt(first), asBigInt(second)),
  }));
}
