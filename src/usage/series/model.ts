import { type Static, Type } from "@sinclair/typebox";
import { InstantText, Month } from "../../core/instants.ts";
import { At, Day, Id, nullable, oneOf, strict } from "../../core/schema.ts";
import { RELATIVE_WINDOWS } from "../../core/windows.ts";
import { MEASURES } from "../../usage_store/series.ts";
import { Field, Filters } from "../filters/model.ts";
import { LIMITS } from "../limits.ts";

/** Ranges by name: those of every question, and two more for charts. */
const SERIES_WINDOWS = [...RELATIVE_WINDOWS, "last_12_months", "all"] as const;

/** The lengths of buckets, ascending. */
export const INTERVALS = [
  "minute",
  "five_minutes",
  "fifteen_minutes",
  "hour",
  "day",
  "week",
  "month",
] as const;
export type Interval = (typeof INTERVALS)[number];

/** Its forms: `from` and `to`, default now; a word; a month; the billing period of a subscription, on a day, default today. */
const Range = strict(
  {
    from: Type.Optional(InstantText),
    to: Type.Optional(InstantText),
    relative: Type.Optional(oneOf(SERIES_WINDOWS)),
    month: Type.Optional(Month),
    period_of: Type.Optional(Id),
    on: Type.Optional(Day),
  },
  { title: "UsageRange" },
);
export type RangeInput = Static<typeof Range>;

const Compare = strict(
  {
    to: oneOf(["before", "last_year"]),
    align_weekdays: Type.Optional(
      Type.Boolean({
        description: "whether it is moved by whole weeks, so that weekdays meet; default false",
      }),
    ),
  },
  { title: "UsageSeriesCompare" },
);
export type Compare = Static<typeof Compare>;

/** Which events, in which range. */
export const eventFields = {
  range: Type.Optional({
    ...Range,
    description:
      "from and to (default now); or relative; or month; or period_of, a subscription whose billing period is meant, with on, a day of it (default today). Default: the last 30 days",
  }),
  filters: Type.Optional(Filters),
  min_usage: Type.Optional(Type.Number()),
  max_usage: Type.Optional(Type.Number()),
};

/** A question for a measure of usage over time. Saved views hold such questions. */
export const SeriesQuestion = strict(
  {
    ...eventFields,
    interval: Type.Optional(
      oneOf(
        ["auto", ...INTERVALS],
        `one of ${["auto", ...INTERVALS].join(", ")}; auto, the default, is the shortest that makes at most ${LIMITS.usage_series_buckets_auto} buckets`,
      ),
    ),
    measure: Type.Optional(oneOf(MEASURES, `one of ${MEASURES.join(", ")}, by default units`)),
    group_by: Type.Optional(
      Type.Union([Field, Type.Array(Field, { minItems: 1, maxItems: 2, uniqueItems: true })], {
        description: "a field, or a list of two different ones",
      }),
    ),
    top: Type.Optional(
      Type.Integer({
        minimum: 1,
        maximum: LIMITS.usage_series_groups,
        description: `how many groups are named, those with the most; default ${LIMITS.usage_series_groups_default}`,
      }),
    ),
    compare: Type.Optional(Compare),
  },
  {
    title: "UsageSeriesQuestion",
    examples: [
      {
        range: { month: "2026-01" },
        interval: "week",
        group_by: "metadata:model",
        filters: [{ field: "client", op: "is", values: ["1"] }],
        compare: { to: "before" },
      },
    ],
  },
);
export type SeriesQuestion = Static<typeof SeriesQuestion>;

const Bucket = Type.Object(
  {
    start: At,
    end: { ...At, description: "not included" },
    partial: Type.Boolean({ description: "whether the range cuts it, or it is not over yet" }),
  },
  { title: "UsageBucket" },
);
export type Bucket = Static<typeof Bucket>;

const Value = nullable(Type.Number());

const line = {
  value: { ...Value, description: "over the whole range; null where there is nothing to measure" },
  values: Type.Array(Value, { description: "one a bucket" }),
};

const Line = Type.Object(line, { title: "UsageSeriesLine" });
export type Line = Static<typeof Line>;

const Group = Type.Object(
  {
    keys: Type.Array(nullable(Type.String()), {
      description: "one a field of group_by; null: the events have none",
    }),
    names: Type.Array(nullable(Type.String())),
    ids: Type.Array(nullable(Type.Integer()), { description: "of the records; null for metadata" }),
    ...line,
  },
  { title: "UsageSeriesGroup" },
);
export type Group = Static<typeof Group>;

const lines = {
  total: Line,
  groups: Type.Array(Group, { description: "those with the most, in this order" }),
  other: { ...nullable(Line), description: "all other groups together; null where there are none" },
};

const change = {
  change: nullable(
    Type.Number({
      description:
        "from there to here, over the buckets that are over: 0.25 is a quarter more; null where there was nothing",
    }),
  ),
};
const ComparedLine = Type.Object({ ...line, ...change }, { title: "UsageSeriesComparedLine" });

/** Usage in the range that it is compared with: bucket by bucket, group by group. */
const Compared = Type.Object(
  {
    from: At,
    to: At,
    buckets: Type.Array(Bucket),
    total: ComparedLine,
    groups: Type.Array(
      Type.Object({ ...Group.properties, ...change }, { title: "UsageSeriesComparedGroup" }),
    ),
    other: nullable(ComparedLine),
  },
  { title: "UsageSeriesCompared" },
);
export type Compared = Static<typeof Compared>;

const Neighbour = Type.Object({ from: At, to: At }, { title: "UsageSeriesNeighbour" });

export const UsageSeries = Type.Object(
  {
    from: At,
    to: At,
    before: { ...Neighbour, description: "the range of the same length that ends where this one begins" },
    after: { ...Neighbour, description: "the one that begins where this one ends" },
    time_zone: Type.String(),
    interval: oneOf(INTERVALS),
    measure: oneOf(MEASURES),
    buckets: Type.Array(Bucket),
    ...lines,
    group_count: Type.Integer({ description: "how many groups there are in all" }),
    compare: nullable(Compared),
  },
  { title: "UsageSeries" },
);
export type UsageSeries = Static<typeof UsageSeries>;

const Meta = Type.Object(
  {
    matched: Type.Integer({ description: "events in the range" }),
    read: Type.Integer({ description: "events, or sums of an hour of them, that were added up" }),
    took_ms: Type.Number(),
    as_of: At,
  },
  { title: "UsageSeriesMeta" },
);
export type Meta = Static<typeof Meta>;

export const UsageSeriesAnswer = Type.Object(
  { data: UsageSeries, meta: Meta },
  { title: "UsageSeriesAnswer" },
);
export type UsageSeriesAnswer = Static<typeof UsageSeriesAnswer>;

/** A line of a streamed series. */
export const SeriesFrame = Type.Object(
  {
    ...UsageSeriesAnswer.properties,
    read_from: { ...At, description: "everything from here on has been read" },
    is_last: Type.Boolean(),
  },
  { title: "UsageSeriesFrame" },
);
export type SeriesFrame = Static<typeof SeriesFrame>;

/** A question for the values that a field has. */
export const ValuesQuestion = strict(
  {
    field: Field,
    search: Type.Optional(
      Type.String({
        minLength: 1,
        maxLength: LIMITS.usage_search_text_length,
        description: `1 to ${LIMITS.usage_search_text_length} characters, a part of the value or name as typed so far`,
      }),
    ),
    limit: Type.Optional(
      Type.Integer({
        minimum: 1,
        maximum: LIMITS.usage_values,
        description: `default ${LIMITS.usage_values_default}`,
      }),
    ),
    ...eventFields,
  },
  {
    title: "UsageValuesQuestion",
    examples: [{ field: "metadata:model", search: "l", range: { month: "2026-01" } }],
  },
);

export const UsageValue = Type.Object(
  {
    key: Type.String({ description: "as filters take it" }),
    name: Type.String(),
    event_count: Type.Integer(),
    total_usage: Type.Number(),
  },
  { title: "UsageValue" },
);

/** The values, the most frequent first. */
export const UsageValues = Type.Object(
  {
    data: Type.Array(UsageValue),
    meta: Type.Object(
      { ...Meta.properties, total: Type.Integer({ description: "how many values there are in all" }) },
      { title: "UsageValuesMeta" },
    ),
  },
  { title: "UsageValues" },
);
