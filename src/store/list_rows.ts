import { and, eq, getTableColumns, getTableName, type SQL } from "drizzle-orm";
import type { PgColumn, PgTable } from "drizzle-orm/pg-core";
import type { TObject } from "@sinclair/typebox";
import type { Slice } from "../core/pagination.ts";
import type { RowOf } from "./row_of.ts";
import type { Reads } from "./store.ts";

type Columns<T extends PgTable> = T["_"]["columns"];

/** The columns of a table that a wire schema names: a column that it does not name is never read. */
export function columnsOf<T extends PgTable, S extends TObject>(
  table: T,
  schema: Exclude<keyof S["properties"], keyof Columns<T>> extends never ? S : never,
): Pick<Columns<T>, keyof S["properties"] & keyof Columns<T>>;
export function columnsOf(table: PgTable, schema: TObject): Record<string, PgColumn> {
  const columns = getTableColumns(table);
  return Object.fromEntries(
    Object.keys(schema.properties).flatMap((name) => {
      const column = columns[name];
      return column ? [[name, column]] : [];
    }),
  );
}

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

/** One page of a table's rows, and how many there are in all. */
export async function listRows<F extends Record<string, PgColumn>>(
  q: Reads,
  table: PgTable,
  { columns, where, order, slice }: { columns: F; where: SQL | undefined; order: SQL; slice: Slice },
): Promise<{ rows: RowOf<F>[]; total: number }> {
  const selected: Record<string, PgColumn> = columns;
  const { limit, offset } = slice;
  const rows = await q.select(selected).from(table).where(where).orderBy(order).limit(limit).offset(offset);
  return { rows: rows as RowOf<F>[], total: await q.$count(table, where) };
}

/** The row that a condition finds; undefined when there is none. */
export async function findRow<F extends Record<string, PgColumn>>(
  q: Reads,
  table: PgTable,
  { columns, where }: { columns: F; where: SQL | undefined },
): Promise<RowOf<F> | undefined> {
  const selected: Record<string, PgColumn> = columns;
  const [row] = await q.select(selected).from(table).where(where);
  return row as RowOf<F> | undefined;
}
