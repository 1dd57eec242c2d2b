import type { DuckDBConnection } from "@duckdb/node-api";
import { Parameters, query } from "./sql.ts";

/** Adds a row to usage_meta. */
export async function insertMeta(connection: DuckDBConnection, name: string, value: string): Promise<void> {
  const parameters = new Parameters();
  const sql = `INSERT INTO usage_meta VALUES (${parameters.text(name)}, ${parameters.text(value)})`;
  await query(connection, sql, parameters);
}
