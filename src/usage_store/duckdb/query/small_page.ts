import type { DuckDBConnection } from "@duckdb/node-api";
import type { SearchQuery, SearchResult } from "../../port.ts";
import { whereSql } from "./filters.ts";
import { besideSql, orderSql, PAGE_COLUMNS, positionOf, sidesOf, toStoredEvent } from "./search.ts";
import { asNumber, Parameters, query } from "../engine/sql.ts";

/** What reading an event whole takes beside its usage alone. */
export const WEIGHT = 10;

/**
 * The page and the count by one statement, which reads all matching events whole: few are read faster than the page is
 * located first. Undefined for an empty page after others: it says nothing about the count.
 */
export async function smallPage(
  connection: DuckDBConnection,
  wanted: SearchQuery,
): Promise<SearchResult | undefined> {
  const { after, limit, offset } = wanted;
  const parameters = new Parameters();
  const where = whereSql(wanted, parameters);
  // Outside of the counted events: all pages have the same count.
  const beyond =
    after === undefined ? "" : `WHERE ${besideSql(wanted, sidesOf(wanted)[0], after, parameters)}`;
  const found = await query(
    connection,
    `SELECT ${PAGE_COLUMNS}, matching FROM (SELECT *, count(*) OVER () AS matching FROM usage_events WHERE ${where})
    ${beyond} ${orderSql(wanted)}
    LIMIT ${parameters.integer(limit + 1)} OFFSET ${parameters.integer(offset)}`,
    parameters,
  );
  const [first] = found;
  if (first === undefined) {
    return after === undefined && offset === 0 ? { rows: [], total: 0, next: null } : undefined;
  }
  const rows = found.slice(0, limit).map(toStoredEvent);
  const last = rows.at(-1);
  const next = last && found.length > rows.length ? positionOf(wanted, last) : null;
  return { rows, total: asNumber(first.at(-1)), next };
}
