import * as fc from "fast-check";
import { AGGREGATIONS, type MeterTerms } from "../../src/usage_store/meter.ts";
import { canonicalJson } from "../../src/usage_store/metadata.ts";
import { anyKey, scalar, someEvents } from "./arbitrary_events.ts";

const decimal = (size: number, digits: number) =>
  fc
    .tuple(fc.integer({ min: -size, max: size }), fc.integer({ min: 0, max: digits }))
    .map(([whole, by]) => (whole / 10 ** by).toFixed(by));

const anyTerm = fc.record({
  key: fc.oneof(
    fc.constantFrom("usage", "metadata:n"),
    anyKey.map((key) => `metadata:${key}`),
  ),
  times: fc.oneof(fc.constantFrom("1", "-1", "1.000", "0", "0.000001", "999999.999999"), decimal(5_000, 6)),
});

/** Numbers as senders write them. */
const anyNumber = fc.oneof(
  fc.double({ min: -1e13, max: 1e13, noNaN: true }),
  fc.double({ min: -1e-5, max: 1e-5, noNaN: true }),
  fc.integer(),
  decimal(1_000_000_000, 14),
  // The largest that are read, whose sums are over the bound.
  fc.constantFrom("999999999999.999999", "-999999999999.999999", 999_999_999_999, "99999999999.999999"),
);

/** Events that have a number each as `n`. */
export const eventsWithNumbers = fc
  .tuple(someEvents, fc.array(anyNumber, { minLength: 1, maxLength: 10 }))
  .map(([events, numbers]) =>
    events.map((event, i) => {
      const object = { ...event.object, n: numbers[i % numbers.length] };
      return { ...event, object, metadata: canonicalJson(object) };
    }),
  );

export const anyText = scalar.map((value) => (typeof value === "string" ? value : JSON.stringify(value)));

/** A meter of any aggregation. */
export const anyMeter = fc
  .record({
    aggregation: fc.constantFrom(...AGGREGATIONS),
    value: fc.array(anyTerm, { minLength: 1, maxLength: 5 }),
    key: anyKey,
    filters: fc.array(
      fc.record({
        key: anyKey,
        op: fc.constantFrom("in" as const, "not_in" as const, "exists" as const, "missing" as const),
        values: fc.array(anyText, { maxLength: 3 }),
      }),
      { maxLength: 2 },
    ),
    percentile: fc.oneof(
      fc.constantFrom("100", "50", "0.000001", "99.9", "55"),
      fc.integer({ min: 1, max: 99 }).map(String),
    ),
    carry_over: fc.boolean(),
  })
  .map(({ key, percentile, ...meter }): MeterTerms => {
    const { aggregation } = meter;
    const value = { count: [], unique: [{ key: `metadata:${key}`, times: "1" }] }[aggregation as string];
    return {
      ...meter,
      value: value ?? meter.value,
      percentile: aggregation === "percentile" ? percentile : null,
    };
  });
