import type { Json } from "@duckdb/node-api";
import { Type } from "@sinclair/typebox";
import type { Subscription } from "./company.ts";
import { RARE_PAIR, RARE_WORD } from "./events.ts";
import { ENGINE } from "./raw_usage.ts";
import { shaped } from "./shape.ts";

export const DAY_MS = 86_400_000;
const HOUR_MS = 3_600_000;
/** The events of a page. */
export const PAGE = 50;

/** What a search is about: a company, and the end of its period. */
export interface SearchRange {
  company_id: number;
  now_ms: number;
  subscriptions: readonly Subscription[];
}

/** A search as a request, and how to read its answer. */
export interface Search {
  what: string;
  body(range: SearchRange): Record<string, unknown>;
  fromResponse(answer: unknown): Answer;
}

/**
 * A search beside the SQL that someone who knows the tables would write. All SQL about the service's own
 * tables is in this file.
 */
export interface Query extends Search {
  sql(range: SearchRange): string[];
  /** The answer, read from the rows of each statement. */
  fromRows(results: readonly Json[][][]): Answer;
}

/** An answer in brief: a count or the groups' totals, and what the rows are known by. */
export type Answer = (string | number)[];

const Page = Type.Object({
  meta: Type.Object({ total: Type.Integer() }),
  data: Type.Array(Type.Object({ id: Type.String() })),
});
const Groups = Type.Object({
  data: Type.Array(
    Type.Object({ group_key: Type.String(), total_usage: Type.Number(), event_count: Type.Integer() }),
  ),
});

/** The first page of a search, newest first, and how much it finds. */
export function pageSearch(what: string, body: Record<string, unknown>): Search {
  return {
    what,
    body: () => ({ ...body, limit: PAGE }),
    fromResponse(answer) {
      const { meta, data } = shaped(Page, answer, "a page");
      return [meta.total, ...data.map(({ id }) => id)];
    },
  };
}

/** The totals of groups, in the order of their keys. */
export function totalsSearch(what: string, body: Search["body"]): Search {
  return {
    what,
    body: (range) => ({ ...body(range), aggregate: true }),
    fromResponse: (answer) =>
      shaped(Groups, answer, "groups")
        .data.toSorted((a, b) => (a.group_key < b.group_key ? -1 : 1))
        .flatMap(({ group_key, total_usage, event_count }) => [group_key, total_usage, event_count]),
  };
}

/** The last 30 days, as fields of a search. */
export const lastDays = ({ now_ms }: SearchRange) => ({
  group_by: "day",
  start_time: now_ms - 30 * DAY_MS,
  end_time: now_ms,
});

function page(what: string, body: Record<string, unknown>, condition?: string): Query {
  return {
    ...pageSearch(what, body),
    sql: ({ company_id }) => [
      condition === undefined
        ? `SELECT sum(events) FROM usage_hours WHERE company_id = ${company_id}`
        : `SELECT count(*) FROM usage_events WHERE company_id = ${company_id} AND ${condition}`,
      `SELECT id, subscription_id, timestamp, usage, metadata, created_at FROM usage_events
       WHERE company_id = ${company_id} ${condition === undefined ? "" : `AND ${condition}`}
       ORDER BY timestamp DESC, id DESC LIMIT ${PAGE}`,
    ],
    fromRows: ([counts, rows]) => [Number(counts?.[0]?.[0]), ...(rows ?? []).map(([id]) => text(id))],
  };
}

function totals(what: string, body: Search["body"], sql: (range: SearchRange) => string): Query {
  return {
    ...totalsSearch(what, body),
    sql: (range) => [sql(range)],
    fromRows: ([rows]) =>
      (rows ?? []).flatMap(([key, total, count]) => [text(key), Number(total), Number(count)]),
  };
}

/** What is summed up of each group: as much as an answer holds. */
const SUMS = "sum(usage) AS total, count(*) AS events, min(usage), max(usage)";

/** A day that is counted since 1970, as an answer writes it. */
const DAY_KEY = "strftime(make_date(day::INTEGER), '%Y-%m-%d') AS key";

/** Sums by day: whole hours from the sums by hour, the two cut hours from the events. */
function lastDaysSql({ company_id, now_ms }: SearchRange): string {
  const [start_ms, end_ms] = [now_ms - 30 * DAY_MS, now_ms];
  const [first, last] = [Math.ceil(start_ms / HOUR_MS), Math.floor(end_ms / HOUR_MS)];
  const cut = (from: number, until: number) =>
    `SELECT timestamp // ${DAY_MS}, usage, 1, usage, usage FROM usage_events
     WHERE company_id = ${company_id} AND timestamp >= ${from} AND timestamp < ${until}`;
  return `SELECT ${DAY_KEY}, sum(total), sum(events), min(low), max(high) FROM (
      SELECT hour // 24 AS day, total, events, low, high FROM usage_hours
      WHERE company_id = ${company_id} AND hour >= ${first} AND hour < ${last}
      UNION ALL ${cut(start_ms, first * HOUR_MS)}
      UNION ALL ${cut(last * HOUR_MS, end_ms)})
    GROUP BY day ORDER BY key`;
}

export const LAST_DAYS = totals("aggregate by day over 30 days", lastDays, lastDaysSql);
export const BY_CLIENT = ownedTotals("client", "client_id");
export const BY_PRODUCT = ownedTotals("product", "product_id");
export const BY_SUBSCRIPTION = ownedTotals("subscription", "wire_key");

export const QUERIES: readonly Query[] = [
  page("first page, newest first", {}),
  page(
    "page of a metadata filter (two pairs)",
    { metadata: RARE_PAIR },
    Object.entries(RARE_PAIR)
      .map(([key, value]) => `json_extract_string(metadata, '$.${key}') = '${value}'`)
      .join(" AND "),
  ),
  page(
    "page of a metadata_search",
    { metadata_search: RARE_WORD },
    `contains(lower(metadata), '${RARE_WORD}')`,
  ),
  LAST_DAYS,
  BY_CLIENT,
];

/** Sums of all time by what a subscription belongs to, or by the subscription itself, as the wire names it. */
function ownedTotals(group_by: string, column: "client_id" | "product_id" | "wire_key"): Query {
  const owner = (company_id: number, one: Subscription) =>
    `(${one.id}, ${one.client_id}, ${one.product_id}, '${company_id}:${one.external_subscription_id}')`;
  return totals(
    `aggregate by ${group_by}, all time`,
    () => ({ group_by }),
    ({ company_id, subscriptions }) => `
      SELECT ${column}::VARCHAR AS key, sum(total), sum(events) FROM (
        SELECT subscription_id, ${SUMS}
        FROM usage_events WHERE company_id = ${company_id} GROUP BY subscription_id)
      JOIN (VALUES ${subscriptions.map((one) => owner(company_id, one)).join(", ")})
        AS owners(subscription_id, client_id, product_id, wire_key) USING (subscription_id)
      GROUP BY ${column} ORDER BY key`,
  );
}

/** Groups by a key of the metadata. */
export const METADATA_GROUPS: Query = totals(
  "aggregate by a metadata key, all time",
  () => ({ group_by: "metadata:region" }),
  ({ company_id }) => `SELECT json_extract_string(metadata, '$.region') AS key, ${SUMS}
    FROM usage_events WHERE company_id = ${company_id} GROUP BY key ORDER BY key`,
);

/** Compared with a raw scan: every event of the company is read, although sums would do. */
export const ALL_DAYS: Query = totals(
  "aggregate by day, all time",
  () => ({ group_by: "day" }),
  ({ company_id }) => `SELECT ${DAY_KEY}, total, events FROM (
      SELECT timestamp // ${DAY_MS} AS day, ${SUMS} FROM usage_events
      WHERE company_id = ${company_id} GROUP BY day) ORDER BY key`,
);

/**
 * Writes every event but one company's to a CSV file without a head, in the order of time, usage in whole
 * millionths; and gives the engine what sorting so much takes, meanwhile.
 */
export function eventsToCsv(file: string, without_company: number): string[] {
  return [
    "SET memory_limit = '8GB'",
    `COPY (SELECT company_id, subscription_id, timestamp, id, (usage * 1000000)::BIGINT, metadata, created_at
      FROM usage_events WHERE company_id <> ${without_company} ORDER BY timestamp)
      TO '${file}' (FORMAT csv, HEADER false)`,
    `SET memory_limit = '${ENGINE.memory_limit}'`,
  ];
}

/** Reads a key. Errors: throws when it is no text. */
export function text(value: Json | undefined): string {
  if (typeof value === "string") return value;
  throw new Error(`Cannot read a key: ${JSON.stringify(value)} is no text`);
}
