import type { DuckDBConnection } from "@duckdb/node-api";
import { EVENT_SUMS, HOUR_OF_EVENT } from "../append/hour_sums.ts";
import { forgetBefore } from "./group_sums.ts";
import { EVENT_TABLES, KEPT_HOUR_COLUMNS } from "../engine/schema.ts";
import { asNumber, query, quoteText } from "../engine/sql.ts";
import { HOUR_MS } from "../../time_buckets.ts";
import type { KeptSince } from "../../removals.ts";

/** Records where a company's events begin, within the open transaction. */
export async function recordSince(
  connection: DuckDBConnection,
  company_id: number,
  since_ms: number,
): Promise<void> {
  await connection.run(`DELETE FROM usage_kept_since WHERE company_id = ${company_id}`);
  await connection.run(`INSERT INTO usage_kept_since VALUES (${company_id}, ${since_ms})`);
}

/** Where the events of companies begin whose earlier ones were removed. */
export async function readSince(connection: DuckDBConnection): Promise<Map<number, number>> {
  const rows = await query(
    connection,
    "SELECT company_id, since_ms FROM usage_kept_since ORDER BY company_id",
  );
  return new Map(rows.map(([company_id, since_ms]) => [asNumber(company_id), asNumber(since_ms)]));
}

/**
 * Removes a company's oldest events before `since_ms`, of whole hours: about `limit`, or those of one hour if these are
 * more. Their sums by subscription and hour are kept in the same open transaction, and all other sums forget them, so
 * that these stay the sums of the events that there are. Returns how many were removed.
 */
export async function removeOldest(
  connection: DuckDBConnection,
  company_id: number,
  since_ms: number,
  limit: number,
): Promise<number> {
  const portion = await findPortion(connection, company_id, since_ms, limit);
  if (portion === undefined) return 0;
  const { until_hour, events, last_seq } = portion;
  const removed = `company_id = ${company_id} AND timestamp < ${until_hour * HOUR_MS}`;
  await connection.run(`INSERT INTO usage_kept_hours
    SELECT company_id, subscription_id, ${HOUR_OF_EVENT} AS hour, ${EVENT_SUMS}, count(*) FILTER (usage < 0)
    FROM usage_events WHERE ${removed} GROUP BY ALL ORDER BY hour, subscription_id`);
  for (const table of EVENT_TABLES) await connection.run(`DELETE FROM ${table} WHERE ${removed}`);
  for (const table of ["usage_hour_deltas", "usage_hour_folds"])
    await connection.run(`DELETE FROM ${table} WHERE company_id = ${company_id} AND hour < ${until_hour}`);
  await forgetBefore(connection, company_id, until_hour * HOUR_MS);
  await keepNumber(connection, last_seq);
  return events;
}

/** The oldest whole hours with about `limit` events before `since_ms`; undefined when there are none. */
async function findPortion(
  connection: DuckDBConnection,
  company_id: number,
  since_ms: number,
  limit: number,
): Promise<{ until_hour: number; events: number; last_seq: number } | undefined> {
  const [[hours = 0, until_hour = null, events = 0, last_seq = 0] = []] = await query(
    connection,
    `SELECT count(*), max(hour) + 1, coalesce(sum(events), 0)::BIGINT, coalesce(max(seq), 0) FROM (
      SELECT hour, events, seq, sum(events) OVER (ORDER BY hour) - events AS before FROM (
        SELECT hour, sum(events) AS events, max(seq) AS seq FROM usage_hours
        WHERE company_id = ${company_id} AND hour < ${since_ms / HOUR_MS} GROUP BY hour))
    WHERE before < ${limit}`,
  );
  if (asNumber(hours) === 0 || until_hour === null) return undefined;
  return { until_hour: asNumber(until_hour), events: asNumber(events), last_seq: asNumber(last_seq) };
}

/** Keeps a number that only removed events may have had from being given again. */
async function keepNumber(connection: DuckDBConnection, last_seq: number): Promise<void> {
  await connection.run(
    `DELETE FROM usage_meta WHERE name = 'seq_floor' AND TRY_CAST(value AS BIGINT) < ${last_seq}`,
  );
  await connection.run(`INSERT INTO usage_meta SELECT 'seq_floor', '${last_seq}'
    WHERE NOT EXISTS (FROM usage_meta WHERE name = 'seq_floor')`);
}

/** As `UsageStore.exportKept`; `connection` is in a transaction. */
export async function exportKept(connection: DuckDBConnection, path: string): Promise<KeptSince[]> {
  await connection.run(
    `COPY (FROM usage_kept_hours ORDER BY company_id, hour) TO ${quoteText(path)} (FORMAT parquet, COMPRESSION zstd)`,
  );
  return [...(await readSince(connection))].map(([company_id, since_ms]) => ({ company_id, since_ms }));
}

/** Reads what `exportKept` wrote into a store without kept sums, within the open transaction. */
export async function loadKept(
  connection: DuckDBConnection,
  { path, since }: { path: string; since: readonly KeptSince[] },
): Promise<void> {
  const columns = Object.entries(KEPT_HOUR_COLUMNS).map(([name, type]) => `${name}::${String(type)}`);
  await connection.run(
    `INSERT INTO usage_kept_hours SELECT ${columns.join(", ")} FROM read_parquet(${quoteText(path)})`,
  );
  for (const { company_id, since_ms } of since) await recordSince(connection, company_id, since_ms);
}
