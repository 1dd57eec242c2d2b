import type { DuckDBConnection } from "@duckdb/node-api";
import type { EventFilter } from "../../port.ts";
import { gcd, HOUR_MS } from "../../time_buckets.ts";
import { whereSql } from "./filters.ts";
import { asNumber, Parameters, query } from "../engine/sql.ts";

/**
 * Equal slices of time, of which every bucket but the first and last has whole ones: events are summed by slice, which
 * takes one division each, and only slices meet the edges. Slice `first` is where the second bucket begins.
 */
export interface BucketSlices {
  origin_ms: number;
  width_ms: number;
  first: number;
  /** Whether every bucket but the first and last is one slice. */
  are_buckets: boolean;
}

export function bucketSlices(edges: readonly number[]): BucketSlices {
  const [start = 0, end = 0] = [edges[0], edges.at(-1)];
  const inner = edges.slice(1, -1);
  const origin_ms = inner[0] ?? start;
  const width_ms = inner.reduce((width, edge) => gcd(width, edge - origin_ms), 0) || Math.max(end - start, 1);
  return {
    origin_ms,
    width_ms,
    // One more than there can be before it: the hour that the start cuts begins earlier.
    first: Math.ceil((origin_ms - start) / width_ms) + 1,
    are_buckets: inner.every((edge, i) => edge === origin_ms + i * width_ms),
  };
}

/** SQL of the slice of an instant. */
export function sliceSql(at: string, { origin_ms, width_ms, first }: BucketSlices): string {
  return `(${at} + (${first * width_ms - origin_ms})) // ${width_ms}`;
}

/** SQL of rows with `slice`, as rows that have `bucket` too. */
export function bucketsSql(
  rows: string,
  edges: readonly number[],
  slices: BucketSlices,
  parameters: Parameters,
): string {
  const { origin_ms, width_ms, first, are_buckets } = slices;
  if (edges.length === 2) return `SELECT 0 AS bucket, * FROM (${rows})`;
  if (are_buckets)
    return `SELECT least(greatest(slice - ${first - 1}, 0), ${edges.length - 2}) AS bucket, * FROM (${rows})`;
  // Of buckets that begin at one instant only the last holds events.
  const last_by_slice = new Map([[Number.MIN_SAFE_INTEGER, 0]]);
  for (const [i, edge] of edges.slice(1, -1).entries())
    last_by_slice.set(first + (edge - origin_ms) / width_ms, i + 1);
  const slices_sql = parameters.integers([...last_by_slice.keys()]);
  const buckets = parameters.integers([...last_by_slice.values()]);
  return `SELECT * FROM (${rows}) ASOF JOIN
    (SELECT unnest(${slices_sql}) AS from_slice, unnest(${buckets}) AS bucket) ON slice >= from_slice`;
}

/** A span of time in Unix ms: start inclusive, end exclusive. */
export interface Span {
  start_ms: number;
  end_ms: number;
}

const SECOND_MS = 1_000;

/**
 * Cuts a company's time into spans, the newest first, of at most `max_events` events each, unless one second has more.
 * `connection` is in a transaction.
 */
export async function spansOf(
  connection: DuckDBConnection,
  { company_id, start_ms, end_ms }: Span & { company_id: number },
  max_events: number,
): Promise<Span[]> {
  const cuts: number[] = [];
  let events = 0;
  /** Begins a span at the end of this unit of time, if it has no room in the one before. */
  const add = (unit_end_ms: number, count: number): void => {
    if (events > 0 && events + count > max_events) {
      cuts.push(unit_end_ms);
      events = 0;
    }
    events += count;
  };
  for (const [hour, count] of await hourCounts(connection, { company_id, start_ms, end_ms })) {
    const from_ms = hour * HOUR_MS;
    if (count <= max_events) add(from_ms + HOUR_MS, count);
    else {
      const span = { company_id, start_ms: from_ms, end_ms: from_ms + HOUR_MS };
      for (const [second, of_second] of await secondCounts(connection, span))
        add((second + 1) * SECOND_MS, of_second);
    }
  }
  const ends = [end_ms, ...cuts.filter((cut) => cut > start_ms && cut < end_ms)];
  return ends.map((end, i) => ({ start_ms: ends[i + 1] ?? start_ms, end_ms: end }));
}

type Counts = [unit: number, events: number][];

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
