import type { EventFilter } from "../port.ts";

/** The timestamps that are stored, from the smallest to the largest. */
export interface TimeRange {
  min_timestamp: number;
  max_timestamp: number;
}

/** Whether the filter is by company and time only: then sums by hour suffice. */
export function isByTime(filter: EventFilter): boolean {
  return filter.subscription_ids === undefined && isBySubscription(filter);
}

/** Whether the filter is by company, time and subscription only. */
export function isBySubscription({ metadata = {}, conditions = [], ...filter }: EventFilter): boolean {
  const { metadata_search, min_usage, max_usage } = filter;
  return (
    [metadata_search, min_usage, max_usage].every((part) => part === undefined) &&
    Object.keys(metadata).length + conditions.length === 0
  );
}

/** The query without bounds of time that exclude nothing: where they cut an hour, sums by hour don't suffice. */
export function unbound<Q extends EventFilter>(query: Q, { min_timestamp, max_timestamp }: TimeRange): Q {
  const { start_ms = 0, end_ms = Number.MAX_SAFE_INTEGER } = query;
  return {
    ...query,
    start_ms: start_ms <= min_timestamp ? undefined : start_ms,
    end_ms: end_ms > max_timestamp ? undefined : end_ms,
  };
}
