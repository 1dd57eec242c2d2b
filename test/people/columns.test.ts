import { expect, test } from "bun:test";
import { getTableColumns, getTableName } from "drizzle-orm";
import { COLUMN_KINDS } from "../../src/people/columns.ts";
import { TEXT_TABLES } from "../../src/people/text_queries.ts";
import { defineTables } from "../../src/server/schema.ts";
import { columnKit } from "../../src/store/columns.ts";
import { postgresColumns } from "../../src/store/columns.postgres.ts";
import { sqliteColumns } from "../../src/store/columns.sqlite.ts";

/** The columns that hold text or JSON, but for words of a fixed list; instants and numbers are no text there. */
const on_postgres = Object.values(defineTables(columnKit(postgresColumns))).flatMap((table) =>
  Object.entries(getTableColumns(table)).flatMap(([name, column]) => {
    const is_text = ["text", "jsonb"].includes(column.getSQLType()) && !column.enumValues?.length;
    return is_text ? [`${getTableName(table)}.${name}`] : [];
  }),
);

test("every column that holds text or JSON says what it may say of a person", () => {
  const classified = Object.entries(COLUMN_KINDS).flatMap(([table, kinds]) =>
    Object.values(kinds).flatMap((names) => names.map((name) => `${table}.${name}`)),
  );
  expect(classified.toSorted()).toEqual(on_postgres.toSorted());
  expect(new Set(classified).size).toBe(classified.length);
});

test("both databases have these columns, as text or JSON", () => {
  const on_sqlite = Object.values(defineTables(columnKit(sqliteColumns))).flatMap((table) =>
    Object.entries(getTableColumns(table)).flatMap(([name, column]) =>
      column.getSQLType() === "text" ? [`${getTableName(table)}.${name}`] : [],
    ),
  );
  expect(on_postgres.filter((column) => !on_sqlite.includes(column))).toEqual([]);
});

test("every table with texts in which anybody may be named is looked through", () => {
  const { use } = columnKit(sqliteColumns);
  const named = Object.entries(COLUMN_KINDS).flatMap(([table, { text }]) => (text ? [table] : []));
  expect(TEXT_TABLES.map((table) => getTableName(use(table))).toSorted()).toEqual(named.toSorted());
});
