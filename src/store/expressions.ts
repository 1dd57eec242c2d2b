import { type AnyColumn, and, eq, gte, inArray, is, lt, type Placeholder, type SQL, sql } from "drizzle-orm";
import { SQLiteColumn } from "drizzle-orm/sqlite-core";
import type { Scope } from "../core/access.ts";
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
  return sql`lower(${column}) LIKE lower(${pattern}) ESCAPE '\\'`;
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
  const list = is(column, SQLiteColumn) ? sql`json_group_array(${column})` : sql`json_agg(${column})::text`;
  return list.mapWith((text: string): C["_"]["data"][] => JSON.parse(text)) as SQL<C["_"]["data"][] | null>;
}

/** Whether the number is one of many: the same SQL however many there are. */
export function idIn(column: AnyColumn, numbers: readonly number[]): SQL {
  return idInList(column, idList(numbers));
}

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
