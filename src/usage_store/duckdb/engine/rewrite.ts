import { rename, rm, stat } from "node:fs/promises";
import { dirname } from "node:path";
import type { DuckDBConnection, DuckDBInstance } from "@duckdb/node-api";
import { syncPath } from "../../../core/sync_path.ts";
import { CREATE_META, CREATE_TABLES, EVENT_COLUMNS, STORED_TABLES } from "./schema.ts";
import { asNumber, asText, query, quoteText } from "./sql.ts";

/** What fills the tables of a new file: its statements, in which `old` is the file before. */
export type Layout = readonly string[];

/** Every table as it is: erased text, which a file keeps until its blocks are used again, is left behind. */
export const PRESENT_LAYOUT: Layout = STORED_TABLES.map(
  (table) => `INSERT INTO fresh.${table} SELECT * FROM old.${table}`,
);

/** Of all that an event is, whatever the order of rows. */
const DIGEST = Object.keys(EVENT_COLUMNS)
  .map((column) => `coalesce(${column}::VARCHAR, '-')`)
  .join(" || '|' || ");

/**
 * Writes the file anew as `<path>.new`, compares every event by digest, and renames it over the file, which the instance
 * still has open: nobody else may open it before it is closed. A kill at any moment leaves the file before or the new
 * one. Returns how many events it has. Errors: throws when they differ, or the disk is full; the file stays then.
 */
export async function rewriteFile(instance: DuckDBInstance, path: string, layout: Layout): Promise<number> {
  const fresh = `${path}.new`;
  await removeFiles(fresh);
  const connection = await instance.connect();
  try {
    await connection.run("FORCE CHECKPOINT");
    const events = await writeFresh(connection, fresh, layout);
    await syncPath(fresh);
    if (((await stat(`${path}.wal`).catch(() => undefined))?.size ?? 0) > 0)
      throw new Error(`Cannot write ${path} anew: its log is not empty`);
    // The log is the old file's: beside the new one it would be replayed into that.
    await rm(`${path}.wal`, { force: true });
    await rename(fresh, path);
    await syncPath(dirname(path));
    await rm(`${path}.tmp`, { recursive: true, force: true });
    return events;
  } catch (error) {
    await removeFiles(fresh);
    throw error;
  } finally {
    connection.closeSync();
  }
}

async function removeFiles(path: string): Promise<void> {
  for (const name of [path, `${path}.wal`]) await rm(name, { force: true });
}

async function writeFresh(connection: DuckDBConnection, path: string, layout: Layout): Promise<number> {
  const [[name] = []] = await query(connection, "SELECT current_database()");
  const own = `"${asText(name).replaceAll('"', '""')}"`;
  // Sorted segments stay sorted.
  await connection.run("SET preserve_insertion_order = true");
  await connection.run(`ATTACH ${quoteText(path)} AS fresh`);
  try {
    await connection.run(`USE fresh; ${CREATE_META} ${CREATE_TABLES} USE ${own}`);
    for (const statement of layout) await connection.run(statement.replaceAll(/\bold\./g, `${own}.`));
    const events = await compare(connection, own);
    await connection.run("CHECKPOINT fresh");
    return events;
  } finally {
    await connection.run(`USE ${own}; DETACH fresh; SET preserve_insertion_order = false`);
  }
}

/** SQL of how many events each company has in a file, and their digest. */
const digestsSql = (file: string): string =>
  `SELECT company_id, count(*) AS events, sum((md5 & 18446744073709551615::UHUGEINT)::UBIGINT),
    sum((md5 >> 64)::UBIGINT) FROM (SELECT company_id, md5_number(${DIGEST}) AS md5 FROM ${file}.usage_events)
  GROUP BY company_id`;

/** Errors: throws when a company has other events in the new file, or other sums. */
async function compare(connection: DuckDBConnection, own: string): Promise<number> {
  const [[different, events, summed] = []] = await query(
    connection,
    `WITH was AS (${digestsSql(own)}), now AS (${digestsSql("fresh")})
    SELECT (SELECT count(*) FROM ((FROM was EXCEPT FROM now) UNION ALL (FROM now EXCEPT FROM was))),
      (SELECT coalesce(sum(events), 0)::BIGINT FROM now),
      (SELECT coalesce(sum(events), 0)::BIGINT FROM fresh.usage_hours)`,
  );
  if (asNumber(different) > 0 || asNumber(events) > asNumber(summed))
    throw new Error(
      "Cannot write the usage store anew: the events of the new file are not those of the old one",
    );
  return asNumber(events);
}
