import type { DuckDBInstance } from "@duckdb/node-api";
import { SUMMED } from "../append/hour_sums.ts";
import { type Layout, rewriteFile } from "./rewrite.ts";
import { EVENT_COLUMNS, SCHEMA_VERSION } from "./schema.ts";
import { asText, query } from "./sql.ts";

const COLUMNS = Object.keys(EVENT_COLUMNS).join(", ");

/** How files of earlier layouts are read. A file is written anew in the present one at its first opening. */
const EARLIER: Readonly<Record<string, Layout>> = {
  // One table of events, and no sums.
  "1": [
    "INSERT INTO fresh.usage_meta SELECT * FROM old.usage_meta WHERE name <> 'schema_version'",
    `INSERT INTO fresh.usage_meta VALUES ('schema_version', '${SCHEMA_VERSION}')`,
    `INSERT INTO fresh.usage_settled SELECT ${COLUMNS} FROM old.usage_events ORDER BY company_id, timestamp, id`,
    `INSERT INTO fresh.usage_hour_folds SELECT ${SUMMED} FROM old.usage_events
      GROUP BY company_id, hour ORDER BY company_id, hour`,
  ],
};

/** Brings a file of an earlier layout to the present one. Returns whether it did: the file must then be opened again. */
export async function upgradeLayout(instance: DuckDBInstance, path: string): Promise<boolean> {
  const connection = await instance.connect();
  try {
    const [table] = await query(connection, "SELECT 1 FROM duckdb_tables() WHERE table_name = 'usage_meta'");
    if (table === undefined) return false;
    const [row] = await query(connection, "SELECT value FROM usage_meta WHERE name = 'schema_version'");
    const layout = row && EARLIER[asText(row[0])];
    if (layout === undefined) return false;
    await rewriteFile(instance, path, layout);
    return true;
  } finally {
    connection.closeSync();
  }
}
