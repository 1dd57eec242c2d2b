import { type Static, Type } from "@sinclair/typebox";
import type { Context } from "../app/context.ts";
import { call } from "../app/operation.ts";
import { nullable, PageMeta } from "../core/schema.ts";
import { createExportLink } from "./export/export_links.ts";
import { MetadataKeys, SearchUsage, UsageAggregation, UsageEvent } from "./search/model.ts";
import { listMetadataKeys, searchUsage } from "./search/service.ts";
import { action } from "../mcp/shapes.ts";
import { tool } from "../mcp/tool.ts";
import { describe } from "../mcp/wire_schema.ts";

const given = SearchUsage.properties;

/** The filter of events, the same for search and export. */
const eventFilter = {
  relative: describe(given.relative, "A window up to now, or a calendar month in the company's zone"),
  start_time: describe(given.start_time, "From this Unix time in milliseconds on; not with relative"),
  end_time: describe(given.end_time, "Before this Unix time in milliseconds; not with relative"),
  subscription_ids: describe(given.subscription_ids, "Only these subscriptions"),
  external_subscription_ids: describe(
    given.external_subscription_ids,
    "Only these, by your own system's ids",
  ),
  product_ids: describe(given.product_ids, "Only subscriptions to these products"),
  metadata: describe(given.metadata, 'Only events with this metadata, such as {"region": "eu"}'),
  metadata_search: describe(given.metadata_search, "Only events with this text in their metadata"),
  min_usage: describe(given.min_usage, "Only events of at least this usage"),
  max_usage: describe(given.max_usage, "Only events of at most this usage"),
};

const clientFilter = { client_ids: describe(given.client_ids, "Only subscriptions of these clients") };

/** Shorter than the schema of every alternative, which its description lists. */
const GROUP_BY = {
  anyOf: [{ type: "string" }, { type: "array", items: { type: "string" }, minItems: 2, maxItems: 2 }],
};

const searchInput = {
  ...eventFilter,
  aggregate: describe(given.aggregate, "Sums instead of events"),
  group_by: {
    ...describe(given.group_by, "What to group the sums by; without it, one row for all"),
    "x-schema": GROUP_BY,
  },
  sort_by: describe(given.sort_by, "Default timestamp; for sums, the total"),
  sort_order: describe(given.sort_order, "Default desc"),
  limit: describe(given.limit, "Events per page, default 50; for sums, how many groups, default all"),
  cursor: describe(given.cursor, "Only for events"),
};

/** Events or sums, distinguished by their fields; sums have `meta` when a limit was given. */
const UsageAnswer = Type.Object({
  data: Type.Array(Type.Union([UsageEvent, UsageAggregation])),
  meta: Type.Optional(Type.Object({ ...PageMeta.properties, next_cursor: nullable(Type.String()) })),
});

const SEARCH =
  "For questions such as usage by model this month, set aggregate and group_by (up to two, such as day and metadata:model); for single events leave aggregate out and follow meta.next_cursor. Sums are exact.";

/** Searches events or sums. REST returns all sums; here a limit cuts them off. */
async function searchOf(ctx: Context, { limit, ...input }: SearchUsage): Promise<Static<typeof UsageAnswer>> {
  if (input.aggregate !== true)
    return call(ctx, searchUsage, { ...input, ...(limit === undefined ? {} : { limit }) });
  const found = await call(ctx, searchUsage, input);
  if (limit === undefined) return found;
  const total = found.data.length;
  const meta = { page: 1, limit, total, total_pages: Math.ceil(total / limit), next_cursor: null };
  return { data: found.data.slice(0, limit), meta };
}

const usageSearch = {
  operations: [searchUsage],
  details: ["min_usage", "max_usage"],
  output: UsageAnswer,
  run: searchOf,
};

const findUsage = tool({
  name: "billing_search_usage",
  title: "Search and sum usage",
  description: `Searches the company's usage events, or sums them by subscription, client, product, time or a metadata key. ${SEARCH} billing_list_usage_metadata_keys lists the keys.`,
  ...usageSearch,
  input: { ...searchInput, ...clientFilter },
});

const { relative, external_subscription_id } = listMetadataKeys.input.properties;

const metadataKeys = {
  operations: [listMetadataKeys],
  input: {
    relative: describe(relative, "The window of time"),
    external_subscription_id: describe(
      external_subscription_id,
      "Only this subscription, by your own system's id",
    ),
  },
  output: MetadataKeys,
  run: (ctx: Context, input: Static<typeof listMetadataKeys.input>) => call(ctx, listMetadataKeys, input),
};

const findKeys = tool({
  name: "billing_list_usage_metadata_keys",
  title: "List metadata keys of usage",
  description:
    "Lists the metadata keys of recent usage events with their most frequent values. Use it before filtering by metadata or grouping by metadata:<key> in billing_search_usage.",
  ...metadataKeys,
});

const exportInput = {
  format: describe(createExportLink.input.properties.format, "The file's format"),
  ...eventFilter,
};

const makeLink = tool({
  name: "billing_export_usage",
  title: "Link to a usage export",
  description:
    "Makes a link to a file of all usage events that a search finds, for the person to open; it works for 15 minutes and needs no sign-in, so share it with nobody else. Use it when a person wants the raw data, instead of reading page after page.",
  ...action(createExportLink),
  input: { ...exportInput, ...clientFilter },
});

export const usageTools = [findUsage, findKeys, makeLink];

const findMyUsage = tool({
  name: "billing_search_my_usage",
  title: "Search and sum my usage",
  description:
    "Searches your usage events, or sums them: aggregate with group_by (up to two, such as day and metadata:model). For single events leave aggregate out and follow meta.next_cursor. billing_list_my_usage_metadata_keys lists the keys.",
  ...usageSearch,
  level: "client",
  input: searchInput,
});

const findMyKeys = tool({
  name: "billing_list_my_usage_metadata_keys",
  title: "List metadata keys of my usage",
  description:
    "Lists the metadata keys of your recent usage events with their most frequent values, for filters and groups of billing_search_my_usage.",
  ...metadataKeys,
  level: "client",
});

const makeMyLink = tool({
  name: "billing_export_my_usage",
  title: "Link to an export of my usage",
  description:
    "Makes a link to a file of all your usage events that a search finds; it works for 15 minutes and needs no sign-in, so share it with nobody else.",
  ...action(createExportLink),
  level: "client",
  input: exportInput,
});

/** For client users. */
export const myUsageTools = [findMyUsage, findMyKeys, makeMyLink];
