import type { Context } from "../../app/context.ts";
import { readTx } from "../../app/transaction.ts";
import { scopeOf } from "../../core/access.ts";
import { AppError, invalid } from "../../core/errors.ts";
import { LIMITS } from "../limits.ts";
import { toBig } from "../../core/money.ts";
import { type EventFilter, MAX_TIMESTAMP_MS } from "../../usage_store/port.ts";
import type { SearchUsage } from "./model.ts";
import * as queries from "./queries.ts";
import { type Window, windowOf } from "./window.ts";

/** Errors: forbidden for ids outside of the scope. */
export async function assertIdsInScope(ctx: Context, input: SearchUsage): Promise<void> {
  const tx = readTx(ctx);
  const checks = [
    ["client_ids", input.client_ids, queries.listKnownClientIds],
    ["subscription_ids", input.subscription_ids, queries.listKnownSubscriptionIds],
    ["product_ids", input.product_ids, queries.listKnownProductIds],
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
export async function filterOf(ctx: Context, input: SearchUsage, time_zone: string): Promise<EventFilter> {
  assertKeyLength(input.metadata);
  const { company_id, client_id } = scopeOf(ctx.actor);
  const { subscription_ids, external_subscription_ids, client_ids, product_ids } = input;
  const lists = { subscription_ids, external_subscription_ids, client_ids, product_ids };
  const whole_company = client_id === undefined && Object.values(lists).every((list) => list === undefined);
  const { relative, start_time, end_time, min_usage, max_usage, metadata, metadata_search } = input;
  const window: Window =
    relative === undefined
      ? { start_ms: start_time, end_ms: end_time }
      : windowOf(relative, ctx.now, time_zone);
  return {
    company_id,
    subscription_ids: whole_company ? undefined : await queries.listSearchedSubscriptions(readTx(ctx), lists),
    start_ms: clamp(window.start_ms),
    end_ms: clamp(window.end_ms),
    metadata,
    metadata_search,
    min_usage: min_usage === undefined ? undefined : toBig(min_usage).toFixed(),
    max_usage: max_usage === undefined ? undefined : toBig(max_usage).toFixed(),
  };
}

/** An instant within those that an event may have, or the one after the last. */
function clamp(ms: number | undefined): number | undefined {
  return ms === undefined ? undefined : Math.min(Math.max(ms, 0), MAX_TIMESTAMP_MS + 1);
}
