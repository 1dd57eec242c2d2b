import { eq, getTableColumns, getTableName, is, max, sql } from "drizzle-orm";
import type { PgColumn, PgTable } from "drizzle-orm/pg-core";
import { integer, SQLiteColumn, sqliteTable, text } from "drizzle-orm/sqlite-core";
import type { Queries, Reads } from "./store.ts";

type Keyed = PgTable & { id: PgColumn };

/** Whether the table numbers its rows itself. */
export function isKeyed(table: PgTable): table is Keyed {
  const { id } = getTableColumns<PgTable & { _: { columns: { id?: PgColumn } } }>(table);
  if (id === undefined) return false;
  return id.generatedIdentity !== undefined || ("autoIncrement" in id && id.autoIncrement === true);
}

/** Where SQLite keeps the last key of each table, which can be written like any other. */
const sqlite_sequence = sqliteTable("sqlite_sequence", {
  name: text("name").notNull(),
  seq: integer("seq").notNull(),
}) as unknown as PgTable & { name: PgColumn; seq: PgColumn };

const postgresSequence = (table: Keyed) => sql`pg_get_serial_sequence(${getTableName(table)}, 'id')`;

/** The highest key that the database has given to a row of the table; 0 when none. Every later one is higher. */
export async function lastKey(q: Reads, table: Keyed): Promise<number> {
  const [stored] = await q.select({ key: max(table.id) }).from(table);
  const [given] = is(table.id, SQLiteColumn)
    ? await q
        .select({ key: sqlite_sequence.seq })
        .from(sqlite_sequence)
        .where(eq(sqlite_sequence.name, getTableName(table)))
    : await q
        .select({ key: sql`pg_sequence_last_value(${postgresSequence(table)}::regclass)` })
        .from(sql`(SELECT 1) AS one`);
  return Math.max(Number(stored?.key ?? 0), Number(given?.key ?? 0));
}

/** Makes every later key of the table higher than `key`. */
export async function raiseKey(q: Queries, table: Keyed, key: number): Promise<void> {
  if ((await lastKey(q, table)) >= key) return;
  if (is(table.id, SQLiteColumn)) {
    await q.delete(sqlite_sequence).where(eq(sqlite_sequence.name, getTableName(table)));
    await q.insert(sqlite_sequence).values({ name: getTableName(table), seq: key });
  } else {
    await q
      .select({ key: sql`setval(${postgresSequence(table)}, ${key}::bigint)` })
      .from(sql`(SELECT 1) AS one`);
  }
}
