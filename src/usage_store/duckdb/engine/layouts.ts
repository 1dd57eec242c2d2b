import type { DuckDBInstance } from "@duckdb/node-api";
import { SUMMED } from "../append/hour_sums.ts";
import type { Meta } from "./meta.ts";
import { type Layout, rewriteFile } from "./rewrite.ts";
import { EVENT_COLUMNS, SCHEMA_VERSION } from "./schema.ts";

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
export async function upgradeLayout(instance: DuckDBInstance, path: string, meta: Meta): Promise<boolean> {
  const layout = EARLIER[meta.get("schema_version")?.[0] ?? ""];
  if (layout === undefined) return false;
  await rewriteFile(instance, path, layout);
  return true;
}
