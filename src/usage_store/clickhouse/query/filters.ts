import type { EventFilter } from "../../port.ts";
import { isWithin, millionthsAtLeast, millionthsAtMost } from "../../usage_bounds.ts";
import { HOUR_MS } from "../../time_buckets.ts";
import { integer, integerSet, usage } from "../engine/sql.ts";
import { conditionSql, pairSql, searchSql } from "./metadata_sql.ts";

/** The SQL condition of a filter on usage_events. */
export function whereSql(filter: EventFilter): string {
  const { company_id, start_ms, end_ms, metadata_search } = filter;
  const conditions = [`company_id = ${integer(company_id)}`];
  if (start_ms !== undefined) conditions.push(`timestamp >= ${integer(start_ms)}`);
  if (end_ms !== undefined) conditions.push(`timestamp < ${integer(end_ms)}`);
  if (filter.subscription_ids !== undefined) conditions.push(subscriptionSql(filter.subscription_ids));
  if (filter.min_usage !== undefined) conditions.push(boundSql(">=", millionthsAtLeast(filter.min_usage)));
  if (filter.max_usage !== undefined) conditions.push(boundSql("<=", millionthsAtMost(filter.max_usage)));
  for (const [key, value] of Object.entries(filter.metadata ?? {})) conditions.push(pairSql(key, value));
  for (const condition of filter.conditions ?? []) conditions.push(conditionSql(condition));
  if (metadata_search !== undefined) conditions.push(searchSql(metadata_search));
  return conditions.join(" AND ");
}

/** The condition of subscriptions; of none, nothing. */
export function subscriptionSql(ids: readonly number[]): string {
  return ids.length === 0 ? "false" : `subscription_id IN ${integerSet(ids)}`;
}

function boundSql(comparison: ">=" | "<=", millionths: bigint): string {
  if (isWithin(millionths)) return `usage ${comparison} ${usage(millionths)}`;
  return String(millionths > 0n === (comparison === "<="));
}

/** SQL of the hour of an event: as the projection has it. */
export const HOUR = `intDiv(timestamp, ${HOUR_MS})`;

/** As `whereSql`, of a filter by company and whole hours: the sums by hour answer it. */
export function hoursWhereSql({ company_id, start_ms, end_ms }: EventFilter): string {
  const conditions = [`company_id = ${integer(company_id)}`];
  if (start_ms !== undefined) conditions.push(`${HOUR} >= ${integer(start_ms / HOUR_MS)}`);
  if (end_ms !== undefined) conditions.push(`${HOUR} < ${integer(end_ms / HOUR_MS)}`);
  return conditions.join(" AND ");
}

/** Whether the sums by hour answer a filter. */
export function isByHour(filter: EventFilter): boolean {
  const { metadata = {}, conditions = [], ...rest } = filter;
  const others = [rest.subscription_ids, rest.metadata_search, rest.min_usage, rest.max_usage];
  const is_whole = [rest.start_ms, rest.end_ms].every((ms) => ms === undefined || ms % HOUR_MS === 0);
  return (
    is_whole &&
    others.every((one) => one === undefined) &&
    Object.keys(metadata).length + conditions.length === 0
  );
}
