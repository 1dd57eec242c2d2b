import { sql } from "drizzle-orm";
import type { PgColumn, PgTable } from "drizzle-orm/pg-core";
import type { Queries } from "./store.ts";

/** What the columns asked for are in code. */
type Written<F extends Record<string, PgColumn>> = {
  [K in keyof F]: F[K]["_"]["notNull"] extends true ? F[K]["_"]["data"] : F[K]["_"]["data"] | null;
};

/**
 * Inserts many rows by a statement that is built once and filled in for each of them: building one statement for
 * all of them costs much more than running it. All rows have the columns of the first one, and null only in those of
 * plain types. With `unless`, rows whose place there is taken are left out. Returns what was written.
 */
export async function insertRows<T extends PgTable, F extends Record<string, PgColumn>>(
  q: Queries,
  table: T,
  rows: readonly T["$inferInsert"][],
  { returning, unless }: { returning: F; unless?: PgColumn[] },
): Promise<Written<F>[]> {
  const [first] = rows;
  if (!first) return [];
  const values = Object.fromEntries(Object.keys(first).map((name) => [name, sql.placeholder(name)]));
  const insert = q.insert(table).values(values as T["$inferInsert"]);
  const careful = unless ? insert.onConflictDoNothing({ target: unless }) : insert;
  const statement = careful.returning(returning).prepare("insert_rows");
  const written = await Promise.all(rows.map((row) => statement.execute(row)));
  return written.flat() as Written<F>[];
}
