import { type Static, type TSchema, Type } from "@sinclair/typebox";
import { LIMITS } from "../core/limits.ts";
import { At, Id, nullable, oneOf, strict } from "../core/schema.ts";
import type { ImportSource } from "./import/source.ts";
import type { EventRows } from "../usage_store/event_rows.ts";
import { EXPORT_FORMATS, type MetadataGroup } from "../usage_store/port.ts";

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

/** An event as it is sent, for the documentation: validate_events.ts checks the rules. */
export const NewUsageEvent = strict(
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

/** The body of an ingest request. What arrives is checked by validate_events.ts, so that its type says nothing. */
export const RecordUsage = Type.Unsafe<unknown>(
  Type.Union([NewUsageEvent, batch, strict({ events: batch }, { title: "UsageEventBatch" })]),
);

/** A usage event as a CloudEvent, for the documentation: cloud_events.ts checks the rules. */
export const UsageCloudEvent = Type.Object(
  {
    specversion: Type.Literal("1.0"),
    id: Type.String({
      minLength: 1,
      description:
        "A UUID is the event's id as it is; any other becomes a UUIDv5 with its source, so that it is unique within that",
    }),
    source: Type.String({ minLength: 1 }),
    type: Type.String({ minLength: 1 }),
    subject: Type.String({ minLength: 1, description: "The external_subscription_id" }),
    time: Type.Optional(nullable(Type.String({ format: "date-time", description: "By default now" }))),
    datacontenttype: Type.Optional(nullable(Type.String({ examples: ["application/json"] }))),
    data: strict({
      usage: NewUsageEvent.properties.usage,
      metadata: NewUsageEvent.properties.metadata,
    }),
  },
  { title: "UsageCloudEvent", additionalProperties: true },
);

/** Any number up to a request's bound, none too. */
export const UsageCloudEvents = Type.Array(UsageCloudEvent, { maxItems: LIMITS.usage_batch });

/** A CloudEvent or a batch of them, as it came: checked by cloud_events.ts. */
export const RecordCloudEvents = strict({ body: Type.Unknown(), is_batch: Type.Boolean() });

/** How many events were stored by the request, and how many had been before. */
export const RecordedUsage = Type.Object(
  { accepted: Type.Integer(), duplicates: Type.Integer() },
  { title: "RecordedUsage" },
);
export type RecordedUsage = Static<typeof RecordedUsage>;

/** A row of an imported file that is read alone: what its columns or expressions gave, as text. `row` counts from 1. */
export interface FileRow {
  row: number;
  /** Why the row can't be read at all, if so. */
  problem: string | null;
  id: string;
  subscription: string | null;
  timestamp: string | null;
  usage: string | null;
  metadata: string | null;
}

/** A block of an imported file. */
export interface ImportUsage {
  block: EventRows;
  /** What the rows' `subscription` is, and which of them the block numbers. */
  subscription_field: "external_subscription_id" | "subscription_id";
  keys: readonly string[];
  /** The file's content, which names the rows without an id. */
  source: () => Promise<ImportSource>;
}
export const ImportUsage = Type.Unsafe<ImportUsage>(Type.Any());

export const RejectedRow = Type.Object({ row: Type.Integer(), reason: Type.String() });
export type RejectedRow = Static<typeof RejectedRow>;

export const ImportedUsage = Type.Object({
  ...RecordedUsage.properties,
  rejected: Type.Array(RejectedRow),
});
export type ImportedUsage = Static<typeof ImportedUsage>;

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
    cursor: Type.Optional(
      Type.String({
        maxLength: LIMITS.usage_cursor_length,
        description:
          "the next_cursor of the page before, in place of page; the rest of the search stays as it was",
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

/** What of a search does not decide which events it finds, and in which order. */
export const PAGING = ["page", "limit", "cursor", "aggregate", "group_by"] as const;

/** What is exported: a search whose whole result is wanted. */
export const ExportUsage = strict(
  {
    format: oneOf(EXPORT_FORMATS),
    ...Type.Omit(SearchUsage, PAGING).properties,
  },
  { title: "ExportUsage" },
);
export type ExportUsage = Static<typeof ExportUsage>;

/** An export that whoever has the link may fetch, for a short time. */
export const ExportLink = Type.Object(
  { url: Type.String({ description: "GET it without a token" }), expires_at: At },
  { title: "UsageExportLink" },
);

export const FollowExportLink = strict({
  link: Type.String({ minLength: 1, maxLength: LIMITS.usage_export_link_characters }),
});

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
        next_cursor: nullable(
          Type.String({ description: "Send it as cursor for the next page; null on the last" }),
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

/** Which metadata is asked about: that of the newest events which meet every condition. */
export const ListMetadataKeys = strict({
  external_subscription_id: Type.Optional(Type.String({ maxLength: LIMITS.external_id_length })),
  start_time: Type.Optional(Milliseconds),
  end_time: Type.Optional(Milliseconds),
  relative: Type.Optional(oneOf(RELATIVE_WINDOWS)),
});

/** A key of metadata, or a dot path, as filters take it, and its most frequent values. */
const MetadataKey = Type.Object(
  {
    key: Type.String(),
    count: Type.Integer({ description: "In how many of the events it holds a value" }),
    samples: Type.Array(
      Type.String({
        description: `Of a number or boolean its JSON text; over ${LIMITS.usage_keys_sample_length} characters cut, with …`,
      }),
      { maxItems: LIMITS.usage_keys_samples },
    ),
  },
  { title: "MetadataKey" },
);

/** The keys, the most frequent first, and how much they rest on. */
export const MetadataKeys = Type.Object(
  {
    data: Type.Array(MetadataKey, { maxItems: LIMITS.usage_keys }),
    meta: Type.Object(
      {
        events: Type.Integer({ description: "How many events were looked at, the newest ones" }),
        all_events: Type.Boolean({ description: "Whether that is all" }),
        all_keys: Type.Boolean({ description: "Whether every key of theirs is in the list" }),
      },
      { title: "MetadataKeysMeta" },
    ),
  },
  { title: "MetadataKeys" },
);
