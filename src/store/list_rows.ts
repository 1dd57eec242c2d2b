import { and, asc, desc, eq, getTableColumns, getTableName, type SQL, sql } from "drizzle-orm";
import type { PgColumn, PgTable } from "drizzle-orm/pg-core";
import type { TObject } from "@sinclair/typebox";
import type { Slice } from "../core/pagination.ts";
import { idInList, idList } from "./expressions.ts";
import { keptSelect } from "./kept_select.ts";
import type { RowOf, Selection } from "./row_of.ts";
import { countRows, type RowQuery, selectRows } from "./select_rows.ts";
import type { Reads } from "./store.ts";

type Columns<T extends PgTable> = T["_"]["columns"];

/** The columns of a table that a wire schema names: a column that it does not name is never read. */
export function columnsOf<T extends PgTable, S extends TObject>(
  table: T,
  schema: Exclude<keyof S["properties"], keyof Columns<T>> extends never ? S : never,
): Pick<Columns<T>, keyof S["properties"] & keyof Columns<T>>;
export function columnsOf(table: PgTable, schema: TObject): Record<string, PgColumn> {
  const of_table = selections.get(table) ?? new WeakMap<TObject, Record<string, PgColumn>>();
  selections.set(table, of_table);
  const kept = of_table.get(schema);
  if (kept) return kept;
  const columns = getTableColumns(table);
  const selected = Object.fromEntries(
    Object.keys(schema.properties).flatMap((name) => {
      const column = columns[name];
      return column ? [[name, column]] : [];
    }),
  );
  of_table.set(schema, selected);
  return selected;
}

/** Made once, so that a query is known again by them. */
const selections = new WeakMap<PgTable, WeakMap<TObject, Record<string, PgColumn>>>();

/**
 * Rows whose columns equal the values given; what is undefined narrows nothing. Errors: throws for a value without a
 * column, since a filter must not be dropped silently.
 */
export function matching<T extends PgTable>(
  table: T,
  values: { [K in keyof T["$inferSelect"]]?: T["$inferSelect"][K] | undefined },
): SQL | undefined {
  const columns: Record<string, PgColumn> = getTableColumns(table);
  return and(
    ...Object.entries(values).map(([name, value]) => {
      if (value === undefined) return undefined;
      const column = columns[name];
      if (!column) throw new Error(`Cannot filter ${getTableName(table)} by ${name}: it has no such column`);
      return eq(column, value);
    }),
  );
}

/** The order that a list's `sort` names, ties by id; texts whatever their case, rows without a value last. Without one by id. */
export function orderOf(table: PgTable & { id: PgColumn }, sort: string | undefined): SQL[] {
  if (sort === undefined) return [asc(table.id)];
  const columns: Record<string, PgColumn> = getTableColumns(table);
  const column = columns[sort.replace("-", "")];
  if (!column) throw new Error(`Cannot sort ${getTableName(table)} by ${sort}: it has no such column`);
  const by =
    column.dataType === "string" && !column.name.endsWith("_at") ? sql`lower(${column})` : sql`${column}`;
  const ordered = sort.startsWith("-") ? desc(by) : asc(by);
  if (column === table.id) return [ordered];
  // Databases differ in where they put nulls; an index answers for columns without.
  return [column.notNull ? ordered : sql`${ordered} nulls last`, asc(table.id)];
}

/** One page of a table's rows, and how many there are in all. */
export async function listRows<F extends Selection>(
  q: Reads,
  table: PgTable,
  { slice, ...query }: Omit<RowQuery<F>, "limit" | "offset"> & { slice: Slice },
): Promise<{ rows: RowOf<F>[]; total: number }> {
  const { limit, offset } = slice;
  const rows = await selectRows(q, table, { ...query, limit, offset });
  // Where the page is the last one, it tells how many there are.
  const is_last = rows.length < limit && (rows.length > 0 || offset === 0);
  const total = is_last ? offset + rows.length : await countRows(q, table, query.where);
  return { rows, total };
}

/** Rows of a table by their ids, each once; those of no row are left out. */
export async function rowsById<F extends Selection & { readonly id: PgColumn }>(
  q: Reads,
  table: PgTable,
  columns: F,
  ids: readonly number[],
): Promise<Map<number, RowOf<F>>> {
  const select =
    selects.get(columns) ?? keptSelect(() => ({ table, columns, where: idInList(columns.id, IDS) }));
  selects.set(columns, select);
  const rows = await select(q, { ids: idList([...new Set(ids)]) });
  return new Map(rows.map((row) => [Number(row["id"]), row as RowOf<F>]));
}

const IDS = sql.placeholder("ids");

/** Their queries by what they select, which is of one table and dialect. */
const selects = new WeakMap<Selection, ReturnType<typeof keptSelect>>();

/** The row that a query finds first; undefined when there is none. */
export async function findRow<F extends Selection>(
  q: Reads,
  table: PgTable | SQL,
  query: RowQuery<F>,
): Promise<RowOf<F> | undefined> {
  const [row] = await selectRows(q, table, query);
  return row;
}
