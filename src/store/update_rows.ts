import { and, eq, getTableColumns, is, Param, SQL } from "drizzle-orm";
import type { PgColumn, PgTable } from "drizzle-orm/pg-core";
import { filterOnly } from "./expressions.ts";
import { jsonRows } from "./json_rows.ts";
import { statementOf } from "./kept_text.ts";
import { QueryStructure } from "./query_structure.ts";
import type { RowOf } from "./row_of.ts";
import { readerOf, readRows } from "./row_reader.ts";
import type { Queries } from "./store.ts";

type Columns = Record<string, PgColumn>;

/** The new values of columns: values, or SQL that computes them. */
type Changes<T extends PgTable> = T["$inferInsert"] extends infer R
  ? { readonly [K in keyof R]?: R[K] | SQL }
  : never;

/** What a statement changes, where, and what it returns of the rows that it changed. */
interface Change<T extends PgTable, F extends Columns> {
  readonly set: Changes<T>;
  readonly from?: SQL;
  readonly where: SQL | undefined;
  readonly returning: F;
}

/**
 * Changes many rows by one statement, each by its id to values of its own, where they meet the condition. All have
 * the columns of the first one. Returns what those that were changed are now.
 */
export async function updateRows<T extends PgTable & { id: PgColumn }, F extends Columns>(
  q: Queries,
  table: T,
  rows: readonly (Partial<T["$inferInsert"]> & { id: number })[],
  { where, returning }: Pick<Change<T, F>, "where" | "returning">,
): Promise<RowOf<F>[]> {
  const [first] = rows;
  if (!first) return [];
  const names = Object.keys(first);
  const { source, value } = jsonRows(getTableColumns(table), names, rows);
  const changed = names.filter((name) => name !== "id");
  return changeRows(q, table, {
    set: Object.fromEntries(changed.map((name) => [name, value(name)])) as Changes<T>,
    from: source,
    where: and(eq(table.id, value("id")), filterOnly(where)),
    returning,
  });
}

/** Changes the rows that meet the condition, all in the same way; returns what they are now. Decision 0150. */
export async function changeRows<T extends PgTable, F extends Columns>(
  q: Queries,
  table: T,
  change: Change<T, F>,
): Promise<RowOf<F>[]> {
  const { text, values, is_prepared } = statementOf(q, structureOf(table, change), () =>
    build(q, table, change),
  );
  return readRows(change.returning, await q.run(text, values, is_prepared));
}

function structureOf(table: PgTable, { set, from, where, returning }: Change<PgTable, Columns>) {
  const structure = new QueryStructure();
  structure.addWord("update");
  structure.add(table);
  const given: Record<string, unknown> = set;
  // In the order of the table, as the query builder has them.
  for (const [name, column] of Object.entries<PgColumn>(getTableColumns(table))) {
    const value = given[name];
    if (value === undefined) continue;
    structure.addWord(name);
    structure.add(is(value, SQL) ? value : new Param(value, column));
  }
  structure.addWord("from");
  structure.add(from);
  structure.addWord("where");
  structure.add(where);
  structure.addWord("returning");
  structure.addAll(readerOf(returning).structure);
  return structure;
}

function build<T extends PgTable>(q: Queries, table: T, { set, from, where, returning }: Change<T, Columns>) {
  const update = q.update(table).set(set);
  return from === undefined
    ? update.where(where).returning(returning).toSQL()
    : update.from(from).where(where).returning(returning).toSQL();
}
