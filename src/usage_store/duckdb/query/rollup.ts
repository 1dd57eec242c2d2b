import { HOUR_MS } from "../../time_buckets.ts";
import type { EventFilter } from "../../port.ts";
import type { MetadataCondition } from "../../event_filter.ts";
import { whereSql } from "./filters.ts";
import { coverByHours } from "./sums_cover.ts";
import type { Parameters } from "../engine/sql.ts";

/** Sums of events, and sums of such sums. */
export const EVENT_SUMS = "sum(usage) AS total, count(*) AS events, min(usage) AS low, max(usage) AS high";
export const SUMS_OF_SUMS =
  "sum(total) AS total, coalesce(sum(events), 0) AS events, min(low) AS low, max(high) AS high";

/** The conditions on metadata of a filter; pairs are conditions too. */
export function conditionsOf({ metadata = {}, conditions = [] }: EventFilter): readonly MetadataCondition[] {
  const pairs = Object.entries(metadata).map(([key, value]) => ({ key, op: "is" as const, values: [value] }));
  return [...pairs, ...conditions];
}

/**
 * The metadata keys that a filter is on, where sums by their values tell which events match; undefined where
 * they do not: they tell null from a missing value as little as lists and objects.
 */
export function keysOfValues(filter: EventFilter): readonly string[] | undefined {
  const { metadata_search, min_usage, max_usage } = filter;
  if ([metadata_search, min_usage, max_usage].some((part) => part !== undefined)) return undefined;
  const conditions = conditionsOf(filter);
  const is_of_null = conditions.some(({ op, values }) => op.startsWith("is") && values.includes("null"));
  return is_of_null ? undefined : [...new Set(conditions.map(({ key }) => key))];
}

/** How many events an answer was read from that has `found`: a filter by metadata reads all that are within its time. */
export function eventsRead(
  filter: EventFilter,
  { found, within }: { found: number; within: number },
): number {
  return filter.subscription_ids === undefined && conditionsOf(filter).length > 0 ? within : found;
}

/** Whether to read sums: few events are summed faster than sums and the events of the hours that are cut. */
export function arePreferred({ start_ms = 0, end_ms = 0 }: EventFilter, has_few: boolean): boolean {
  return !has_few || (start_ms % HOUR_MS === 0 && end_ms % HOUR_MS === 0);
}

/**
 * SQL of the sums of a filter by time, as rows of hour, total, events, low and high, several an hour. Hours cut by the
 * window are summed from their events. A union, as the engine skips no blocks by an OR.
 */
export function hoursSql(filter: EventFilter, parameters: Parameters): string {
  const { whole, rests } = coverByHours(filter);
  return [
    ...whole.map(({ start_ms, end_ms }) => wholeHoursSql({ ...filter, start_ms, end_ms }, parameters)),
    ...rests.map((rest) => eventsSql({ ...filter, ...rest }, parameters)),
  ].join(" UNION ALL ");
}

function wholeHoursSql({ company_id, start_ms, end_ms }: EventFilter, parameters: Parameters): string {
  const conditions = [whereSql({ company_id }, parameters)];
  if (start_ms !== undefined) conditions.push(`hour >= ${parameters.integer(start_ms / HOUR_MS)}`);
  if (end_ms !== undefined) conditions.push(`hour < ${parameters.integer(end_ms / HOUR_MS)}`);
  return `SELECT hour::BIGINT AS hour, total, events, low, high FROM usage_hours WHERE ${conditions.join(" AND ")}`;
}

/** The events, summed by hour, as one hour may hold millions. */
function eventsSql(filter: EventFilter, parameters: Parameters): string {
  const from = `FROM usage_events WHERE ${whereSql(filter, parameters)}`;
  const hour = onlyHour(filter);
  // A sum without groups takes half a millisecond less.
  return hour === undefined
    ? `SELECT timestamp // ${HOUR_MS} AS hour, ${EVENT_SUMS} ${from} GROUP BY 1`
    : `SELECT ${parameters.integer(hour)} AS hour, ${EVENT_SUMS} ${from} HAVING events > 0`;
}

/** The hour that the filter's window is within; undefined for several. */
function onlyHour({ start_ms, end_ms }: EventFilter): number | undefined {
  if (start_ms === undefined || end_ms === undefined) return undefined;
  const hour = Math.floor(start_ms / HOUR_MS);
  return end_ms <= (hour + 1) * HOUR_MS ? hour : undefined;
}
