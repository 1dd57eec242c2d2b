import type { Json } from "@duckdb/node-api";
import {
  type SearchRange,
  DAY_MS,
  lastDays,
  PAGE,
  pageSearch,
  type Answer,
  type Search,
  text,
  totalsSearch,
} from "../queries.ts";

/** A search of the service, and the same query in the SQL of every peer. */
export interface PeerQuery extends Search {
  aggregate: boolean;
  sql(range: SearchRange, dividing: Dividing): string[];
  /** The answer, read from a peer's rows. */
  fromRows(results: readonly Json[][][]): Answer;
}

/** The one thing in which the dialects differ here: how a number is divided to a whole one. */
export type Dividing = (dividend: string, divisor: number) => string;

const MILLIONTHS = 1e6;
const SUMS = "sum(usage) AS total, count(*) AS events, min(usage) AS low, max(usage) AS high";

function days(what: string, body: Search["body"], condition: (range: SearchRange) => string): PeerQuery {
  return {
    ...totalsSearch(what, body),
    aggregate: true,
    sql: (range, dividing) => [
      `SELECT ${dividing("timestamp", DAY_MS)} AS day, ${SUMS} FROM events
       WHERE company_id = ${range.company_id}${condition(range)} GROUP BY day ORDER BY day`,
    ],
    fromRows: ([rows = []]) => rows.flatMap(([day, total, events]) => group(dayText(day), total, events)),
  };
}

export const PEER_QUERIES: readonly PeerQuery[] = [
  days(
    "by day over 30 days",
    lastDays,
    ({ now_ms }) => ` AND timestamp >= ${now_ms - 30 * DAY_MS} AND timestamp < ${now_ms}`,
  ),
  days(
    "by day, all time",
    () => ({ group_by: "day" }),
    () => "",
  ),
  {
    ...totalsSearch("by product, all time", () => ({ group_by: "product" })),
    aggregate: true,
    sql: ({ company_id }) => [
      `SELECT product_id, sum(total), sum(events), min(low), max(high) FROM (
         SELECT subscription_id, ${SUMS} FROM events WHERE company_id = ${company_id} GROUP BY subscription_id
       ) AS sums JOIN subscriptions ON subscriptions.id = sums.subscription_id GROUP BY product_id`,
    ],
    fromRows: ([rows = []]) =>
      rows
        .map(([product, total, events]) => group(`${Number(product)}`, total, events))
        .toSorted(([a = ""], [b = ""]) => (a < b ? -1 : 1))
        .flat(),
  },
  {
    ...pageSearch("first page with its total", {}),
    aggregate: false,
    sql: ({ company_id }) => [
      `SELECT count(*) FROM events WHERE company_id = ${company_id}`,
      `SELECT id, subscription_id, timestamp, usage, metadata, created_at FROM events
       WHERE company_id = ${company_id} ORDER BY timestamp DESC, id DESC LIMIT ${PAGE}`,
    ],
    fromRows: ([counts, rows = []]) => [Number(counts?.[0]?.[0]), ...rows.map(([id]) => text(id))],
  },
];

function group(key: string, total: Json | undefined, events: Json | undefined): Answer {
  return [key, Number(total) / MILLIONTHS, Number(events)];
}

function dayText(day: Json | undefined): string {
  return Temporal.Instant.fromEpochMilliseconds(Number(day) * DAY_MS)
    .toString()
    .slice(0, 10);
}
