import type { DuckDBConnection } from "@duckdb/node-api";
import type { EventFilter } from "../../port.ts";
import { type Counts, cutSpans, SECOND_MS, type Span } from "../../query/spans.ts";
import { HOUR_MS } from "../../time_buckets.ts";
import { whereSql } from "./filters.ts";
import { asNumber, Parameters, query } from "../engine/sql.ts";

/** Buckets of one width, one after the other. The last one may be of another width. */
interface Stretch {
  from_ms: number;
  /** Undefined for a single bucket. */
  width_ms?: number;
  first: number;
  last: number;
}

/**
 * SQL of the bucket of an instant: a division in a stretch of buckets of one width, which a change of the clock or a month
 * ends, after the few comparisons that find the stretch. What is before the first bucket is in it.
 */
export function bucketSql(at: string, edges: readonly number[]): string {
  const sqlOf = ([stretch, ...others]: readonly Stretch[]): string => {
    if (stretch === undefined) return "0";
    if (others.length === 0) return placeSql(at, stretch);
    const before = [stretch, ...others].slice(0, Math.ceil((others.length + 1) / 2));
    const after = others.slice(before.length - 1);
    return `CASE WHEN ${at} < ${after[0]?.from_ms} THEN ${sqlOf(before)} ELSE ${sqlOf(after)} END`;
  };
  return sqlOf(stretchesOf(edges));
}

function placeSql(at: string, { from_ms, width_ms, first, last }: Stretch): string {
  return width_ms === undefined
    ? `${first}`
    : `least(${first} + (${at} - ${from_ms}) // ${width_ms}, ${last})`;
}

function stretchesOf(edges: readonly number[]): Stretch[] {
  // Of buckets that begin at one instant only the last holds events.
  const starts = [...new Map(edges.slice(0, -1).map((edge, bucket) => [edge, bucket]))];
  const stretches: Stretch[] = [];
  let before_ms = 0;
  for (const [i, [from_ms, bucket]] of starts.entries()) {
    const stretch = stretches.at(-1);
    const width_ms = from_ms - before_ms;
    // The first bucket stands alone: it may be cut, and holds the hour that the start cuts.
    const joins =
      i > 1 &&
      stretch !== undefined &&
      bucket === stretch.last + 1 &&
      (stretch.width_ms ?? width_ms) === width_ms;
    if (joins) stretches[stretches.length - 1] = { ...stretch, width_ms, last: bucket };
    else stretches.push({ from_ms, first: bucket, last: bucket });
    before_ms = from_ms;
  }
  return stretches;
}

/**
 * Cuts a company's time into spans, the newest first, of at most `max_events` events each, unless one second has more.
 * `connection` is in a transaction.
 */
export async function spansOf(
  connection: DuckDBConnection,
  { company_id, start_ms, end_ms }: Span & { company_id: number },
  max_events: number,
): Promise<Span[]> {
  const hours = await hourCounts(connection, { company_id, start_ms, end_ms });
  return cutSpans({ start_ms, end_ms }, max_events, hours, (hour) =>
    secondCounts(connection, { company_id, ...hour }),
  );
}

async function hourCounts(
  connection: DuckDBConnection,
  { company_id, start_ms, end_ms }: Span & { company_id: number },
): Promise<Counts> {
  const parameters = new Parameters();
  const [first, last] = [Math.floor(start_ms / HOUR_MS), Math.ceil(end_ms / HOUR_MS)];
  const rows = await query(
    connection,
    `SELECT hour, sum(events)::BIGINT FROM usage_hours WHERE ${whereSql({ company_id }, parameters)}
      AND hour >= ${parameters.integer(first)} AND hour < ${parameters.integer(last)}
    GROUP BY hour ORDER BY hour DESC`,
    parameters,
  );
  return rows.map(([hour, events]) => [asNumber(hour), asNumber(events)]);
}

async function secondCounts(connection: DuckDBConnection, filter: EventFilter): Promise<Counts> {
  const parameters = new Parameters();
  const rows = await query(
    connection,
    `SELECT timestamp // ${SECOND_MS} AS second, count(*) FROM usage_events WHERE ${whereSql(filter, parameters)}
    GROUP BY second ORDER BY second DESC`,
    parameters,
  );
  return rows.map(([second, events]) => [asNumber(second), asNumber(events)]);
}
