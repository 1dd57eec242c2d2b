import * as fc from "fast-check";
import { canonicalJson } from "../../src/usage_store/metadata.ts";
import type { GroupKind } from "../../src/usage_store/port.ts";
import type { MetadataCondition } from "../../src/usage_store/event_filter.ts";
import { MEASURES, type SeriesGrouping } from "../../src/usage_store/series.ts";
import { decimalText, type ModelEvent } from "./reference_model.ts";

/** Every zone rule that is hard: odd offsets, changes at midnight, by half an hour, at one minute past. */
const ZONES = [
  "UTC",
  "Asia/Kuala_Lumpur",
  "Asia/Kathmandu",
  "America/New_York",
  "America/Sao_Paulo",
  "America/St_Johns",
  "Australia/Lord_Howe",
  "Africa/Monrovia",
  "Pacific/Apia",
];

/** Keys that some JSON path language would read as more than a key. */
const KEYS = ["region", "a", "b", "a.b", "*", "$", "$.a", "**", 'a"b', "a/b", "m~n", "", "0", "[0]", "é"];

const SCALARS = [
  "",
  "5",
  "eu",
  "EU-West",
  "É",
  "100%",
  "a_b",
  'q"',
  "\\",
  "l\nm",
  "true",
  "null",
  "~/",
  "1e+21",
  "😀😀😀😀",
];

/** A value at which a metadata filter may aim. */
export const scalar = fc.constantFrom<unknown>(
  ...SCALARS,
  5,
  -0.5,
  1e20,
  1e21,
  1e-7,
  12345678901234567000,
  true,
  null,
);

const { object } = fc.letrec((tie) => ({
  object: fc.dictionary(fc.constantFrom(...KEYS), tie("value"), { maxKeys: 4 }),
  value: fc.oneof(
    { depthSize: "small", withCrossShrink: true },
    scalar,
    tie("object"),
    fc.array(tie("value"), { maxLength: 3 }),
  ),
}));

/** Timestamps that collide, lie around a clock change or anywhere from 1970 to 2030. */
const timestamp = fc.oneof(
  fc.integer({ min: 1_760_000_000_000, max: 1_760_000_000_020 }),
  fc
    .tuple(
      fc.constantFrom("2026-11-01T06:00Z", "2018-02-18T02:00Z", "2018-11-04T03:00Z", "2006-10-29T02:31Z"),
      fc.integer({ min: -7_200_000, max: 7_200_000 }),
    )
    .map(([change, by]) => Temporal.Instant.from(change).epochMilliseconds + by),
  fc.integer({ min: 0, max: 1_900_000_000_000 }),
);

/** An instant where there are events, or at the start of their hour. */
export const anyInstant = fc
  .tuple(timestamp, fc.boolean())
  .map(([at, is_whole]) => (is_whole ? at - (at % 3_600_000) : at));

const usage = fc.oneof(
  fc.bigInt({ min: -20n, max: 20n }).map((halves) => halves * 500_000n),
  fc.bigInt({ min: -(10n ** 18n) + 1n, max: 10n ** 18n - 1n }),
);

/** An event with a random id. */
const anyEvent: fc.Arbitrary<ModelEvent> = fc
  .record({
    id: fc.uuid(),
    subscription_id: fc.integer({ min: 1, max: 4 }),
    timestamp,
    millionths: usage,
    object: fc.option(object, { nil: null, freq: 8 }),
  })
  .map(({ object: value, ...event }) => modelEvent({ ...event, object: isObject(value) ? value : null }));

const optional = <T>(value: fc.Arbitrary<T>): fc.Arbitrary<T | undefined> =>
  fc.option(value, { nil: undefined, freq: 2 });

const bound = fc.bigInt({ min: -12_000_000n, max: 12_000_000n });

/** A key as filters and groups take it: whole, or a path. */
export const anyKey = fc.oneof(
  fc.constantFrom(...KEYS, "a.0", "b.region", "a.b.*"),
  fc.constantFrom(...KEYS),
);

const scalarWord = scalar.map((value) => (typeof value === "string" ? value : JSON.stringify(value)));

/** A condition on a key. */
export const anyCondition: fc.Arbitrary<MetadataCondition> = fc.record({
  key: anyKey,
  op: fc.constantFrom("is", "is_not", "contains", "present", "missing"),
  values: fc.array(fc.oneof(scalarWord, fc.constantFrom("e", "1", "É", "\n", "00")), { maxLength: 3 }),
});

/** Conditions, each there or not, that match some of `someEvents`. */
export const anyFilter = fc.record({
  conditions: optional(fc.array(anyCondition, { maxLength: 2 })),
  subscription_ids: optional(fc.uniqueArray(fc.integer({ min: 1, max: 5 }), { maxLength: 4 })),
  start_ms: optional(fc.integer({ min: 0, max: 1_760_000_000_030 })),
  end_ms: optional(fc.integer({ min: 1_700_000_000_000, max: 1_900_000_000_000 })),
  metadata: optional(fc.dictionary(anyKey, scalarWord, { maxKeys: 2 })),
  metadata_search: optional(fc.constantFrom("e", "EU", "é", "%", "_", '"', "\\", "n", "\n", "a", "true", "")),
  min_usage: optional(bound.map(decimalText)),
  max_usage: optional(bound.map(decimalText)),
});

/** Conditions on time only, which often cut an hour, at its start too. */
export const anyWindow = fc.record({ start_ms: optional(anyInstant), end_ms: optional(anyInstant) });

/** Which page, in which order. */
export const anyPage = fc.record({
  sort_by: fc.constantFrom("timestamp", "usage"),
  sort_order: fc.constantFrom("asc", "desc"),
  limit: fc.integer({ min: 1, max: 30 }),
  offset: fc.integer({ min: 0, max: 30 }),
});

/** What to sum by, in which zone. */
export const anyGroups = fc.record({
  group_by: fc.uniqueArray(
    fc.oneof(
      fc.constantFrom<GroupKind>("subscription", "day", "hour", "month"),
      anyKey.map((key): GroupKind => `metadata:${key}`),
    ),
    { maxLength: 2 },
  ),
  time_zone: fc.constantFrom(...ZONES),
  max_key_length: fc.constantFrom(1, 3, 500),
});

const anySeriesGrouping: fc.Arbitrary<SeriesGrouping> = fc.oneof(
  fc.constant<SeriesGrouping>({ by: "subscription" }),
  fc
    .uniqueArray(fc.tuple(fc.integer({ min: 1, max: 4 }), fc.integer({ min: 7, max: 8 })), {
      selector: ([id]) => id,
    })
    .map((labels): SeriesGrouping => ({ by: "subscription", labels: new Map(labels) })),
  anyKey.map((key): SeriesGrouping => ({ by: "metadata", key })),
);

/** Edges that are equal slices of whole hours, or of minutes, and any. */
const anyEdges = fc.oneof(
  fc
    .tuple(
      anyInstant,
      fc.constantFrom(60_000, 3_600_000, 86_400_000),
      fc.integer({ min: 1, max: 30 }),
      anyInstant,
    )
    .map(([at, width, count, start]) => {
      const origin = at - (at % width);
      const inner = Array.from({ length: count }, (_, i) => origin + i * width);
      return [Math.min(start, origin), ...inner, origin + count * width - (start % width)];
    }),
  fc.array(anyInstant, { minLength: 2, maxLength: 8 }).map((edges) => edges.toSorted((a, b) => a - b)),
);

/** What to answer as a series. */
export const anySeries = fc.record({
  edges: anyEdges,
  group_by: fc.array(anySeriesGrouping, { maxLength: 2 }),
  measure: fc.constantFrom(...MEASURES),
  by_events: optional(fc.boolean()),
  top: fc.integer({ min: 1, max: 4 }),
  max_key_length: fc.constantFrom(1, 3, 500),
});

/** Events with different ids. */
export const someEvents = fc.uniqueArray(anyEvent, { minLength: 1, maxLength: 60, selector: ({ id }) => id });

/** An event with whatever is not given filled in. */
export function modelEvent(given: Partial<ModelEvent> = {}): ModelEvent {
  const { object: value = null, millionths = 1_000_000n } = given;
  return {
    id: crypto.randomUUID(),
    subscription_id: 1,
    timestamp: 1_760_000_000_000,
    timestamp_given: true,
    usage: decimalText(millionths),
    metadata: value === null ? null : canonicalJson(value),
    ...given,
    object: value,
    millionths,
  };
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null;
}
