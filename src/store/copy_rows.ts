import { count, getTableColumns, getTableName, sql } from "drizzle-orm";
import { getTableConfig, type PgTable } from "drizzle-orm/pg-core";
import { insertRows } from "./insert_rows.ts";
import { isKeyed, lastKey, raiseKey } from "./key_sequences.ts";
import { selectRows } from "./select_rows.ts";
import type { TableDefinition } from "./columns.ts";
import type { Queries, Reads } from "./store.ts";

/** The definition of any table. */
export type AnyTable = TableDefinition<PgTable>;

/** Rows that are read and written at once. */
const PAGE = 500;

/**
 * Copies the rows of all tables from a SQLite database to another one whose tables are empty and up to date, and makes
 * the latter's keys go on where those of the former end. `onRows` is told how many were copied in all.
 * Errors: throws where a row is stored otherwise than it was read, or one is missing.
 */
export async function copyRows(
  from: Reads,
  to: Queries,
  tables: readonly AnyTable[],
  { onRows = () => undefined }: { onRows?: (copied: number) => void } = {},
): Promise<void> {
  let copied = 0;
  for (const table of inOrder(to, tables)) {
    for await (const rows of copyTable(from, to, table)) onRows((copied += rows));
    const [source, target] = [from.use(table), to.use(table)];
    const [had, has] = [await countRows(from, source), await countRows(to, target)];
    if (had !== has)
      throw new Error(`Cannot copy ${getTableName(source)}: of its ${had} rows ${has} were copied`);
    if (isKeyed(source) && isKeyed(target)) await raiseKey(to, target, await lastKey(from, source));
  }
}

/** Tells after each page how many rows it had. */
async function* copyTable(from: Reads, to: Queries, table: AnyTable): AsyncGenerator<number> {
  const source = from.use(table);
  // A key of 0 is one too: SQLite counts from 1, but a table's own numbers may be its keys.
  for (let last = -1; ; ) {
    const page = await selectRows(from, source, {
      columns: { rowid: sql<number>`rowid`, ...getTableColumns(source) },
      where: sql`rowid > ${last}`,
      order: sql`rowid`,
      limit: PAGE,
    });
    const rows = page.map(({ rowid, ...row }) => {
      last = rowid;
      return row;
    });
    const target = to.use(table);
    const stored = await insertRows(to, target, rows, { returning: getTableColumns(target) });
    for (const [i, row] of rows.entries()) {
      const there: Record<string, unknown> = stored[i] ?? {};
      const [name] =
        Object.entries(row).find(([column, value]) => !Bun.deepEquals(value, there[column])) ?? [];
      if (name !== undefined)
        throw new Error(`Cannot copy ${getTableName(source)}: its ${name} is stored as another one`);
    }
    yield page.length;
    if (page.length < PAGE) return;
  }
}

async function countRows(q: Reads, table: PgTable): Promise<number> {
  const [row] = await q.select({ rows: count() }).from(table);
  return row?.rows ?? 0;
}

/** The tables, each after those that it refers to. `q` is PostgreSQL's: its definitions know the references. */
function inOrder(q: Reads, tables: readonly AnyTable[]): AnyTable[] {
  const left = new Map(tables.map((table) => [q.use(table), table]));
  const ordered: AnyTable[] = [];
  while (left.size > 0) {
    const ready = [...left].filter(([own]) =>
      getTableConfig(own).foreignKeys.every((key) => {
        const { foreignTable } = key.reference();
        return foreignTable === own || !left.has(foreignTable);
      }),
    );
    if (ready.length === 0) throw new Error("Cannot copy the tables: some refer to one another in a circle");
    for (const [own, table] of ready) {
      left.delete(own);
      ordered.push(table);
    }
  }
  return ordered;
}
