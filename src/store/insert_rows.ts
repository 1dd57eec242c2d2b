import { getTableColumns, getTableName, sql } from "drizzle-orm";
import type { PgColumn, PgTable } from "drizzle-orm/pg-core";
import { jsonRows } from "./json_rows.ts";
import type { RowOf } from "./row_of.ts";
import type { Queries } from "./store.ts";

/**
 * Inserts many rows by one statement. All have the columns of the first one; what none of them names is null, the
 * id the database's. With `on_conflict_skip`, rows whose place there is taken are left out. Returns what was written, where
 * columns are requested.
 */
export async function insertRows<
  T extends PgTable,
  F extends Record<string, PgColumn> = Record<string, PgColumn>,
>(
  q: Queries,
  table: T,
  rows: readonly T["$inferInsert"][],
  { returning, on_conflict_skip }: { returning?: F; on_conflict_skip?: PgColumn[] } = {},
): Promise<RowOf<F>[]> {
  const [first] = rows;
  if (!first) return [];
  const columns: Record<string, PgColumn> = getTableColumns(table);
  const { source, value } = jsonRows(columns, Object.keys(first), rows);
  const values = Object.entries(columns).map(([name, column]) => {
    if (name in first) return value(name);
    return column.generatedIdentity
      ? sql`nextval(pg_get_serial_sequence(${getTableName(table)}, ${column.name}))`
      : sql`NULL`;
  });
  // Without a condition SQLite takes ON CONFLICT for that of a join.
  const insert = q.insert(table).select(sql`SELECT ${sql.join(values, sql`, `)} FROM ${source} WHERE true`);
  const careful = on_conflict_skip ? insert.onConflictDoNothing({ target: on_conflict_skip }) : insert;
  if (returning) return (await careful.returning(returning)) as RowOf<F>[];
  await careful;
  return [];
}
