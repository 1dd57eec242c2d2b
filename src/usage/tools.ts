import { type Static, type TObject, Type } from "@sinclair/typebox";
import type { Context } from "../app/context.ts";
import { call } from "../app/operation.ts";
import { nullable, PageMeta } from "../core/schema.ts";
import { createExportLink } from "./export/export_links.ts";
import { FoundUsage, MetadataKeys, SearchUsage, SumUsage, UsageTable } from "./search/model.ts";
import { listMetadataKeys, searchUsage } from "./search/service.ts";
import { tabulateUsage } from "./search/table_service.ts";
import { data } from "../http/responses.ts";
import { noCursor } from "../mcp/fit.ts";
import { action } from "../mcp/shapes.ts";
import { tool } from "../mcp/tool.ts";
import { describe, describeAll, describeOnly } from "../mcp/wire_schema.ts";

const given = SearchUsage.properties;

/** The filter of events, the same for search and export. */
const eventFilter = {
  relative: describeOnly(given.relative, "Hours or days up to now, or by the company's calendar"),
  start_time: describe(given.start_time, "From this instant on; not with relative"),
  end_time: describe(given.end_time, "Before this instant; not with relative"),
  subscription_ids: describe(given.subscription_ids, "Only these subscriptions"),
  external_subscription_ids: describeOnly(
    given.external_subscription_ids,
    "Only these, by your own system's ids",
  ),
  product_ids: describe(given.product_ids, "Only subscriptions to these products"),
  metadata: describeOnly(given.metadata, 'Only events with these values, such as {"region": "eu"}'),
  metadata_search: describeOnly(given.metadata_search, "Only events with this text in their metadata"),
  min_usage: describe(given.min_usage, "Only events of at least this usage"),
  max_usage: describe(given.max_usage, "Only events of at most this usage"),
};

const clientFilter = { client_ids: describe(given.client_ids, "Only subscriptions of these clients") };

/** Shorter than the schema of every alternative, which its description lists. */
const GROUP_BY = { type: ["string", "array"], items: { type: "string" } };

const searchInput = {
  ...eventFilter,
  aggregate: describe(given.aggregate, "Sums instead of events; group_by says so, too"),
  group_by: {
    ...describeOnly(
      SumUsage.properties.group_by,
      "subscription, client, product, day, hour, month or metadata:<key>, or a list of up to three",
    ),
    "x-schema": GROUP_BY,
  },
  sort_by: describe(given.sort_by, "Default timestamp; for sums, the total"),
  sort_order: describe(given.sort_order, "Default desc"),
  limit: describe(given.limit, "Events, or groups with rows; default 50"),
  cursor: describeOnly(given.cursor, "meta.next_cursor of the page before"),
};

/** Events, or sums as a table. */
const UsageAnswer = Type.Object({
  data: Type.Union([FoundUsage.anyOf[0].properties.data, FoundUsage.anyOf[1].properties.data, UsageTable]),
  meta: Type.Optional(Type.Object({ ...PageMeta.properties, next_cursor: nullable(Type.String()) })),
});

const SEARCH =
  "For questions such as usage by model this month, group_by (up to three, such as day and metadata:model): the answer is a table with its total, the largest groups in rows, the rest as others, and all days where day stands alone. For single events leave group_by out. Sums are exact.";

type Search = Static<TObject<typeof searchInput>> & { client_ids?: number[] };

/** Searches events, or sums them as a table. */
async function searchOf(
  ctx: Context,
  { aggregate, group_by, ...input }: Search,
  { is_detailed }: { is_detailed: boolean },
): Promise<Static<typeof UsageAnswer>> {
  if (aggregate !== true && group_by === undefined) return call(ctx, searchUsage, input);
  const { cursor, ...sums } = input;
  // Tables go on by rows alone.
  if (cursor !== undefined) throw noCursor();
  const grouped = group_by === undefined ? {} : { group_by };
  return data(call(ctx, tabulateUsage, { ...sums, ...grouped, has_bounds: is_detailed }));
}

const usageSearch = {
  operations: [searchUsage, tabulateUsage],
  details: [],
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

/** As the search takes it, where it is described. */
const sameFilter = describeAll(eventFilter, "As in the search");

const exportInput = {
  format: describe(createExportLink.input.properties.format, "The file's format"),
  ...sameFilter,
};

const makeLink = tool({
  name: "billing_export_usage",
  title: "Link to a usage export",
  description:
    "Makes a link to a file of all usage events that a search finds, for the person to open; it works for 15 minutes and needs no sign-in, so share it with nobody else. Use it when a person wants the raw data, instead of reading page after page.",
  ...action(createExportLink),
  input: { ...exportInput, ...describeAll(clientFilter, "As in the search") },
});

export const usageTools = [findUsage, findKeys, makeLink];

const findMyUsage = tool({
  name: "billing_search_my_usage",
  title: "Search and sum my usage",
  description:
    "Searches your usage events, or sums them as a table: group_by (up to three, such as day and metadata:model). For single events leave group_by out. billing_list_my_usage_metadata_keys lists the keys.",
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
