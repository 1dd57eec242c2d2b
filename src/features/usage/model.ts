import { type Static, type TSchema, Type } from "@sinclair/typebox";
import { LIMITS } from "../../core/config.ts";
import { At, Id, nullable, oneOf, strict } from "../../core/schema.ts";

const Metadata = Type.Object(
  {},
  { additionalProperties: true, description: "Free-form; an empty object when the event has none" },
);

/** The subscription of an event on the wire: `<company_id>:<external_subscription_id>`. */
const SubscriptionKey = Type.String({ examples: ["1:acme-api"] });

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

/** An event as it is sent, for the documentation: read_events.ts checks the rules. */
const NewUsageEvent = strict(
  {
    id: Type.Optional(
      Type.String({
        format: "uuid",
        description:
          "The idempotency key, unique per company for all time; generated when absent. The same id with " +
          "the same content counts as a duplicate, with other content it is a 409.",
      }),
    ),
    external_subscription_id: Type.Optional(
      Type.String({ description: "The company's own key of the subscription; or send subscription_id" }),
    ),
    subscription_id: Type.Optional(SubscriptionKey),
    timestamp: Type.Optional(
      Type.Integer({
        description:
          "Unix time in ms, by default now; within the subscription's life and at most an hour ahead",
      }),
    ),
    usage: Type.Number({
      exclusiveMinimum: -1e12,
      exclusiveMaximum: 1e12,
      description: "Rounded half away from zero to six decimals; negative is a correction",
    }),
    metadata: Type.Optional(
      Type.Object(
        {},
        {
          additionalProperties: true,
          maxProperties: LIMITS.usage_metadata_keys,
          description:
            `Free-form, nested values too; at most ${LIMITS.usage_metadata_bytes} bytes of JSON. Its numbers ` +
            "are doubles, so that whole ones beyond 2^53 are rounded: send long ids as strings.",
        },
      ),
    ),
  },
  { title: "NewUsageEvent" },
);

const batch = Type.Array(NewUsageEvent, { minItems: 1, maxItems: LIMITS.usage_batch });

/** The body of an ingest request. What arrives is checked by read_events.ts, so that its type says nothing. */
export const RecordUsage = Type.Unsafe<unknown>(
  Type.Union([NewUsageEvent, batch, strict({ events: batch }, { title: "UsageEventBatch" })]),
);

/** How many events were stored by the request, and how many had been before. */
export const RecordedUsage = Type.Object(
  { accepted: Type.Integer(), duplicates: Type.Integer() },
  { title: "RecordedUsage" },
);
export type RecordedUsage = Static<typeof RecordedUsage>;

/** A row of an imported file: what its columns or expressions gave, as text. `row` counts from 1. */
const FileRow = strict({
  row: Type.Integer(),
  /** Why the row can't be read at all, if so. */
  problem: nullable(Type.String()),
  id: nullable(Type.String()),
  subscription: nullable(Type.String()),
  timestamp: nullable(Type.String()),
  usage: nullable(Type.String()),
  metadata: nullable(Type.String()),
});
export type FileRow = Static<typeof FileRow>;

export const ImportUsage = strict({
  /** Names the file by its content: rows without an id get theirs from it. */
  source: Type.String(),
  /** What the rows' `subscription` is. */
  subscription_field: oneOf(["external_subscription_id", "subscription_id"]),
  rows: Type.Array(FileRow),
});

export const RejectedRow = Type.Object({ row: Type.Integer(), reason: Type.String() });
export type RejectedRow = Static<typeof RejectedRow>;

export const ImportedUsage = Type.Object({
  ...RecordedUsage.properties,
  rejected: Type.Array(RejectedRow),
});

export const RELATIVE_WINDOWS = [
  "last_1h",
  "last_24h",
  "last_7d",
  "last_30d",
  "last_90d",
  "this_month",
  "last_month",
] as const;
export type RelativeWindow = (typeof RELATIVE_WINDOWS)[number];

export const GROUPINGS = ["subscription", "client", "product", "day", "hour", "month"] as const;
export type Grouping = (typeof GROUPINGS)[number];

const grouping = oneOf(GROUPINGS);

/** Instants on the wire may lie before 1970: they merely find nothing. */
const Milliseconds = Type.Integer({
  minimum: Number.MIN_SAFE_INTEGER,
  maximum: Number.MAX_SAFE_INTEGER,
});

function filterOf<T extends TSchema>(item: T) {
  return Type.Optional(Type.Array(item, { minItems: 1, maxItems: LIMITS.usage_filter_ids }));
}

/** What is searched. Every field given narrows further; within a list any entry may match. */
export const SearchUsage = strict(
  {
    client_ids: filterOf(Id),
    subscription_ids: filterOf(Id),
    external_subscription_ids: filterOf(Type.String({ maxLength: LIMITS.external_id_length })),
    product_ids: filterOf(Id),
    metadata: Type.Optional(
      // Not Type.Record, whose patterns miss keys that hold a line break.
      Type.Unsafe<Record<string, string>>(
        Type.Object(
          {},
          {
            additionalProperties: Type.String({ maxLength: LIMITS.usage_metadata_bytes }),
            maxProperties: LIMITS.usage_metadata_keys,
            description: "Every pair must match exactly; a dot path reaches nested values",
          },
        ),
      ),
    ),
    metadata_search: Type.Optional(
      Type.String({
        minLength: 1,
        maxLength: LIMITS.usage_search_text_length,
        description: `1 to ${LIMITS.usage_search_text_length} characters, found in any text value whatever the case`,
      }),
    ),
    start_time: Type.Optional(Milliseconds),
    end_time: Type.Optional(Milliseconds),
    relative: Type.Optional(oneOf(RELATIVE_WINDOWS)),
    min_usage: Type.Optional(Type.Number()),
    max_usage: Type.Optional(Type.Number()),
    sort_by: Type.Optional(oneOf(["timestamp", "usage"])),
    sort_order: Type.Optional(oneOf(["asc", "desc"])),
    page: Type.Optional(Type.Integer({ minimum: 1, maximum: LIMITS.page_number })),
    limit: Type.Optional(Type.Integer({ minimum: 1, maximum: LIMITS.usage_search_limit })),
    aggregate: Type.Optional(Type.Boolean()),
    group_by: Type.Optional(
      Type.Union([grouping, Type.Array(grouping, { minItems: 2, maxItems: 2, uniqueItems: true })], {
        description: `one of ${GROUPINGS.join(", ")}, or a list of two different ones`,
      }),
    ),
  },
  { title: "SearchUsage" },
);
export type SearchUsage = Static<typeof SearchUsage>;

/** One page of events, newest first unless asked otherwise. */
const UsagePage = Type.Object(
  {
    data: Type.Array(UsageEvent),
    meta: Type.Object(
      {
        page: Type.Integer(),
        limit: Type.Integer(),
        total: Type.Integer(),
        total_pages: Type.Integer(),
        next_cursor: nullable(Type.String()),
      },
      { title: "UsagePageMeta" },
    ),
  },
  { title: "UsagePage" },
);

/** Grouped by two things, keys and names are lists of two. */
const GroupText = Type.Union([Type.String(), Type.Array(Type.String(), { minItems: 2, maxItems: 2 })]);

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
