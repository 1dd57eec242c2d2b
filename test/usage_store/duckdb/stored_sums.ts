import { openDatabase } from "../../../src/usage_store/duckdb/engine/database.ts";
import { asNumber, asText, query } from "../../../src/usage_store/duckdb/engine/sql.ts";

/** What a closed store's file answers to a statement. */
async function rowsOf(path: string, sql: string): ReturnType<typeof query> {
  const database = await openDatabase(path, { threads: 2, memory_limit: "500MB" });
  const connection = await database.instance.connect();
  try {
    return await query(connection, sql);
  } finally {
    connection.closeSync();
    database.close();
  }
}

/** The numbers that a closed store's file answers to a statement. */
export async function numbersOf(path: string, sql: string): Promise<number[][]> {
  return (await rowsOf(path, sql)).map((row) => row.map(asNumber));
}

/** The names of the group sums in a closed store's file. */
export async function sumNames(path: string): Promise<string[]> {
  const rows = await rowsOf(path, "SELECT DISTINCT name FROM usage_group_sums ORDER BY name");
  return rows.map(([name]) => asText(name));
}
