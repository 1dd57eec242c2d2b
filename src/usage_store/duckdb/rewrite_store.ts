import type { DuckDBInstance } from "@duckdb/node-api";
import { type EngineLimits, openDatabase } from "./engine/database.ts";
import { PRESENT_LAYOUT, rewriteFile } from "./engine/rewrite.ts";
import { STORED_TABLES } from "./engine/schema.ts";
import { asText, query } from "./engine/sql.ts";

/**
 * Writes a closed store's file anew, so that nothing is left of metadata that was erased. Returns how many events it
 * has. Errors: unavailable when it is open, in this process or another; throws when the disk is full, or a newer program
 * made tables in it, which would be lost.
 */
export async function rewriteStore(path: string, limits: EngineLimits): Promise<number> {
  const database = await openDatabase(path, limits);
  try {
    await refuseUnknownTables(database.instance, path);
    return await rewriteFile(database.instance, path, PRESENT_LAYOUT);
  } finally {
    database.close();
  }
}

async function refuseUnknownTables(instance: DuckDBInstance, path: string): Promise<void> {
  const connection = await instance.connect();
  try {
    const sql =
      "SELECT table_name FROM duckdb_tables() WHERE database_name = current_database() AND NOT temporary";
    const known = new Set<string>(STORED_TABLES);
    const unknown = (await query(connection, sql))
      .map(([name]) => asText(name))
      .filter((name) => !known.has(name));
    if (unknown.length === 0) return;
    throw new Error(
      `Cannot write ${path} anew: it has ${unknown.join(", ")} of a newer program; use that one`,
    );
  } finally {
    connection.closeSync();
  }
}
