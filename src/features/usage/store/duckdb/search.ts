import { type DuckDBConnection, DuckDBListValue, type DuckDBValue } from "@duckdb/node-api";
import { parseMetadata } from "../metadata.ts";
import { HOUR_MS } from "../time_buckets.ts";
import type { EventFilter, SearchPosition, SearchQuery, SearchResult, StoredEvent } from "../usage_store.ts";
import { toMillionths } from "./append_request.ts";
import { whereSql } from "./filters.ts";
import { hoursSql, isByTime } from "./rollup.ts";
import { asDecimal, asNumber, asText, asUuid, Parameters, query } from "./sql.ts";

/** Where a page is to be looked for. */
interface Place {
  /** How many events match the search, on all its pages. */
  total: number;
  /** A condition that few events beside the page's meet. Undefined when there is nothing on the page. */
  where: ((parameters: Parameters) => string) | undefined;
  /** Events that meet it and come before the page. */
  skip: number;
}

/** Hours up to so many are named one by one, so that a costly filter is put to their events only. */
const FEW_HOURS = 1_000;

/**
 * The page and the count, of one instant: `connection` is in a transaction. First it finds out where the page
 * lies, from few and narrow columns, so that whole events are read of that place only.
 */
export async function search(connection: DuckDBConnection, wanted: SearchQuery): Promise<SearchResult> {
  const find = wanted.sort_by === "usage" ? placeByUsage : placeByTime;
  const { total, where, skip } = await find(connection, wanted);
  if (where === undefined) return { rows: [], total, next: null };
  const parameters = new Parameters();
  const found = await query(
    connection,
    `SELECT id, subscription_id, timestamp, usage::VARCHAR, metadata, created_at FROM usage_events
    WHERE ${where(parameters)} ${orderSql(wanted)}
    LIMIT ${parameters.integer(wanted.limit + 1)} OFFSET ${parameters.integer(skip)}`,
    parameters,
  );
  const rows = found.slice(0, wanted.limit).map(toStoredEvent);
  const last = rows.at(-1);
  return { rows, total, next: last && found.length > rows.length ? positionOf(wanted, last) : null };
}

/**
 * Counts by hour, from the sums by hour where they tell, and takes the hours in which the page lies. Where a
 * filter leaves few events, that also spares a second look at all of them.
 */
export async function placeByTime(connection: DuckDBConnection, wanted: SearchQuery): Promise<Place> {
  const { after, offset, sort_order } = wanted;
  const parameters = new Parameters();
  const by_hour = isByTime(wanted);
  const counted = by_hour
    ? `SELECT hour, sum(events) AS events FROM (${hoursSql(wanted, parameters)}) GROUP BY hour`
    : `SELECT timestamp // ${HOUR_MS} AS hour, count(*) AS events FROM usage_events
      WHERE ${whereSql(wanted, parameters)} GROUP BY hour`;
  // How much of the position's own hour comes after it is not known: as if nothing did.
  const hour = after && parameters.integer(Math.floor(Number(after.value) / HOUR_MS));
  const [ahead, behind] = sidesOf(wanted);
  const events = hour === undefined ? "events" : `if(hour ${ahead} ${hour}, events, 0)`;
  const passed = hour === undefined ? `upto <= ${parameters.integer(offset)}` : `hour ${behind} ${hour}`;
  const need = parameters.integer(offset + wanted.limit + 1);
  const reached = `NOT (${passed}) AND upto - events < ${need}`;
  const is_costly = wanted.metadata !== undefined || wanted.metadata_search !== undefined;
  const listed_hours = is_costly ? `(list(hour) FILTER (${reached}))[:${FEW_HOURS + 1}]` : "NULL";
  const [[total, passed_events, first, last, listed] = []] = await query(
    connection,
    `WITH counted AS (${counted}),
      running AS (SELECT hour, events AS all_events, ${events} AS events,
        sum(${events}) OVER (ORDER BY hour ${sort_order}) AS upto FROM counted)
    SELECT coalesce(sum(all_events), 0), coalesce(max(upto) FILTER (${passed}), 0),
      min(hour) FILTER (${reached}), max(hour) FILTER (${reached}), ${listed_hours}
    FROM running`,
    parameters,
  );
  const found = { total: asNumber(total), skip: offset - asNumber(passed_events) };
  if (first === null) return { ...found, where: undefined };
  const span = spanOf(wanted, asNumber(first), asNumber(last));
  const hours = listed instanceof DuckDBListValue ? listed.items.map(asNumber) : [];
  const where = (into: Parameters): string => {
    const conditions = [whereSql({ ...wanted, ...span }, into)];
    if (hours.length > 0 && hours.length <= FEW_HOURS)
      conditions.push(`timestamp // ${HOUR_MS} IN (${hours.join(", ")})`);
    if (after !== undefined) conditions.push(besideSql(wanted, ahead, after, into));
    return conditions.join(" AND ");
  };
  return { ...found, where };
}

/** What of the filter's window lies from the first hour to the last. */
function spanOf(
  { start_ms = 0, end_ms = Number.MAX_SAFE_INTEGER }: EventFilter,
  first: number,
  last: number,
) {
  return {
    start_ms: Math.max(start_ms, first * HOUR_MS),
    end_ms: Math.min(end_ms, (last + 1) * HOUR_MS),
  };
}

/** Counts, and reads the page's own places in the order: those of its events are what lies between. */
async function placeByUsage(connection: DuckDBConnection, wanted: SearchQuery): Promise<Place> {
  const { after } = wanted;
  const [ahead, behind] = sidesOf(wanted);
  const counting = new Parameters();
  const [[total] = []] = await query(
    connection,
    isByTime(wanted)
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

/** The comparisons with what comes after in the order, and before. */
function sidesOf({ sort_order }: SearchQuery): readonly [ahead: "<" | ">", behind: "<" | ">"] {
  return sort_order === "asc" ? [">", "<"] : ["<", ">"];
}

type Comparison = ">" | "<" | ">=" | "<=";

/** Whether an event stands on one side of a place in the order, or at it where the comparison has an `=`. */
export function besideSql(
  { sort_by }: SearchQuery,
  comparison: Comparison,
  { value, id }: SearchPosition,
  parameters: Parameters,
): string {
  const wanted =
    sort_by === "usage" ? parameters.usage(toMillionths(value)) : parameters.integer(Number(value));
  // The first condition is one by which the engine skips blocks.
  return `${sort_by} ${comparison[0]}= ${wanted} AND (${sort_by} <> ${wanted} OR id ${comparison} ${parameters.uuid(id)})`;
}

function orderSql({ sort_by, sort_order }: SearchQuery): string {
  return `ORDER BY ${sort_by} ${sort_order}, id ${sort_order}`;
}

function positionOf({ sort_by }: SearchQuery, { timestamp, usage, id }: StoredEvent): SearchPosition {
  return { value: sort_by === "usage" ? usage : String(timestamp), id };
}

function toStoredEvent(row: DuckDBValue[]): StoredEvent {
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
