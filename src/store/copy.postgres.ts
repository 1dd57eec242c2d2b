import { getTableColumns } from "drizzle-orm";
import type { PgColumn, PgTable } from "drizzle-orm/pg-core";
import type { TableDefinition } from "./columns.ts";
import { insertRows } from "./insert_rows.ts";
import { lastKey, raiseKey } from "./key_sequences.ts";
import { pagesOf, withPostgresSnapshot } from "./snapshot.postgres.ts";
import { openSqlite } from "./sqlite.ts";

/** The tables of all families. */
export type Tables = readonly TableDefinition<PgTable>[];

const ROWS_AT_ONCE = 500;

/**
 * Writes the rows of a PostgreSQL database, as they are at one instant, into a new SQLite file with the same tables.
 * Later keys are those that PostgreSQL would give.
 */
export async function copyPostgres(url: string, path: string, tables: Tables): Promise<void> {
  const copy = await openSqlite(path, {});
  try {
    await withPostgresSnapshot(url, (from) =>
      copy.tx(async (to) => {
        // Rows come in any order of tables: references are checked at the end.
        await to.run("PRAGMA defer_foreign_keys = ON", [], false);
        for (const table of tables) {
          const [source, target] = [from.use(table), to.use(table)];
          for await (const rows of pagesOf(from, source, ROWS_AT_ONCE)) await insertRows(to, target, rows);
          if (isKeyed(source) && isKeyed(target)) await raiseKey(to, target, await lastKey(from, source));
        }
      }),
    );
  } finally {
    await copy.close();
  }
}

function isKeyed(table: PgTable): table is PgTable & { id: PgColumn } {
  const { id } = getTableColumns<PgTable & { _: { columns: { id?: PgColumn } } }>(table);
  if (id === undefined) return false;
  return id.generatedIdentity !== undefined || ("autoIncrement" in id && id.autoIncrement === true);
}
