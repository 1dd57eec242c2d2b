import { getTableColumns, getTableName, sql } from "drizzle-orm";
import type { PgColumn, PgTable } from "drizzle-orm/pg-core";
import { exactlyOne } from "./exactly_one.ts";
import { jsonRows } from "./json_rows.ts";
import type { RowOf } from "./row_of.ts";
import { readRows } from "./row_reader.ts";
import type { Queries } from "./store.ts";

type Columns = Record<string, PgColumn>;

/** Inserts one row, and returns those columns of it. Errors: those of its constraints. */
export async function insertRow<T extends PgTable, F extends Columns>(
  q: Queries,
  table: T,
  row: T["$inferInsert"],
  returning: F,
): Promise<RowOf<F>> {
  return exactlyOne(await insertOne(q, table, row, returning));
}

/**
 * Inserts many rows by one statement. All have the columns of the first one; what none of them names is null, the
 * id the database's. With `on_conflict_skip`, rows whose place there is taken are left out. Returns what was written, where
 * columns are requested.
 */
export async function insertRows<T extends PgTable, F extends Columns = Columns>(
  q: Queries,
  table: T,
  rows: readonly T["$inferInsert"][],
  { returning, on_conflict_skip }: { returning?: F; on_conflict_skip?: PgColumn[] } = {},
): Promise<RowOf<F>[]> {
  const [first] = rows;
  if (!first) return [];
  if (rows.length === 1 && !on_conflict_skip) return insertOne(q, table, first, returning);
  const columns: Columns = getTableColumns(table);
  const names = Object.keys(first);
  const { text: json, source, value } = jsonRows(columns, names, rows);
  const key = `many ${names.join()} skipping ${namesOf(on_conflict_skip)} returning ${namesOf(returning)}`;
  const text = textOf(table, key, () => {
    const values = Object.entries(columns).map(([name, column]) => {
      if (name in first) return value(name);
      return column.generatedIdentity
        ? sql`nextval(pg_get_serial_sequence(${sql.raw(`'${getTableName(table)}', '${column.name}'`)}))`
        : sql`NULL`;
    });
    // Without a condition SQLite takes ON CONFLICT for that of a join.
    const insert = q.insert(table).select(sql`SELECT ${sql.join(values, sql`, `)} FROM ${source} WHERE true`);
    const careful = on_conflict_skip ? insert.onConflictDoNothing({ target: on_conflict_skip }) : insert;
    return returning ? careful.returning(returning).toSQL() : careful.toSQL();
  });
  const written = await q.run(text, [json], true);
  return returning ? readRows(returning, written) : [];
}

/** One row without JSON around it, which databases take in half the time. */
async function insertOne<T extends PgTable, F extends Columns>(
  q: Queries,
  table: T,
  row: T["$inferInsert"],
  returning: F | undefined,
): Promise<RowOf<F>[]> {
  const columns: Columns = getTableColumns(table);
  const given: Record<string, unknown> = row;
  const names: string[] = [];
  const values: unknown[] = [];
  for (const name in columns) {
    if (!(name in given)) continue;
    const value = given[name] ?? null;
    names.push(name);
    values.push(value === null ? null : columns[name]?.mapToDriverValue(value));
  }
  const text = textOf(table, `one ${names.join()} returning ${namesOf(returning)}`, () => {
    const places = Object.fromEntries(names.map((name) => [name, sql.placeholder(name)]));
    const insert = q.insert(table).values(places as T["$inferInsert"]);
    const built = returning ? insert.returning(returning).toSQL() : insert.toSQL();
    if (built.params.length === names.length) return built;
    throw new Error(`Cannot insert into ${getTableName(table)}: name the columns that have a default`);
  });
  const written = await q.run(text, values, true);
  return returning ? readRows(returning, written) : [];
}

/** The texts of inserts by table, which is of one dialect: as many as there are places in the code that insert. */
const texts = new WeakMap<PgTable, Map<string, string>>();

/** The text of a statement, which takes longer to write than to run. */
function textOf(table: PgTable, key: string, write: () => { sql: string }): string {
  const known = texts.get(table) ?? new Map<string, string>();
  texts.set(table, known);
  const text = known.get(key) ?? write().sql;
  known.set(key, text);
  return text;
}

function namesOf(columns: Columns | PgColumn[] = []): string {
  return Object.values(columns)
    .map(({ name }) => name)
    .join();
}
