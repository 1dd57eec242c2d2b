import { type Static, type TSchema, Type } from "@sinclair/typebox";
import { SHARED_LIMITS } from "../../core/limits.ts";
import { Filters } from "../filters/model.ts";
import { LIMITS } from "../limits.ts";
import { InstantMs, Month, Relative } from "../../core/instants.ts";
import { At, Id, nullable, oneOf, strict } from "../../core/schema.ts";
import { SubscriptionKey } from "../subscription_key.ts";
import type { MetadataGroup } from "../../usage_store/port.ts";

const Metadata = Type.Object(
  {},
  { additionalProperties: true, description: "Free-form; an empty object when the event has none" },
);

/** A stored event. `timestamp` is Unix time in ms; `usage` has at most six decimals. */
export const UsageEvent = Type.Object(
  {
    id: Type.String({ "x-schema": { type: "string", format: "uuid" } }),
    subscription_id: SubscriptionKey,
    timestamp: Type.Integer(),
    usage: Type.Number(),
    metadata: Metadata,
    created_at: At,
  },
  { title: "UsageEvent" },
);
export type UsageEvent = Static<typeof UsageEvent>;

const GROUPINGS = ["subscription", "client", "product", "day", "hour", "month"] as const;
export type Grouping = (typeof GROUPINGS)[number] | MetadataGroup;

const grouping = Type.Unsafe<Grouping>(
  Type.Union([
    oneOf(GROUPINGS),
    // Not a template literal, whose pattern misses keys that hold a line break.
    Type.String({
      pattern: "^metadata:",
      maxLength: "metadata:".length + LIMITS.usage_metadata_key_length,
      examples: ["metadata:region"],
    }),
  ]),
);

/** When events happened: two instants, or in their place a word or a month. */
const spanFields = {
  start_time: Type.Optional(InstantMs),
  end_time: Type.Optional(InstantMs),
  relative: Type.Optional({ ...Relative, description: "overrides start_time and end_time" }),
  month: Type.Optional({
    ...Month,
    description: "a month such as 2026-10, as bills were cut; without the others",
  }),
};

function filterOf<T extends TSchema>(item: T) {
  return Type.Optional(Type.Array(item, { minItems: 1, maxItems: LIMITS.usage_filter_ids }));
}

/** A search. Every field narrows it further; within a list any entry may match. */
export const SearchUsage = strict(
  {
    client_ids: filterOf(Id),
    subscription_ids: filterOf(Id),
    external_subscription_ids: filterOf(Type.String({ maxLength: SHARED_LIMITS.external_id_length })),
    product_ids: filterOf(Id),
    metadata: Type.Optional(
      // Not Type.Record, whose patterns miss keys that hold a line break.
      Type.Unsafe<Record<string, string>>(
        Type.Object(
          {},
          {
            additionalProperties: Type.String({ maxLength: LIMITS.usage_metadata_value_length }),
            maxProperties: LIMITS.usage_metadata_keys,
            description:
              "Every pair must match exactly; a dot path reaches nested values. Keys have at most " +
              `${LIMITS.usage_metadata_key_length} characters`,
          },
        ),
      ),
    ),
    metadata_search: Type.Optional(
      Type.String({
        minLength: 1,
        maxLength: LIMITS.usage_search_text_length,
        description: `1 to ${LIMITS.usage_search_text_length} characters, found in any text value, ignoring case`,
      }),
    ),
    ...spanFields,
    filters: Type.Optional(Filters),
    min_usage: Type.Optional(Type.Number()),
    max_usage: Type.Optional(Type.Number()),
    sort_by: Type.Optional(oneOf(["timestamp", "usage"])),
    sort_order: Type.Optional(oneOf(["asc", "desc"])),
    page: Type.Optional(Type.Integer({ minimum: 1, maximum: SHARED_LIMITS.page_number })),
    limit: Type.Optional(Type.Integer({ minimum: 1, maximum: LIMITS.usage_search_limit })),
    cursor: Type.Optional(
      Type.String({
        maxLength: LIMITS.usage_cursor_length,
        description:
          "The next_cursor of the previous page, instead of page; send the rest of the search unchanged",
      }),
    ),
    aggregate: Type.Optional(Type.Boolean()),
    group_by: Type.Optional(
      Type.Union([grouping, Type.Array(grouping, { minItems: 2, maxItems: 2, uniqueItems: true })], {
        description:
          `one of ${GROUPINGS.join(", ")} or metadata:<key>, the key of at most ` +
          `${LIMITS.usage_metadata_key_length} characters, or a list of two different ones`,
      }),
    ),
  },
  { title: "SearchUsage" },
);
export type SearchUsage = Static<typeof SearchUsage>;

const { page: _page, cursor: _cursor, aggregate: _aggregate, ...summed } = SearchUsage.properties;

/** Sums as a table: by up to three groups, the largest of them with rows. */
export const SumUsage = strict({
  ...summed,
  group_by: Type.Optional(
    Type.Union([grouping, Type.Array(grouping, { minItems: 1, maxItems: 3, uniqueItems: true })], {
      description:
        `one of ${GROUPINGS.join(", ")} or metadata:<key>, the key of at most ` +
        `${LIMITS.usage_metadata_key_length} characters, or a list of up to three different ones`,
    }),
  ),
  has_bounds: Type.Optional(Type.Boolean({ description: "the smallest and largest usage, too" })),
});
export type SumUsage = Static<typeof SumUsage>;

const Cells = Type.Array(Type.Array(Type.Union([Type.String(), Type.Number(), Type.Null()])));
const GroupSums = { groups: Type.Integer(), total_usage: Type.Number(), event_count: Type.Integer() };

/** Sums as a table; `others` are the groups beyond the limit. */
export const UsageTable = Type.Object({
  columns: Type.Array(Type.String()),
  rows: Cells,
  total: Type.Object(GroupSums),
  others: Type.Optional(Type.Object({ ...GroupSums, rows: Type.Optional(Cells) })),
});

/** Fields of a search that decide neither which events it finds nor their order. */
export const PAGING = ["page", "limit", "cursor", "aggregate", "group_by"] as const;

/** One page of events, newest first by default. */
const UsagePage = Type.Object(
  {
    data: Type.Array(UsageEvent),
    meta: Type.Object(
      {
        page: Type.Integer(),
        limit: Type.Integer(),
        total: Type.Integer(),
        total_pages: Type.Integer(),
        next_cursor: nullable(
          Type.String({ description: "Send it as cursor for the next page; null on the last" }),
        ),
        since: Type.Optional(
          Type.Integer({
            description: "Only where the search reaches back before it: earlier events were removed. Unix ms",
          }),
        ),
      },
      { title: "UsagePageMeta" },
    ),
  },
  { title: "UsagePage" },
);

/** Grouped by two things, keys and names are lists of two; null stands for metadata without the key. */
const GroupText = Type.Union([
  Type.String(),
  Type.Null(),
  Type.Array(nullable(Type.String()), { minItems: 2, maxItems: 2 }),
]);

/** The sum of one group; its smallest and largest usage are null only in a total of no events. */
export const UsageAggregation = Type.Object(
  {
    group_key: GroupText,
    group_name: GroupText,
    total_usage: Type.Number(),
    event_count: Type.Integer(),
    min_usage: nullable(Type.Number()),
    max_usage: nullable(Type.Number()),
  },
  { title: "UsageAggregation" },
);
export type UsageAggregation = Static<typeof UsageAggregation>;

const UsageAggregations = Type.Object({ data: Type.Array(UsageAggregation) }, { title: "UsageAggregations" });

/** The answer to a search: a page of events or, with `aggregate`, groups. */
export const FoundUsage = Type.Union([UsagePage, UsageAggregations]);
export type FoundUsage = Static<typeof FoundUsage>;

/** The events whose metadata is listed: the newest that meet every condition. */
export const ListMetadataKeys = strict({
  external_subscription_id: Type.Optional(Type.String({ maxLength: SHARED_LIMITS.external_id_length })),
  ...spanFields,
});

/** A key of metadata, or a dot path, as filters take it, and its most frequent values. */
export const MetadataKey = Type.Object(
  {
    key: Type.String(),
    count: Type.Integer({ description: "How many of the events have a value for it" }),
    samples: Type.Array(
      Type.String({
        description: `A number or boolean as its JSON text; cut after ${LIMITS.usage_keys_sample_length} characters, with …`,
      }),
      { maxItems: LIMITS.usage_keys_samples },
    ),
  },
  { title: "MetadataKey" },
);

/** The keys, the most frequent first, and how many events they come from. */
export const MetadataKeys = Type.Object(
  {
    data: Type.Array(MetadataKey, { maxItems: LIMITS.usage_keys }),
    meta: Type.Object(
      {
        events: Type.Integer({ description: "How many events were examined: the newest" }),
        all_events: Type.Boolean({ description: "Whether these are all events that match" }),
        all_keys: Type.Boolean({ description: "Whether the list has all of their keys" }),
      },
      { title: "MetadataKeysMeta" },
    ),
  },
  { title: "MetadataKeys" },
);
