import { type Context, operation } from "../../context.ts";
import { type Scope, scopeOf } from "../../core/access.ts";
import { LIMITS } from "../../core/config.ts";
import { AppError } from "../../core/errors.ts";
import { decimal } from "../../core/money.ts";
import { pagedList } from "../../core/page.ts";
import { iso } from "../../core/time.ts";
import { findCompany } from "../companies/queries.ts";
import { foldGroups, groupOrder, storedGroupings } from "./groups.ts";
import { FoundUsage, type Grouping, SearchUsage, type UsageAggregation, type UsageEvent } from "./model.ts";
import * as queries from "./queries.ts";
import { compositeKey, type Window, windowOf } from "./rules.ts";
import type { EventFilter, StoredEvent } from "./store/usage_store.ts";

/**
 * Finds a page of events, or sums them in groups. A client user finds its own client's usage only.
 * Errors: forbidden for ids outside the scope, invalid for too many groups, unavailable past the time limit,
 * rate_limited when too many searches wait. Source: interface, Company: usage search.
 */
export const searchUsage = operation({
  name: "search_usage",
  permission: "usage:read",
  input: SearchUsage,
  output: FoundUsage,
  async run(ctx, input) {
    const scope = scopeOf(ctx.actor);
    const [company] = await Promise.all([
      findCompany(ctx.store.read, scope),
      refuseForeignIds(ctx, scope, input),
    ]);
    const time_zone = company?.timezone ?? "UTC";
    const filter = await filterOf(ctx, scope, input, time_zone);
    if (input.aggregate !== true) return searchEvents(ctx, scope, filter, input);
    return { data: await aggregateUsage(ctx, scope, filter, time_zone, input) };
  },
});

async function refuseForeignIds({ store }: Context, scope: Scope, input: SearchUsage): Promise<void> {
  const checks = [
    ["client_ids", input.client_ids, queries.listKnownClientIds],
    ["subscription_ids", input.subscription_ids, queries.listKnownSubscriptionIds],
    ["product_ids", input.product_ids, queries.listKnownProductIds],
  ] as const;
  for (const [field, ids, listKnown] of checks) {
    if (ids === undefined) continue;
    const known = new Set(await listKnown(store.read, scope, ids));
    const foreign = ids.find((id) => !known.has(id));
    if (foreign === undefined) continue;
    const owner = scope.client_id === undefined ? "company" : "client";
    throw new AppError(
      "forbidden",
      `Cannot search usage: ${field} names ${foreign}, which is none of your ${owner}'s`,
    );
  }
}

async function filterOf(
  { store, now }: Context,
  scope: Scope,
  input: SearchUsage,
  time_zone: string,
): Promise<EventFilter> {
  const { subscription_ids, external_subscription_ids, client_ids, product_ids } = input;
  const lists = { subscription_ids, external_subscription_ids, client_ids, product_ids };
  const whole_company =
    scope.client_id === undefined && Object.values(lists).every((list) => list === undefined);
  const { relative, start_time, end_time, min_usage, max_usage, metadata, metadata_search } = input;
  const window: Window =
    relative === undefined ? { start_ms: start_time, end_ms: end_time } : windowOf(relative, now, time_zone);
  return {
    company_id: scope.company_id,
    subscription_ids: whole_company
      ? undefined
      : await queries.listSearchedSubscriptions(store.read, scope, lists),
    ...window,
    metadata,
    metadata_search,
    min_usage: min_usage === undefined ? undefined : decimal(min_usage).toFixed(),
    max_usage: max_usage === undefined ? undefined : decimal(max_usage).toFixed(),
  };
}

async function searchEvents(
  { store, usage, config }: Context,
  scope: Scope,
  filter: EventFilter,
  { page, limit, sort_by = "timestamp", sort_order = "desc" }: SearchUsage,
): Promise<FoundUsage> {
  const found = await pagedList({ page, limit }, LIMITS.usage_search_limit_default, async (slice) => {
    const query = { ...filter, ...slice, sort_by, sort_order };
    const { rows, total } = await usage.search(query, config.usage_query_timeout_ms);
    const ids = [...new Set(rows.map(({ subscription_id }) => subscription_id))];
    const names = await queries.findSubscriptionNames(store.read, scope, ids);
    return { rows: rows.map((row) => toUsageEvent(scope.company_id, row, names)), total };
  });
  return { data: found.data, meta: { ...found.meta, next_cursor: null } };
}

function toUsageEvent(
  company_id: number,
  row: StoredEvent,
  names: ReadonlyMap<number, queries.SubscriptionNames>,
): UsageEvent {
  const subscription = names.get(row.subscription_id);
  if (!subscription)
    throw new Error(`Cannot name subscription ${row.subscription_id}: it has usage but no record`);
  return {
    id: row.id,
    subscription_id: compositeKey(company_id, subscription.external_subscription_id),
    timestamp: row.timestamp,
    usage: Number(row.usage),
    metadata: row.metadata ?? {},
    created_at: iso(Temporal.Instant.fromEpochMilliseconds(row.created_at)),
  };
}

async function aggregateUsage(
  { store, usage, config }: Context,
  scope: Scope,
  filter: EventFilter,
  time_zone: string,
  { group_by, sort_by, sort_order }: SearchUsage,
): Promise<UsageAggregation[]> {
  const kinds: readonly Grouping[] =
    group_by === undefined ? [] : typeof group_by === "string" ? [group_by] : group_by;
  const stored = storedGroupings(kinds);
  const folds = kinds.includes("client") || kinds.includes("product");
  const max_groups = folds ? LIMITS.usage_groups_folded : LIMITS.usage_groups;
  const query = { ...filter, group_by: stored, time_zone, max_groups };
  const rows = await usage.aggregate(query, config.usage_query_timeout_ms);
  const at = stored.indexOf("subscription");
  const ids = new Set(rows.flatMap(({ keys }) => (typeof keys[at] === "number" ? [keys[at]] : [])));
  const names = await queries.findSubscriptionNames(store.read, scope, [...ids]);
  const asked = { ...(sort_by ? { sort_by } : {}), ...(sort_order ? { sort_order } : {}) };
  const groups = foldGroups(scope.company_id, kinds, rows, names, groupOrder(kinds, asked));
  if (groups.length <= LIMITS.usage_groups) return groups;
  throw new AppError(
    "invalid",
    `Cannot aggregate usage: there are over ${LIMITS.usage_groups} groups; ` +
      "narrow it by time or subscription, or group by something coarser",
  );
}
