import { type Static, Type } from "@sinclair/typebox";
import { LIMITS } from "../limits.ts";
import { nullable, strict } from "../../core/schema.ts";
import { SubscriptionKey } from "../subscription_key.ts";

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
  {
    title: "NewUsageEvent",
    examples: [
      {
        id: "018f2f6e-6f3b-7c30-9d0c-2b1f3c9a1d55",
        external_subscription_id: "acme-api",
        timestamp: 1_767_945_600_000,
        usage: 1,
        metadata: {
          model: "small",
          kind: "chat",
          input_tokens: 1200,
          cached_tokens: 800,
          output_tokens: 350,
        },
      },
    ],
  },
);

const batch = Type.Array(NewUsageEvent, { minItems: 1, maxItems: LIMITS.usage_batch });

/** The body of an ingest request, of unknown type: validate_events.ts checks it. */
export const RecordUsage = Type.Unsafe<unknown>(
  Type.Union([NewUsageEvent, batch, strict({ events: batch }, { title: "UsageEventBatch" })], {
    examples: NewUsageEvent.examples,
  }),
);

/** A usage event as a CloudEvent, for the documentation: cloud_events.ts checks the rules. */
export const UsageCloudEvent = Type.Object(
  {
    specversion: Type.Literal("1.0"),
    id: Type.String({
      minLength: 1,
      description:
        "A UUID is the event's id; any other text becomes a UUIDv5 of source and id, so it is unique within its source",
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

/** A batch of CloudEvents; it may be empty. */
export const UsageCloudEvents = Type.Array(UsageCloudEvent, { maxItems: LIMITS.usage_batch });

/** A CloudEvent or a batch of them, unchecked: cloud_events.ts does that. */
export const RecordCloudEvents = strict({ body: Type.Unknown(), is_batch: Type.Boolean() });

/** How many events the request stored, and how many were stored before. */
export const RecordedUsage = Type.Object(
  { accepted: Type.Integer(), duplicates: Type.Integer() },
  { title: "RecordedUsage" },
);
export type RecordedUsage = Static<typeof RecordedUsage>;
