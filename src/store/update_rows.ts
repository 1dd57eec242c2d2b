import { and, eq, getTableColumns, type SQL } from "drizzle-orm";
import type { PgColumn, PgTable } from "drizzle-orm/pg-core";
import type { RowOf } from "./row_of.ts";
import { filterOnly } from "./expressions.ts";
import { jsonRows } from "./json_rows.ts";
import type { Queries } from "./store.ts";

/**
 * Changes many rows by one statement, each by its id to values of its own, where they meet the condition. All have
 * the columns of the first one. Returns what those that were changed are now.
 */
export async function updateRows<T extends PgTable & { id: PgColumn }, F extends Record<string, PgColumn>>(
  q: Queries,
  table: T,
  rows: readonly (Partial<T["$inferInsert"]> & { id: number })[],
  { where, returning }: { where: SQL | undefined; returning: F },
): Promise<RowOf<F>[]> {
  const [first] = rows;
  if (!first) return [];
  const names = Object.keys(first);
  const { source, value } = jsonRows(getTableColumns(table), names, rows);
  const changed = names.filter((name) => name !== "id");
  const written = await q
    .update(table)
    .set(Object.fromEntries(changed.map((name) => [name, value(name)])) as T["$inferInsert"])
    .from(source)
    .where(and(eq(table.id, value("id")), filterOnly(where)))
    .returning(returning);
  return written as RowOf<F>[];
}
