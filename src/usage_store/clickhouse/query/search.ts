import { parseMetadata } from "../../metadata.ts";
import { toMillionths } from "../../append/append_request.ts";
import type { SearchPosition, SearchQuery, SearchResult, StoredEvent } from "../../port.ts";
import { readMetadata } from "../append/stored_metadata.ts";
import type { Bounds, ClickHouse } from "../engine/engine.ts";
import { asDecimal, asNumber, asText, integer, type Row, usage, uuid } from "../engine/sql.ts";
import { hoursWhereSql, isByHour, whereSql } from "./filters.ts";

/** The page and the count, by one statement: of one instant. */
export async function search(engine: ClickHouse, wanted: SearchQuery, bounds: Bounds): Promise<SearchResult> {
  const where = whereSql(wanted);
  const beyond =
    wanted.after === undefined ? "" : `AND ${besideSql(wanted, sidesOf(wanted)[0], wanted.after)}`;
  const counted = isByHour(wanted) ? hoursWhereSql(wanted) : where;
  const rows = await engine.ask(
    `SELECT toUInt64(count()) AS total, '' AS id, toUInt32(0) AS subscription_id, toInt64(0) AS timestamp,
      toDecimal64(0, 6) AS usage, '' AS metadata, toInt64(0) AS created_at
    FROM usage_events WHERE ${counted}
    UNION ALL
    SELECT 0, toString(id), subscription_id, timestamp, usage, metadata, created_at FROM (
      SELECT id, subscription_id, timestamp, usage, metadata, created_at FROM usage_events
      WHERE ${where} ${beyond} ${orderSql(wanted)}
      LIMIT ${integer(wanted.limit + 1)} OFFSET ${integer(wanted.offset)})`,
    bounds,
  );
  const total = asNumber(rows.find(([, id]) => id === "")?.[0]);
  const found = rows.filter(([, id]) => id !== "").map(([, ...columns]) => toStoredEvent(columns));
  const in_order = found.toSorted((a, b) => compare(wanted, a, b));
  const page = in_order.slice(0, wanted.limit);
  const last = page.at(-1);
  return { rows: page, total, next: last && found.length > page.length ? positionOf(wanted, last) : null };
}

/** The comparisons for events after a place in the order, and before. */
function sidesOf({
  sort_order,
}: Pick<SearchQuery, "sort_order">): readonly [ahead: "<" | ">", behind: "<" | ">"] {
  return sort_order === "asc" ? [">", "<"] : ["<", ">"];
}

/** SQL for events on one side of a place in the order. */
function besideSql({ sort_by }: SearchQuery, comparison: "<" | ">", { value, id }: SearchPosition): string {
  const wanted = sort_by === "usage" ? usage(toMillionths(value)) : integer(Number(value));
  // By the first condition the engine skips blocks.
  return `${sort_by} ${comparison}= ${wanted}
    AND (${sort_by} != ${wanted} OR UUIDToNum(id) ${comparison} UUIDToNum(${uuid(id)}))`;
}

/** The total order of a search: ids as numbers, as the engine would order them by their halves. */
export function orderSql({ sort_by, sort_order }: Pick<SearchQuery, "sort_by" | "sort_order">): string {
  return `ORDER BY ${sort_by} ${sort_order}, UUIDToNum(id) ${sort_order}`;
}

/** Rows of a union come in no order. */
function compare({ sort_by, sort_order }: SearchQuery, a: StoredEvent, b: StoredEvent): number {
  const difference =
    sort_by === "usage" ? toMillionths(a.usage) - toMillionths(b.usage) : BigInt(a.timestamp - b.timestamp);
  const order = difference < 0n ? -1 : difference > 0n ? 1 : a.id < b.id ? -1 : 1;
  return sort_order === "asc" ? order : -order;
}

function positionOf({ sort_by }: SearchQuery, { timestamp, usage: used, id }: StoredEvent): SearchPosition {
  return { value: sort_by === "usage" ? used : String(timestamp), id };
}

/** Reads the columns id, subscription_id, timestamp, usage, metadata, created_at. */
function toStoredEvent([id, subscription_id, timestamp, used, metadata, created_at]: Row): StoredEvent {
  const json = readMetadata(asText(metadata));
  return {
    id: asText(id),
    subscription_id: asNumber(subscription_id),
    timestamp: asNumber(timestamp),
    usage: asDecimal(used),
    metadata: json === null ? null : parseMetadata(json),
    created_at: asNumber(created_at),
  };
}
