import { is, type SQL, sql } from "drizzle-orm";
import type { PgColumn } from "drizzle-orm/pg-core";
import { SQLiteColumn } from "drizzle-orm/sqlite-core";

/** Bulk values as one JSON parameter: the statement text does not depend on the number of rows. */
export interface JsonRows {
  /** The parameter. */
  readonly text: string;
  /** What they are read from. */
  readonly source: SQL;
  /** A column's value in each of them. */
  readonly value: (name: string) => SQL;
}

/** The named columns of some rows of a table, for a statement that goes through them. */
export function jsonRows(
  columns: Readonly<Record<string, PgColumn>>,
  names: readonly string[],
  rows: readonly Readonly<Record<string, unknown>>[],
): JsonRows {
  const fields = names.map((name) => ({ name, column: columnOf(columns, name) }));
  const text = JSON.stringify(
    rows.map((row) =>
      fields.map(({ name, column }) => {
        const value = row[name] ?? null;
        return value === null ? null : column.mapToDriverValue(value);
      }),
    ),
  );
  const on_sqlite = fields.some(({ column }) => is(column, SQLiteColumn));
  return {
    text,
    source: on_sqlite ? sql`json_each(${text}) AS item` : sql`json_array_elements(${text}::json) AS item`,
    value: (name) => {
      const place = sql.raw(String(names.indexOf(name)));
      return on_sqlite
        ? sql`item.value ->> ${place}`
        : sql`(item.value ->> ${place})::${sql.raw(columnOf(columns, name).getSQLType())}`;
    },
  };
}

function columnOf(columns: Readonly<Record<string, PgColumn>>, name: string): PgColumn {
  const column = columns[name];
  if (column === undefined) throw new Error(`Cannot write rows: there is no column ${name}`);
  return column;
}
