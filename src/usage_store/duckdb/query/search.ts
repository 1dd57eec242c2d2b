import type { DuckDBConnection, DuckDBValue } from "@duckdb/node-api";
import { parseMetadata } from "../../metadata.ts";
import { HOUR_MS } from "../../time_buckets.ts";
import type { SearchPosition, SearchQuery, SearchResult, StoredEvent } from "../../port.ts";
import { toMillionths } from "../../append/append_request.ts";
import { whereSql } from "./filters.ts";
import { type PageHours, pageHours } from "../../query/page_hours.ts";
import { arePreferred, hoursSql } from "./rollup.ts";
import { isByTime } from "../../query/time_range.ts";
import { asDecimal, asNumber, asText, asUuid, chunksOf, Parameters, query } from "../engine/sql.ts";
import { rawWords } from "../engine/vector_words.ts";

/** The columns of an event on a page, as `toStoredEvent` reads them. */
export const PAGE_COLUMNS = "id, subscription_id, timestamp, usage::VARCHAR, metadata, created_at";

/** The place of a page among the matching events. */
interface Place {
  /** The number of matching events, on all pages. */
  total: number;
  /** A condition that few events besides the page's meet; undefined for an empty page. */
  where: ((parameters: Parameters) => string) | undefined;
  /** Events that meet it and precede the page. */
  skip: number;
}

/**
 * The page and the count, of one instant: `connection` is in a transaction. The page is located first, by few and
 * narrow columns, so that whole events are read of that place only. `has_few`: as of `Companies`.
 */
export async function search(
  connection: DuckDBConnection,
  wanted: SearchQuery,
  has_few: boolean,
): Promise<SearchResult> {
  const find = wanted.sort_by === "usage" ? placeByUsage : placeByTime;
  const { total, where, skip } = await find(connection, wanted, has_few);
  if (where === undefined) return { rows: [], total, next: null };
  const parameters = new Parameters();
  const found = await query(
    connection,
    `SELECT ${PAGE_COLUMNS} FROM usage_events
    WHERE ${where(parameters)} ${orderSql(wanted)}
    LIMIT ${parameters.integer(wanted.limit + 1)} OFFSET ${parameters.integer(skip)}`,
    parameters,
  );
  const rows = found.slice(0, wanted.limit).map(toStoredEvent);
  const last = rows.at(-1);
  return { rows, total, next: last && found.length > rows.length ? positionOf(wanted, last) : null };
}

/** Locates the page by its hours. */
export async function placeByTime(
  connection: DuckDBConnection,
  wanted: SearchQuery,
  has_few: boolean,
): Promise<Place> {
  const { after, sort_order, start_ms = 0, end_ms = Number.MAX_SAFE_INTEGER } = wanted;
  const { total, skip, first, last } = await hoursOfPage(connection, wanted, has_few);
  if (last === undefined) return { total, where: undefined, skip };
  const [from = 0, until = Number.MAX_SAFE_INTEGER] = sort_order === "asc" ? [first, last] : [last, first];
  const span = {
    start_ms: Math.max(start_ms, from * HOUR_MS),
    end_ms: Math.min(end_ms, (until + 1) * HOUR_MS),
  };
  const where = (parameters: Parameters): string => {
    const conditions = [whereSql({ ...wanted, ...span }, parameters)];
    if (after !== undefined) conditions.push(besideSql(wanted, sidesOf(wanted)[0], after, parameters));
    return conditions.join(" AND ");
  };
  return { total, where, skip };
}

/** Counts by hour, from the sums by hour where these suffice. */
async function hoursOfPage(
  connection: DuckDBConnection,
  wanted: SearchQuery,
  has_few: boolean,
): Promise<PageHours> {
  const parameters = new Parameters();
  const hour_counts =
    isByTime(wanted) && arePreferred(wanted, has_few)
      ? hoursSql(wanted, parameters)
      : `SELECT timestamp // ${HOUR_MS} AS hour, count(*) AS events FROM usage_events
      WHERE ${whereSql(wanted, parameters)} GROUP BY hour`;
  const chunks = await chunksOf(
    connection,
    `SELECT hour::INTEGER, sum(events)::BIGINT FROM (${hour_counts}) GROUP BY hour`,
    parameters,
  );
  const counts = chunks.flatMap((chunk) => {
    const [hours, events] = [0, 1].map((column) => rawWords(chunk.getColumnVector(column)));
    if (!hours || !events) throw new TypeError("Cannot read the counts by hour: a column is missing");
    return Array.from({ length: chunk.rowCount }, (_, row) => ({
      hour: (hours[row] ?? 0) | 0,
      events: (events[row * 2] ?? 0) + (events[row * 2 + 1] ?? 0) * 2 ** 32,
    }));
  });
  return pageHours(counts, wanted);
}

/** Counts, and locates the page by the first and last usage and id on it. */
async function placeByUsage(
  connection: DuckDBConnection,
  wanted: SearchQuery,
  has_few: boolean,
): Promise<Place> {
  const { after } = wanted;
  const [ahead, behind] = sidesOf(wanted);
  const counting = new Parameters();
  const [[total] = []] = await query(
    connection,
    isByTime(wanted) && arePreferred(wanted, has_few)
      ? `SELECT coalesce(sum(events), 0) FROM (${hoursSql(wanted, counting)})`
      : `SELECT count(*) FROM usage_events WHERE ${whereSql(wanted, counting)}`,
    counting,
  );
  const parameters = new Parameters();
  const beyond = after === undefined ? "" : `AND ${besideSql(wanted, ahead, after, parameters)}`;
  const places = await query(
    connection,
    `SELECT usage::VARCHAR, id FROM usage_events WHERE ${whereSql(wanted, parameters)} ${beyond}
    ${orderSql(wanted)}
    LIMIT ${parameters.integer(wanted.limit + 1)} OFFSET ${parameters.integer(wanted.offset)}`,
    parameters,
  );
  const [first, last] = [places[0], places.at(-1)].map(
    (place) => place && { value: asDecimal(place[0]), id: asUuid(place[1]).toString() },
  );
  const where = (into: Parameters): string =>
    [
      whereSql(wanted, into),
      ...(first ? [besideSql(wanted, `${ahead}=`, first, into)] : []),
      ...(last ? [besideSql(wanted, `${behind}=`, last, into)] : []),
    ].join(" AND ");
  return { total: asNumber(total), where: first === undefined ? undefined : where, skip: 0 };
}

/** The comparisons for events after a place in the order, and before. */
export function sidesOf({ sort_order }: SearchQuery): readonly [ahead: "<" | ">", behind: "<" | ">"] {
  return sort_order === "asc" ? [">", "<"] : ["<", ">"];
}

type Comparison = ">" | "<" | ">=" | "<=";

/** SQL for events on one side of a place in the order, the place itself included by an `=`. */
export function besideSql(
  { sort_by }: SearchQuery,
  comparison: Comparison,
  { value, id }: SearchPosition,
  parameters: Parameters,
): string {
  const wanted =
    sort_by === "usage" ? parameters.usage(toMillionths(value)) : parameters.integer(Number(value));
  // By the first condition the engine skips blocks.
  return `${sort_by} ${comparison[0]}= ${wanted} AND (${sort_by} <> ${wanted} OR id ${comparison} ${parameters.uuid(id)})`;
}

/** The total order of a search. */
export function orderSql({ sort_by, sort_order }: SearchQuery): string {
  return `ORDER BY ${sort_by} ${sort_order}, id ${sort_order}`;
}

/** The place of an event in the order of a search. */
export function positionOf({ sort_by }: SearchQuery, { timestamp, usage, id }: StoredEvent): SearchPosition {
  return { value: sort_by === "usage" ? usage : String(timestamp), id };
}

/** Reads the columns of an event on a page. */
export function toStoredEvent(row: DuckDBValue[]): StoredEvent {
  const [id, subscription_id, timestamp, usage, metadata, created_at] = row;
  return {
    id: asUuid(id).toString(),
    subscription_id: asNumber(subscription_id),
    timestamp: asNumber(timestamp),
    usage: asDecimal(usage),
    metadata: metadata === null ? null : parseMetadata(asText(metadata)),
    created_at: asNumber(created_at),
  };
}
