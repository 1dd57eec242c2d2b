import { type Static, Type } from "@sinclair/typebox";
import { SHARED_LIMITS } from "../../core/limits.ts";
import { InstantText } from "../../core/instants.ts";
import {
  At,
  Id,
  idsField,
  Name,
  nullable,
  oneOf,
  pageFields,
  Search,
  sortedBy,
  strict,
  textUpTo,
} from "../../core/schema.ts";
import { AGGREGATIONS } from "../../usage_store/meter.ts";
import { DecimalInput, DecimalText } from "../decimals.ts";
import { LIMITS } from "../limits.ts";

const CODE = "^[a-z][a-z0-9_]{0,63}$";

/** A short name that programs use, unique within the company. */
export const Code = Type.String({
  pattern: CODE,
  description: "a lower-case letter, then up to 63 lower-case letters, digits or _",
});

const MetadataKey = Type.String({
  minLength: 1,
  maxLength: SHARED_LIMITS.name_length,
  description: `a metadata key, or a path such as user.id, of 1 to ${SHARED_LIMITS.name_length} characters`,
});

const ValueKey = Type.String({
  pattern: `^(usage|metadata:[\\s\\S]{1,${SHARED_LIMITS.name_length}})$`,
  description: `usage, or metadata: and a key of 1 to ${SHARED_LIMITS.name_length} characters`,
});

const OPS = ["in", "not_in", "exists", "missing"] as const;

export const MeterFilter = Type.Object({
  key: Type.String(),
  op: oneOf(OPS),
  values: Type.Array(Type.String()),
});

const MeterFilterInput = strict({
  key: MetadataKey,
  op: oneOf(OPS),
  values: Type.Optional(
    Type.Array(textUpTo(SHARED_LIMITS.name_length), { maxItems: LIMITS.meter_filter_values }),
  ),
});

/** What counts, and how. Decision 0230. */
export const Meter = Type.Object(
  {
    id: Id,
    code: Type.String(),
    name: Type.String(),
    description: Type.String(),
    aggregation: oneOf(AGGREGATIONS),
    value: Type.Array(Type.Object({ key: Type.String(), times: DecimalText }), {
      description: "the value of an event is the sum of these numbers, each times its factor",
    }),
    filters: Type.Array(MeterFilter, { description: "events that meet all of these count" }),
    group_keys: Type.Array(Type.String(), {
      description: "metadata keys by which prices and limits may differ",
    }),
    percentile: nullable(DecimalText),
    carry_over: Type.Boolean({
      description: "whether latest of a stretch without a value is the last one before it",
    }),
    company_id: Id,
    created_at: At,
    updated_at: At,
  },
  { title: "Meter" },
);
export type Meter = Static<typeof Meter>;

const terms = {
  value: Type.Optional(
    Type.Array(strict({ key: ValueKey, times: Type.Optional(DecimalInput) }), {
      maxItems: LIMITS.meter_terms,
      description: `at most ${LIMITS.meter_terms} terms; usage when it is left out`,
    }),
  ),
  filters: Type.Optional(
    Type.Array(MeterFilterInput, {
      maxItems: LIMITS.meter_filters,
      description: `at most ${LIMITS.meter_filters} filters`,
    }),
  ),
  group_keys: Type.Optional(
    Type.Array(MetadataKey, {
      maxItems: LIMITS.meter_group_keys,
      uniqueItems: true,
      description: `at most ${LIMITS.meter_group_keys} different keys`,
    }),
  ),
  percentile: Type.Optional(nullable(DecimalInput)),
  carry_over: Type.Optional(Type.Boolean()),
};

/** What a meter counts by, in a request. */
export const MeterTermsInput = strict({ aggregation: oneOf(AGGREGATIONS), ...terms });
export type MeterTermsInput = Static<typeof MeterTermsInput>;

export const ListMeters = strict({
  ids: idsField,
  search: Type.Optional(Search),
  sort: sortedBy(["id", "name", "code", "created_at"]),
  ...pageFields,
});

const Description = textUpTo(SHARED_LIMITS.description_length);

export const CreateMeter = strict(
  {
    code: Code,
    name: Name,
    description: Type.Optional(Description),
    aggregation: oneOf(AGGREGATIONS),
    ...terms,
  },
  {
    title: "CreateMeter",
    examples: [
      {
        code: "input_tokens",
        name: "Input tokens",
        aggregation: "sum",
        value: [{ key: "metadata:input_tokens" }, { key: "metadata:cached_tokens", times: "-1" }],
        group_keys: ["model"],
      },
      {
        code: "output_tokens",
        name: "Output tokens",
        aggregation: "sum",
        value: [{ key: "metadata:output_tokens" }],
        filters: [{ key: "kind", op: "in", values: ["chat", "code"] }],
        group_keys: ["model"],
      },
    ],
  },
);

export const UpdateMeter = strict(
  {
    id: Id,
    name: Name,
    description: Type.Optional(Description),
    code: Type.Optional(Code),
    aggregation: Type.Optional(oneOf(AGGREGATIONS)),
    ...terms,
  },
  { title: "UpdateMeter", examples: [{ name: "Tokens in", description: "Without those from a cache" }] },
);

export const TryMeter = strict(
  {
    meter: MeterTermsInput,
    from: InstantText,
    to: InstantText,
    subscription_ids: Type.Optional(
      Type.Array(Id, {
        minItems: 1,
        maxItems: LIMITS.meter_try_subscriptions,
        uniqueItems: true,
        description: `1 to ${LIMITS.meter_try_subscriptions} different ids; without them those with most events`,
      }),
    ),
  },
  {
    title: "TryMeter",
    examples: [
      {
        meter: { aggregation: "unique", value: [{ key: "metadata:user.id" }] },
        from: "2026-01-01T00:00:00Z",
        to: "2026-02-01T00:00:00Z",
      },
    ],
  },
);

/** What a meter counts of a subscription's stored events, by its group keys. */
export const MeterTrial = Type.Object(
  {
    from: At,
    to: At,
    is_complete: Type.Boolean({
      description: "whether every subscription with events in this time was counted",
    }),
    rows: Type.Array(
      Type.Object({
        subscription_id: Id,
        group: Type.Record(Type.String(), nullable(Type.String()), {
          description: "the group keys, each with its value; null for events without one",
        }),
        quantity: DecimalText,
        event_count: Type.Integer(),
        skipped_events: Type.Integer({
          description: "events that met the filters and had no value to count",
        }),
      }),
    ),
  },
  { title: "MeterTrial" },
);
export type MeterTrial = Static<typeof MeterTrial>;
