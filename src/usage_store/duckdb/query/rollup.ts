import { HOUR_MS } from "../../time_buckets.ts";
import type { EventFilter } from "../../port.ts";
import type { MetadataCondition } from "../../event_filter.ts";
import { whereSql } from "./filters.ts";
import { valueConditionSql } from "./metadata_sql.ts";
import { groupsOf } from "./sums_names.ts";
import type { Parameters } from "../engine/sql.ts";

/** Sums of events, and sums of such sums. */
export const EVENT_SUMS = "sum(usage) AS total, count(*) AS events, min(usage) AS low, max(usage) AS high";
export const SUMS_OF_SUMS =
  "sum(total) AS total, coalesce(sum(events), 0) AS events, min(low) AS low, max(high) AS high";

/** The conditions on metadata of a filter; pairs are conditions too. */
function conditionsOf({ metadata = {}, conditions = [] }: EventFilter): readonly MetadataCondition[] {
  const pairs = Object.entries(metadata).map(([key, value]) => ({ key, op: "is" as const, values: [value] }));
  return [...pairs, ...conditions];
}

/**
 * The metadata keys that a filter is on, where sums by the value of one of them tell which events match; undefined where
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

/** Whether to read sums by hour: few events are summed faster than sums and the events of the hours that are cut. */
export function arePreferred({ start_ms = 0, end_ms = 0 }: EventFilter, has_few: boolean): boolean {
  return !has_few || (start_ms % HOUR_MS === 0 && end_ms % HOUR_MS === 0);
}

/** The group sums to read: those of this name, up to this event. */
export interface GroupHours {
  name: string;
  seq: number;
}

/**
 * SQL of the sums of a filter by time, as rows of hour, total, events, low and high, several an hour. Hours cut by the
 * window are summed from their events. A union, as the engine skips no blocks by an OR. With `groups` the rows have
 * subscription_id and value too, and are read from the group sums, and after these from the events.
 */
export function hoursSql(filter: EventFilter, parameters: Parameters, groups?: GroupHours): string {
  const { start_ms, end_ms } = filter;
  const from_hour = start_ms === undefined ? undefined : Math.ceil(start_ms / HOUR_MS);
  const until_hour = end_ms === undefined ? undefined : Math.floor(end_ms / HOUR_MS);
  const eventsIn = (window: EventFilter) => eventRowsSql(window, groups, parameters);
  if (from_hour !== undefined && until_hour !== undefined && from_hour >= until_hour) return eventsIn(filter);
  const cuts: string[] = [];
  if (start_ms !== undefined && from_hour !== undefined && start_ms < from_hour * HOUR_MS) {
    cuts.push(eventsIn({ ...filter, end_ms: from_hour * HOUR_MS }));
  }
  if (end_ms !== undefined && until_hour !== undefined && until_hour * HOUR_MS < end_ms) {
    cuts.push(eventsIn({ ...filter, start_ms: until_hour * HOUR_MS }));
  }
  const whole = wholeHoursSql(filter, { from_hour, until_hour }, groups, parameters);
  if (groups === undefined) return [whole, ...cuts].join(" UNION ALL ");
  const seq = parameters.integer(groups.seq);
  const summed = cuts.map((cut) => `${cut} AND seq <= ${seq}`);
  return [whole, ...summed, `${eventsIn(filter)} AND seq > ${seq}`].join(" UNION ALL ");
}

function wholeHoursSql(
  filter: EventFilter,
  { from_hour, until_hour }: { from_hour: number | undefined; until_hour: number | undefined },
  groups: GroupHours | undefined,
  parameters: Parameters,
): string {
  const { company_id, subscription_ids } = filter;
  const conditions = [whereSql({ company_id, subscription_ids }, parameters)];
  if (groups !== undefined) {
    conditions.push(`key = ${parameters.text(groups.name)}`);
    for (const condition of conditionsOf(filter))
      conditions.push(valueConditionSql(condition, "value", parameters));
  }
  if (from_hour !== undefined) conditions.push(`hour >= ${parameters.integer(from_hour)}`);
  if (until_hour !== undefined) conditions.push(`hour < ${parameters.integer(until_hour)}`);
  const columns = groups === undefined ? "" : "subscription_id, value,";
  return `SELECT ${columns} hour::BIGINT AS hour, total, events, low, high
    FROM ${groups === undefined ? "usage_hours" : "usage_group_hours"} WHERE ${conditions.join(" AND ")}`;
}

/** The events: summed by hour, as one hour may hold millions; with `groups` as sums of one each. */
function eventRowsSql(filter: EventFilter, groups: GroupHours | undefined, parameters: Parameters): string {
  const from = `FROM usage_events WHERE ${whereSql(filter, parameters)}`;
  if (groups === undefined) {
    const hour = onlyHour(filter);
    // A sum without groups takes half a millisecond less.
    return hour === undefined
      ? `SELECT timestamp // ${HOUR_MS} AS hour, ${EVENT_SUMS} ${from} GROUP BY 1`
      : `SELECT ${parameters.integer(hour)} AS hour, ${EVENT_SUMS} ${from} HAVING events > 0`;
  }
  const { subscription_id, value } = groupsOf(groups.name, parameters);
  return `SELECT ${subscription_id} AS subscription_id, ${value} AS value,
    timestamp // ${HOUR_MS} AS hour, usage AS total, 1 AS events, usage AS low, usage AS high ${from}`;
}

/** The hour that the filter's window is within; undefined for several. */
function onlyHour({ start_ms, end_ms }: EventFilter): number | undefined {
  if (start_ms === undefined || end_ms === undefined) return undefined;
  const hour = Math.floor(start_ms / HOUR_MS);
  return end_ms <= (hour + 1) * HOUR_MS ? hour : undefined;
}
