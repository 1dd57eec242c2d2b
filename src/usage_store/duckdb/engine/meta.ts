import type { DuckDBConnection } from "@duckdb/node-api";
import { asText, Parameters, query } from "./sql.ts";

/** What a file says of itself: its values by their names, one of each but `opening`. */
export type Meta = ReadonlyMap<string, readonly string[]>;

/** Reads it by one statement; empty where the file has no tables yet. */
export async function readMeta(connection: DuckDBConnection): Promise<Meta> {
  const rows = await query(connection, "SELECT name, value FROM usage_meta").catch((error: unknown) => {
    if (String(error).includes("Table with name usage_meta does not exist")) return [];
    throw error;
  });
  const meta = new Map<string, string[]>();
  for (const [name, value] of rows) meta.getOrInsert(asText(name), []).push(asText(value));
  return meta;
}

/** Adds rows to usage_meta. */
export async function insertMeta(
  connection: DuckDBConnection,
  values: Readonly<Record<string, string>>,
): Promise<void> {
  const parameters = new Parameters();
  const names = parameters.texts(Object.keys(values));
  const sql = `INSERT INTO usage_meta SELECT unnest(${names}), unnest(${parameters.texts(Object.values(values))})`;
  await query(connection, sql, parameters);
}
