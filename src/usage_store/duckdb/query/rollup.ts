import { HOUR_MS } from "../../time_buckets.ts";
import type { EventFilter } from "../../port.ts";
import { whereSql } from "./filters.ts";
import type { Parameters } from "../engine/sql.ts";

/** The timestamps that the store holds, from the smallest to the largest. */
export interface TimeRange {
  min_timestamp: number;
  max_timestamp: number;
}

/** Sums of events, and sums of such sums. */
export const EVENT_SUMS = "sum(usage) AS total, count(*) AS events, min(usage) AS low, max(usage) AS high";
export const SUMS_OF_SUMS =
  "sum(total) AS total, coalesce(sum(events), 0) AS events, min(low) AS low, max(high) AS high";

/** Whether the filter is by company and time only: then the sums by hour suffice. */
export function isByTime(filter: EventFilter): boolean {
  const { subscription_ids, metadata = {}, metadata_search, min_usage, max_usage } = filter;
  return (
    [subscription_ids, metadata_search, min_usage, max_usage].every((part) => part === undefined) &&
    Object.keys(metadata).length === 0
  );
}

/**
 * SQL of the sums of a filter by time, as rows of hour, total, events, low and high, several an hour. Hours cut by the
 * window are summed from their events. A union, as the engine skips no blocks by an OR.
 */
export function hoursSql(filter: EventFilter, parameters: Parameters): string {
  const { start_ms, end_ms } = filter;
  const from_hour = start_ms === undefined ? undefined : Math.ceil(start_ms / HOUR_MS);
  const until_hour = end_ms === undefined ? undefined : Math.floor(end_ms / HOUR_MS);
  if (from_hour !== undefined && until_hour !== undefined && from_hour >= until_hour) {
    return cutHoursSql(filter, parameters);
  }
  const parts = [wholeHoursSql(filter.company_id, { from_hour, until_hour }, parameters)];
  if (start_ms !== undefined && from_hour !== undefined && start_ms < from_hour * HOUR_MS) {
    parts.push(cutHoursSql({ ...filter, end_ms: from_hour * HOUR_MS }, parameters));
  }
  if (end_ms !== undefined && until_hour !== undefined && until_hour * HOUR_MS < end_ms) {
    parts.push(cutHoursSql({ ...filter, start_ms: until_hour * HOUR_MS }, parameters));
  }
  return parts.join(" UNION ALL ");
}

function wholeHoursSql(
  company_id: number,
  { from_hour, until_hour }: { from_hour: number | undefined; until_hour: number | undefined },
  parameters: Parameters,
): string {
  const conditions = [`company_id = ${parameters.integer(company_id)}`];
  if (from_hour !== undefined) conditions.push(`hour >= ${parameters.integer(from_hour)}`);
  if (until_hour !== undefined) conditions.push(`hour < ${parameters.integer(until_hour)}`);
  return `SELECT hour::BIGINT AS hour, total, events, low, high FROM usage_hours
    WHERE ${conditions.join(" AND ")}`;
}

function cutHoursSql(filter: EventFilter, parameters: Parameters): string {
  return `SELECT timestamp // ${HOUR_MS} AS hour, ${EVENT_SUMS} FROM usage_events
    WHERE ${whereSql(filter, parameters)} GROUP BY 1`;
}

/** The query without bounds of time that exclude nothing: where they cut an hour they are slow. */
export function unbound<Q extends EventFilter>(query: Q, { min_timestamp, max_timestamp }: TimeRange): Q {
  const { start_ms = 0, end_ms = Number.MAX_SAFE_INTEGER } = query;
  return {
    ...query,
    start_ms: start_ms <= min_timestamp ? undefined : start_ms,
    end_ms: end_ms > max_timestamp ? undefined : end_ms,
  };
}
