import type { Json } from "@duckdb/node-api";
import { type Static, type TSchema, Type } from "@sinclair/typebox";
import { Value } from "@sinclair/typebox/value";
import { RARE_PAIR, RARE_WORD } from "./events.ts";
import type { Subscription } from "./house.ts";

const DAY_MS = 86_400_000;
const PAGE = 50;

/** What a question is put to: the service's first company. */
export interface Asked {
  now_ms: number;
  subscriptions: readonly Subscription[];
}

/** One search, as a request and as the SQL that someone who knows the table would write. */
export interface Question {
  what: string;
  body(asked: Asked): Record<string, unknown>;
  sql(asked: Asked): string[];
  /** What both must say alike, read from the service's answer. */
  fromAnswer(answer: unknown): Said;
  /** The same, read from the rows of each statement. */
  fromRows(results: readonly Json[][][]): Said;
}

/** An answer in brief: a count or the groups' totals, and what the rows are known by. */
export type Said = (string | number)[];

const Page = Type.Object({
  meta: Type.Object({ total: Type.Integer() }),
  data: Type.Array(Type.Object({ id: Type.String() })),
});
const Groups = Type.Object({
  data: Type.Array(
    Type.Object({ group_key: Type.String(), total_usage: Type.Number(), event_count: Type.Integer() }),
  ),
});

/** The first page of what a condition finds, newest first, and how much it finds. */
function page(what: string, body: Record<string, unknown>, condition: string): Question {
  return {
    what,
    body: () => ({ ...body, limit: PAGE }),
    sql: () => [
      `SELECT count(*) FROM usage_events WHERE company_id = 1 AND ${condition}`,
      `SELECT id, subscription_id, timestamp, usage, metadata, created_at FROM usage_events
       WHERE company_id = 1 AND ${condition} ORDER BY timestamp DESC, id DESC LIMIT ${PAGE}`,
    ],
    fromAnswer(answer) {
      const { meta, data } = shaped(Page, answer);
      return [meta.total, ...data.map(({ id }) => id)];
    },
    fromRows: ([counts, rows]) => [Number(counts?.[0]?.[0]), ...(rows ?? []).map(([id]) => text(id))],
  };
}

/** The totals of groups, in the order of their keys. */
function totals(what: string, body: Question["body"], sql: (asked: Asked) => string): Question {
  return {
    what,
    body: (asked) => ({ ...body(asked), aggregate: true }),
    sql: (asked) => [sql(asked)],
    fromAnswer: (answer) =>
      shaped(Groups, answer)
        .data.toSorted((a, b) => (a.group_key < b.group_key ? -1 : 1))
        .flatMap(({ group_key, total_usage, event_count }) => [group_key, total_usage, event_count]),
    fromRows: ([rows]) =>
      (rows ?? []).flatMap(([key, total, count]) => [text(key), Number(total), Number(count)]),
  };
}

export const QUESTIONS: readonly Question[] = [
  page("first page, newest first", {}, "true"),
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
  totals(
    "aggregate by day over 30 days",
    ({ now_ms }) => ({ group_by: "day", start_time: now_ms - 30 * DAY_MS, end_time: now_ms }),
    ({ now_ms }) => `
      SELECT strftime(make_date(day::INTEGER), '%Y-%m-%d') AS key, total, events FROM (
        SELECT timestamp // ${DAY_MS} AS day, sum(usage) AS total, count(*) AS events, min(usage), max(usage)
        FROM usage_events
        WHERE company_id = 1 AND timestamp >= ${now_ms - 30 * DAY_MS} AND timestamp < ${now_ms}
        GROUP BY day) ORDER BY key`,
  ),
  totals(
    "aggregate by client, all time",
    () => ({ group_by: "client" }),
    ({ subscriptions }) => `
      SELECT client_id::VARCHAR AS key, sum(total), sum(events) FROM (
        SELECT subscription_id, sum(usage) AS total, count(*) AS events, min(usage), max(usage)
        FROM usage_events WHERE company_id = 1 GROUP BY subscription_id)
      JOIN (VALUES ${subscriptions.map(({ id, client_id }) => `(${id}, ${client_id})`).join(", ")})
        AS owners(subscription_id, client_id) USING (subscription_id)
      GROUP BY client_id ORDER BY key`,
  ),
];

function text(value: Json | undefined): string {
  if (typeof value === "string") return value;
  throw new Error(`Cannot read a key: ${JSON.stringify(value)} is no text`);
}

function shaped<T extends TSchema>(shape: T, answer: unknown): Static<T> {
  if (Value.Check(shape, answer)) return answer;
  throw new Error(`Cannot read a search's answer: ${JSON.stringify(answer).slice(0, 500)}`);
}
