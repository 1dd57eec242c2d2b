import type { Context } from "../../app/context.ts";
import { readTx } from "../../app/transaction.ts";
import { scopeOf } from "../../core/access.ts";
import { AppError, invalid } from "../../core/errors.ts";
import { LIMITS } from "../limits.ts";
import { toBig } from "../../core/money.ts";
import type { ZoneTimeline } from "../../core/periods.ts";
import { type Window, windowOf, windowOfMonth } from "../../core/windows.ts";
import { type EventFilter, MAX_TIMESTAMP_MS } from "../../usage_store/port.ts";
import { listKnownClientIds, listKnownProductIds } from "../filters/queries.ts";
import { resolve } from "../filters/resolve.ts";
import type { SearchUsage } from "./model.ts";
import * as queries from "./queries.ts";

/** Errors: forbidden for ids outside of the scope. */
export async function assertIdsInScope(ctx: Context, input: SearchUsage): Promise<void> {
  const tx = readTx(ctx);
  const checks = [
    ["client_ids", input.client_ids, listKnownClientIds],
    ["subscription_ids", input.subscription_ids, queries.listKnownSubscriptionIds],
    ["product_ids", input.product_ids, listKnownProductIds],
  ] as const;
  for (const [field, ids, listKnown] of checks) {
    if (ids === undefined) continue;
    const ids_in_scope = new Set(await listKnown(tx, ids));
    const foreign = ids.find((id) => !ids_in_scope.has(id));
    if (foreign === undefined) continue;
    const owner = tx.scope.client_id === undefined ? "company" : "client";
    throw new AppError(
      "forbidden",
      `Cannot search usage: ${field} contains ${foreign}, which does not belong to your ${owner}`,
    );
  }
}

/** Errors: invalid. A schema can't bound the keys of an object. */
function assertKeyLength(metadata: SearchUsage["metadata"] = {}): void {
  const max = LIMITS.usage_metadata_key_length;
  if (Object.keys(metadata).every((key) => key.length <= max)) return;
  throw invalid("/metadata", `must have keys of at most ${max} characters`);
}

/** The usage store's filter for a search. Errors: invalid for a metadata key that is too long. */
export async function filterOf(ctx: Context, input: SearchUsage, zones: ZoneTimeline): Promise<EventFilter> {
  assertKeyLength(input.metadata);
  const { company_id, client_id } = scopeOf(ctx.actor);
  const { subscription_ids, external_subscription_ids, client_ids, product_ids } = input;
  const lists = { subscription_ids, external_subscription_ids, client_ids, product_ids };
  const whole_company = client_id === undefined && Object.values(lists).every((list) => list === undefined);
  const { min_usage, max_usage, metadata, metadata_search } = input;
  const window = spanOf(input, ctx.now, zones);
  const listed = whole_company ? undefined : await queries.listSearchedSubscriptions(readTx(ctx), lists);
  const { filters } = input;
  const resolved = filters && (await resolve(readTx(ctx), { filters }, [])).filter;
  return {
    company_id,
    subscription_ids: inBoth(listed, resolved?.subscription_ids),
    conditions: resolved?.conditions,
    start_ms: clamp(window.start_ms),
    end_ms: clamp(window.end_ms),
    metadata,
    metadata_search,
    min_usage: min_usage === undefined ? undefined : toBig(min_usage).toFixed(),
    max_usage: max_usage === undefined ? undefined : toBig(max_usage).toFixed(),
  };
}

/** Ids that are in both lists; undefined is all there are. */
function inBoth(a: readonly number[] | undefined, b: readonly number[] | undefined) {
  if (a === undefined || b === undefined) return a ?? b;
  const ids = new Set(b);
  return a.filter((id) => ids.has(id));
}

/** The window of a search. Errors: invalid for a month beside other bounds. */
function spanOf(input: SearchUsage, now: Temporal.Instant, zones: ZoneTimeline): Window {
  const { month, relative, start_time, end_time } = input;
  if (month === undefined)
    return relative === undefined
      ? { start_ms: start_time, end_ms: end_time }
      : windowOf(relative, now, zones);
  for (const [field, value] of Object.entries({ relative, start_time, end_time }))
    if (value !== undefined) throw invalid(`/${field}`, "must be left out when month is given");
  return windowOfMonth(month, zones);
}

/** An instant within those that an event may have, or the one after the last. */
function clamp(ms: number | undefined): number | undefined {
  return ms === undefined ? undefined : Math.min(Math.max(ms, 0), MAX_TIMESTAMP_MS + 1);
}
