import {
  type AnyColumn,
  and,
  eq,
  gte,
  inArray,
  is,
  lt,
  type Placeholder,
  type SQL,
  type SQLWrapper,
  sql,
} from "drizzle-orm";
import { SQLiteColumn } from "drizzle-orm/sqlite-core";
import type { Scope } from "../core/access.ts";
import type { Amounts } from "../core/money.ts";
import { instant, iso } from "../core/time.ts";

// The few SQL fragments that queries share.

/** The rows of a table that belongs to the company as a whole: a client user sees none. */
export function companyOwned(table: { id: AnyColumn; company_id: AnyColumn }, scope: Scope): SQL | undefined {
  return and(
    eq(table.company_id, scope.company_id),
    scope.client_id === undefined ? undefined : inArray(table.id, []),
  );
}

/**
 * Whether the text contains `part`, whatever the case; % and _ stand for themselves. SQLite folds the case of
 * ASCII letters only: others must be spelled as they are.
 */
export function contains(column: AnyColumn, part: string): SQL {
  const pattern = `%${part.replace(/[\\%_]/g, "\\$&")}%`;
  // SQLite's LIKE folds ASCII letters by itself, in half the time.
  if (is(column, SQLiteColumn)) return sql`${column} LIKE ${pattern} ESCAPE '\\'`;
  return sql`lower(${column}) LIKE lower(${pattern}) ESCAPE '\\'`;
}

/**
 * Whether the text begins with `part`, as `contains` compares: by the order of its lower case, so that an index of that
 * finds it.
 */
export function startingWith(column: AnyColumn, part: string): SQL {
  if (is(column, SQLiteColumn))
    return sql`(lower(${column}) >= lower(${part}) AND lower(${column}) < lower(${part}) || char(1114111))`;
  return sql`(lower(${column}) COLLATE "C" >= lower(${part}) AND lower(${column}) COLLATE "C" < lower(${part}) || chr(1114111))`;
}

/** As `contains`; without a part it narrows nothing. */
export function containing(column: AnyColumn, part: string | undefined): SQL | undefined {
  return part === undefined ? undefined : contains(column, part);
}

/** Instants from `from`, up to but without `to`; a bound that is undefined narrows nothing. */
export function within(
  column: AnyColumn,
  { from, to }: { from?: string | undefined; to?: string | undefined },
): SQL | undefined {
  return and(
    from === undefined ? undefined : gte(column, iso(instant(from))),
    to === undefined ? undefined : lt(column, iso(instant(to))),
  );
}

/** Whether the text is one of many: the same SQL however many there are. */
export function textIn(column: AnyColumn, texts: readonly string[]): SQL {
  const list = JSON.stringify(texts);
  return is(column, SQLiteColumn)
    ? sql`${column} IN (SELECT value FROM json_each(${list}))`
    : sql`${column} = ANY(ARRAY(SELECT json_array_elements_text(${list}::json)))`;
}

/**
 * A column of all rows as one list, null where there is none: many thousand rows are read as one text in a hundredth
 * of the time that a row for each takes. Several such columns of one statement are in the same order.
 */
export function listOf<C extends AnyColumn>(column: C): SQL<C["_"]["data"][] | null> {
  return listOfValues<C["_"]["data"]>(column, column);
}

/** As `listOf`, of an expression in a statement over the table of `column`; the values are as JSON has them. */
export function listOfValues<T>(value: SQLWrapper, column: AnyColumn): SQL<T[] | null> {
  const list = is(column, SQLiteColumn) ? sql`json_group_array(${value})` : sql`json_agg(${value})::text`;
  return list.mapWith((text: string): T[] => JSON.parse(text)) as SQL<T[] | null>;
}

/** Amounts of so many characters are added up as whole numbers: nine million of them fit in 64 bits. */
const SHORT_AMOUNT = 13;

/** The sum of a column of amounts in two parts, as text: whole minor units, and the amounts too large for that. */
export interface AmountParts {
  minor_units: SQL<string | null>;
  large: SQL<string | null>;
}

/** The sum of a column of amounts that have all digits of their currency, exact: SQLite's own would be a binary fraction. */
export function amountParts(column: AnyColumn): AmountParts {
  if (!is(column, SQLiteColumn))
    return { minor_units: sql`replace(sum(${column})::text, '.', '')`, large: sql`NULL::text` };
  const digits = sql`CAST(replace(${column}, '.', '') AS INTEGER)`;
  const is_long = sql`length(${column}) > ${SHORT_AMOUNT}`;
  return {
    minor_units: sql`CAST(sum(CASE WHEN ${is_long} THEN 0 ELSE ${digits} END) AS TEXT)`,
    large: sql`group_concat(CASE WHEN ${is_long} THEN ${column} END)`,
  };
}

/** Reads both parts of a sum. */
export function readAmounts(minor_units: string | null, large: string | null): Amounts {
  return { minor_units: BigInt(minor_units ?? 0), large: large === null ? [] : large.split(",") };
}

/** Both parts of a sum as one. */
export function amountsOf(column: AnyColumn): SQL<Amounts> {
  const { minor_units, large } = amountParts(column);
  const json = is(column, SQLiteColumn)
    ? sql<Amounts>`json_array(${minor_units}, ${large})`
    : sql<Amounts>`json_build_array(${minor_units}, ${large})::text`;
  return json.mapWith((text: string): Amounts => {
    const [minor, of_large]: [string | null, string | null] = JSON.parse(text);
    return readAmounts(minor, of_large);
  });
}

/** Whether the number is one of many: the same SQL however many there are. */
export function idIn(column: AnyColumn, numbers: readonly number[]): SQL {
  return idInList(column, idList(numbers));
}

/** Whether the number is one of those in a query, such as "7,8"; undefined narrows nothing. */
export const idListed = (column: AnyColumn, ids: string | undefined): SQL | undefined =>
  ids === undefined ? undefined : idIn(column, ids.split(",").map(Number));

/** As `idIn`, of numbers as `idList` writes them. */
export function idInList(column: AnyColumn, list: string | Placeholder): SQL {
  return is(column, SQLiteColumn)
    ? sql`${column} IN (SELECT value FROM json_each(${list}))`
    : sql`${column} = ANY(ARRAY(SELECT json_array_elements_text(${list}::json)::bigint))`;
}

/** Numbers as one parameter. */
export const idList = (numbers: readonly number[]): string => JSON.stringify(numbers);

/** A residual filter: the planner cannot choose an index for it. For rows that are looked up by id. */
export function filterOnly(condition: SQL | undefined): SQL {
  return sql`CASE WHEN ${condition ?? sql`true`} THEN 1 ELSE 0 END = 1`;
}

/** All rows of a company, or those with one of the ids in a column, by which they are looked up. */
export function ofCompany(
  table: { company_id: AnyColumn },
  company_id: number,
  column: AnyColumn,
  ids: readonly number[] | undefined,
): SQL | undefined {
  const is_own = eq(table.company_id, company_id);
  return ids === undefined ? is_own : and(idIn(column, ids), filterOnly(is_own));
}

/** An exact decimal as a number: to compare and to sort by, never to add up. On SQLite it has 15 digits. */
export function numberOf(column: AnyColumn): SQL {
  return is(column, SQLiteColumn) ? sql`CAST(${column} AS REAL)` : sql`${column}`;
}
