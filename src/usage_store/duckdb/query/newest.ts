import type { DuckDBConnection } from "@duckdb/node-api";
import { MAX_TIMESTAMP_MS, type SearchQuery, type SearchResult } from "../../port.ts";
import { whereSql } from "./filters.ts";
import { isByTime } from "../../query/time_range.ts";
import { orderSql, PAGE_COLUMNS, positionOf, toStoredEvent } from "./search.ts";
import { asNumber, Parameters, query } from "../engine/sql.ts";

/** The capacity of the cache: the companies whose newest events were asked for last. */
const CACHED_COMPANIES = 10_000;

/** Events of all companies since then, beyond which a page is located anew: it might read all of them. */
const MAX_NEW_EVENTS = 100_000;

/** At least `events` of a company's events are at `since_ms` or later. */
interface Newest {
  events: number;
  since_ms: number;
  /** The number of the next event, at that time. */
  next_seq: number;
}

/**
 * A cache of how far back the first page of all events reaches, newest first. Events do not change, and only the
 * oldest go, so that it never has to reach further: one statement then reads the page and counts.
 */
export class NewestEvents {
  readonly #cached = new Map<number, Newest>();

  /** Where such a page begins at the latest; undefined when it must be located. */
  sinceOf(wanted: SearchQuery, next_seq: number): number | undefined {
    const newest = isFirstOfAll(wanted) ? this.#cached.get(wanted.company_id) : undefined;
    if (newest === undefined || newest.events < wanted.limit) return undefined;
    return next_seq - newest.next_seq > MAX_NEW_EVENTS ? undefined : newest.since_ms;
  }

  /** `next_seq`: as it was before the search. */
  remember(wanted: SearchQuery, { rows, next }: SearchResult, next_seq: number): void {
    if (!isFirstOfAll(wanted)) return;
    const all = { events: Number.POSITIVE_INFINITY, since_ms: 0 };
    const last = next && rows.at(-1);
    this.#cached.delete(wanted.company_id);
    this.#cached.set(wanted.company_id, {
      ...(last ? { events: rows.length, since_ms: last.timestamp } : all),
      next_seq,
    });
    if (this.#cached.size <= CACHED_COMPANIES) return;
    const [oldest] = this.#cached.keys();
    if (oldest !== undefined) this.#cached.delete(oldest);
  }
}

/** Whether it is the first page of all events of the company, newest first. */
function isFirstOfAll(wanted: SearchQuery): boolean {
  const { start_ms, end_ms, after, offset, sort_by, sort_order } = wanted;
  const is_all = isByTime(wanted) && start_ms === undefined && end_ms === undefined;
  return is_all && after === undefined && offset === 0 && sort_by === "timestamp" && sort_order === "desc";
}

/** The first page of all events, which are at `since_ms` or later, and the count, as the row of the latest time. */
export async function newestPage(
  connection: DuckDBConnection,
  wanted: SearchQuery,
  since_ms: number,
): Promise<SearchResult> {
  const { company_id, limit } = wanted;
  const parameters = new Parameters();
  const [[, , , , , count] = [], ...found] = await query(
    connection,
    `SELECT ${PAGE_COLUMNS} FROM usage_events WHERE ${whereSql({ company_id, start_ms: since_ms }, parameters)}
    UNION ALL
    SELECT NULL, NULL, ${parameters.integer(MAX_TIMESTAMP_MS + 1)}, NULL, NULL, coalesce(sum(events), 0)::BIGINT
      FROM usage_hours WHERE ${whereSql({ company_id }, parameters)}
    ${orderSql(wanted)} LIMIT ${parameters.integer(limit + 1)}`,
    parameters,
  );
  const rows = found.map(toStoredEvent);
  const total = asNumber(count);
  const last = rows.at(-1);
  return { rows, total, next: last && total > rows.length ? positionOf(wanted, last) : null };
}
