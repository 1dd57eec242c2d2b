import type { Context } from "../../app/context.ts";
import { operation } from "../../app/operation.ts";
import { readTx } from "../../app/transaction.ts";
import { type Scope, scopeOf } from "../../core/access.ts";
import { invalid } from "../../core/errors.ts";
import { LIMITS } from "../limits.ts";
import { pagedList } from "../../core/pagination.ts";
import { iso } from "../../core/time.ts";
import type { ZoneTimeline } from "../../core/periods.ts";
import { listZones } from "../../tenancy/companies/queries.ts";
import type { EventFilter, SearchPosition, StoredEvent } from "../../usage_store/port.ts";
import { compositeKey } from "../subscription_key.ts";
import { type Cursor, readCursor, writeCursor } from "./cursor.ts";
import { assertIdsInScope, filterOf } from "./filters.ts";
import { aggregateInZones } from "./aggregate_in_zones.ts";
import { foldGroups, groupOrder, storedGroupings } from "./groups.ts";
import {
  FoundUsage,
  type Grouping,
  ListMetadataKeys,
  MetadataKeys,
  SearchUsage,
  type SumUsage,
  type UsageAggregation,
  type UsageEvent,
} from "./model.ts";
import { findExternalIds, findSubscriptionNames } from "./queries.ts";

/**
 * Finds a page of events, or sums them in groups. A client user finds its own client's usage only.
 * Errors: forbidden for ids outside the scope, invalid for too many groups, unavailable past the time limit,
 * rate_limited when too many searches wait.
 */
export const searchUsage = operation({
  name: "search_usage",
  permission: "usage:read",
  input: SearchUsage,
  output: FoundUsage,
  async run(ctx, input) {
    const scope = scopeOf(ctx.actor);
    const cursor = input.cursor === undefined ? undefined : cursorOf(scope, input, input.cursor);
    // A page in a window of instants needs no zone.
    const is_zoned = [input.aggregate, input.relative, input.month].some((given) => given !== undefined);
    const [zones] = await Promise.all([is_zoned ? listZones(readTx(ctx)) : [], assertIdsInScope(ctx, input)]);
    const filter = { ...(await filterOf(ctx, input, zones)), ...cursor?.window };
    if (input.aggregate === true) return { data: await aggregateUsage(ctx, filter, zones, input) };
    return searchEvents(ctx, scope, filter, input, cursor);
  },
});

/**
 * Lists the metadata keys of the newest events, with their most frequent values. A client user sees its own client's
 * only. Errors: as `searchUsage`. Decision 0045.
 */
export const listMetadataKeys = operation({
  name: "list_metadata_keys",
  permission: "usage:read",
  input: ListMetadataKeys,
  output: MetadataKeys,
  async run(ctx, { external_subscription_id, ...window }) {
    const zones = await listZones(readTx(ctx));
    const named =
      external_subscription_id === undefined ? {} : { external_subscription_ids: [external_subscription_id] };
    const filter = await filterOf(ctx, { ...window, ...named }, zones);
    const bounds = {
      max_events: LIMITS.usage_keys_events,
      max_bytes: LIMITS.usage_keys_bytes,
      max_keys: LIMITS.usage_keys,
      max_key_length: LIMITS.usage_metadata_key_length,
      max_depth: LIMITS.usage_keys_depth,
      max_elements: LIMITS.usage_keys_elements,
      max_samples: LIMITS.usage_keys_samples,
      max_sample_length: LIMITS.usage_keys_sample_length,
    };
    const { usage_query_timeout_ms } = ctx.config;
    const { keys, ...meta } = await ctx.usage.metadataKeys({ ...filter, ...bounds }, usage_query_timeout_ms);
    return { data: keys, meta };
  },
});

function cursorOf(scope: Scope, input: SearchUsage, text: string): Cursor {
  if (input.page !== undefined) throw invalid("/page", "must be left out when cursor is given");
  if (input.aggregate === true) throw invalid("/cursor", "must be left out of an aggregate: it has no pages");
  return readCursor(scope, input, text);
}

async function searchEvents(
  ctx: Context,
  scope: Scope,
  filter: EventFilter,
  input: SearchUsage,
  cursor: Cursor | undefined,
): Promise<FoundUsage> {
  const { sort_by = "timestamp", sort_order = "desc" } = input;
  const pages = { page: cursor?.page ?? input.page, limit: input.limit };
  let end: SearchPosition | null = null;
  const { data, meta } = await pagedList(pages, LIMITS.usage_search_limit_default, async (slice) => {
    const place = cursor === undefined ? slice : { ...slice, offset: 0, after: cursor.after };
    const query = { ...filter, ...place, sort_by, sort_order };
    const { rows, total, next } = await ctx.usage.search(query, ctx.config.usage_query_timeout_ms);
    end = next;
    const ids = [...new Set(rows.map(({ subscription_id }) => subscription_id))];
    const external_ids = await findExternalIds(readTx(ctx), ids);
    return { rows: rows.map((row) => toUsageEvent(scope.company_id, row, external_ids)), total };
  });
  const { start_ms, end_ms } = filter;
  const next_cursor =
    end && writeCursor(scope, input, { page: meta.page + 1, window: { start_ms, end_ms }, after: end });
  const since = ctx.usage.sinceOf(scope.company_id);
  return { data, meta: { ...meta, next_cursor, ...((start_ms ?? 0) < since ? { since } : {}) } };
}

function toUsageEvent(
  company_id: number,
  row: StoredEvent,
  external_ids: ReadonlyMap<number, string>,
): UsageEvent {
  // A subscription that the database lost (decision 0116) has usage and no name.
  const external_id = external_ids.get(row.subscription_id);
  return {
    id: row.id,
    subscription_id: compositeKey(company_id, external_id ?? `unknown-${row.subscription_id}`),
    timestamp: row.timestamp,
    usage: Number(row.usage),
    metadata: row.metadata ?? {},
    created_at: iso(Temporal.Instant.fromEpochMilliseconds(row.created_at)),
  };
}

/** The sums of the matching events by the requested groups. Errors: as `searchUsage`. */
export async function aggregateUsage(
  ctx: Context,
  filter: EventFilter,
  zones: ZoneTimeline,
  input: Pick<SumUsage, "group_by" | "sort_by" | "sort_order">,
): Promise<UsageAggregation[]> {
  const { group_by = [] } = input;
  const kinds: readonly Grouping[] = typeof group_by === "string" ? [group_by] : group_by;
  const stored = storedGroupings(kinds);
  const folds = kinds.includes("client") || kinds.includes("product");
  const max_groups = folds ? LIMITS.usage_groups_folded : LIMITS.usage_groups;
  const max_key_length = LIMITS.usage_group_key_length;
  const query = { ...filter, group_by: stored, max_groups, max_key_length };
  const rows = await aggregateInZones(ctx, query, zones);
  const at = stored.indexOf("subscription");
  const ids = new Set<number>();
  for (const { keys } of rows) if (typeof keys[at] === "number") ids.add(keys[at]);
  const names = await findSubscriptionNames(readTx(ctx), [...ids]);
  const options = { order: groupOrder(kinds, input), max_groups: LIMITS.usage_groups };
  return foldGroups(filter.company_id, kinds, rows, names, options);
}
