import type { EventFilter } from "../../port.ts";
import { isWithin, millionthsAtLeast, millionthsAtMost } from "../../usage_bounds.ts";
import { conditionSql, pairSql, searchSql } from "./metadata_sql.ts";
import type { Parameters } from "../engine/sql.ts";

/** Up to so many ids are compared one by one, which is faster than a join. */
const FEW_IDS = 10_000;

/** The SQL condition of a filter on usage_events; its values are added to `parameters`. */
export function whereSql(filter: EventFilter, parameters: Parameters): string {
  const conditions = [`company_id = ${parameters.integer(filter.company_id)}`];
  if (filter.subscription_ids !== undefined) {
    conditions.push(subscriptionSql(filter.subscription_ids, parameters));
  }
  if (filter.start_ms !== undefined) conditions.push(`timestamp >= ${parameters.integer(filter.start_ms)}`);
  if (filter.end_ms !== undefined) conditions.push(`timestamp < ${parameters.integer(filter.end_ms)}`);
  if (filter.min_usage !== undefined)
    conditions.push(boundSql(">=", millionthsAtLeast(filter.min_usage), parameters));
  if (filter.max_usage !== undefined)
    conditions.push(boundSql("<=", millionthsAtMost(filter.max_usage), parameters));
  for (const [key, value] of Object.entries(filter.metadata ?? {})) {
    conditions.push(pairSql(key, value, parameters));
  }
  for (const condition of filter.conditions ?? []) conditions.push(conditionSql(condition, parameters));
  if (filter.metadata_search !== undefined) conditions.push(searchSql(filter.metadata_search, parameters));
  return conditions.join(" AND ");
}

function subscriptionSql(ids: readonly number[], parameters: Parameters): string {
  if (ids.length === 0) return "false";
  // As one text: the driver builds a list value by value, which for a hundred thousand blocks the process.
  if (ids.length > FEW_IDS) {
    return `subscription_id IN (SELECT unnest(string_split(${parameters.text(ids.join())}, ','))::INTEGER)`;
  }
  return `subscription_id IN (${ids.map((id) => parameters.integer(id)).join(", ")})`;
}

function boundSql(comparison: ">=" | "<=", millionths: bigint, parameters: Parameters): string {
  // Not as -usage >= -max: negating the column would hide it from the engine's block statistics.
  if (isWithin(millionths)) return `usage ${comparison} ${parameters.usage(millionths)}`;
  return String(millionths > 0n === (comparison === "<="));
}
