import type { Decimal } from "../core/money.ts";

/** What becomes of the values of the events of a stretch. */
export const AGGREGATIONS = [
  "count",
  "sum",
  "min",
  "max",
  "average",
  "percentile",
  "latest",
  "unique",
  "weighted_sum",
] as const;
export type Aggregation = (typeof AGGREGATIONS)[number];

/**
 * A number of an event, times a factor. `key` is `usage`, or `metadata:` and a key as filters take it, where the event
 * has a number, or a string of digits such as `12.5`: of under 1e12 in size and read to twelve decimals, half away from
 * zero. `times`: at most six decimals and under 1e6 in size.
 */
export interface MeterTerm {
  readonly key: string;
  readonly times: Decimal;
}

/**
 * A condition on a metadata key, whose value compares with `values` as in the filters of a search. `exists`: there is a
 * string, number or boolean at it. `missing` and `not_in` are the opposites of `exists` and `in`.
 */
export interface MeterFilter {
  readonly key: string;
  readonly op: "in" | "not_in" | "exists" | "missing";
  readonly values: readonly string[];
}

/** How usage is counted. Which events count: those that meet every filter, and have what `value` reads. */
export interface MeterTerms {
  readonly aggregation: Aggregation;
  /**
   * The value of an event is the sum of the terms, half away from zero to six decimals, and under 1e12 in size: an event
   * without such a value is skipped. `count` has none. `unique` has one metadata key: the value is the text there, of a
   * number its plain decimal, of a boolean its name.
   */
  readonly value: readonly MeterTerm[];
  readonly filters: readonly MeterFilter[];
  /** Above 0 to 100, at most six decimals; of `percentile` only. */
  readonly percentile: Decimal | null;
  /** Whether `latest` of a stretch without a value is the last one before it. */
  readonly carry_over: boolean;
}

/** A meter, and how its events are divided. */
export interface MeterUse {
  readonly meter: MeterTerms;
  /**
   * Metadata keys, each with the value that it must have, as in filters. An event belongs to the first that fits, or to
   * none. Or `keys`: metadata keys, each combination of whose values is a part of its own.
   */
  readonly parts:
    | { readonly matches: readonly Readonly<Record<string, string>>[] }
    | { readonly keys: readonly string[] };
  /** Events that one of these counts are left out. */
  readonly except?: readonly MeterTerms[] | undefined;
}

/** The sum of all usage. */
export const ALL_USAGE: MeterTerms = {
  aggregation: "sum",
  value: [{ key: "usage", times: "1" }],
  filters: [],
  percentile: null,
  carry_over: false,
};

/** The events of a subscription from `start_ms` (inclusive) to `end_ms` (exclusive), Unix ms, to measure. */
export interface MeterWindow {
  readonly subscription_id: number;
  readonly start_ms: number;
  readonly end_ms: number;
  /** The position of its meter among those of the query. */
  readonly use: number;
  /** Where levels begin, at or before `start_ms`: the start of the subscription. */
  readonly since_ms: number;
  /** The length of the whole period, by which a `weighted_sum` divides, in ms. */
  readonly whole_ms: number;
}

/**
 * What a meter measures of a part of a window. Parts without events are left out.
 *
 * `quantity`: exact, of a division half away from zero to six decimals. A `percentile` is the ⌈p/100 × n⌉-th smallest
 * value; `latest` is of the last timestamp, of these the last id; a `weighted_sum` is a level, that each value changes
 * from `since_ms` on, times how long it lasted within the window, divided by `whole_ms`.
 *
 * `event_count`, `skipped_events` and `digest` are of the events that may change the quantity: those in the window; of a
 * `weighted_sum`, and of `latest` with `carry_over`, those from `since_ms` on. The digest is as of `WindowTotal`, with the
 * value that the meter read in place of the usage, with six decimals: 1 of `count`, the text of `unique`.
 */
export interface Measured {
  /** The position of the match, or -1 for none. Or the values of the keys, null for none. */
  readonly part: number | (string | null)[];
  readonly quantity: Decimal;
  readonly event_count: number;
  readonly skipped_events: number;
  /** How many of the counted events have a negative usage. */
  readonly corrections: number;
  readonly digest: string;
}

/** Meters of subscriptions, by windows. */
export interface MeasureQuery {
  readonly company_id: number;
  readonly uses: readonly MeterUse[];
  readonly windows: readonly MeterWindow[];
  /** The parts of all windows by keys are at most so many. */
  readonly max_parts: number;
  /** They cost half of the time; without them each is that of no events. */
  readonly without_digests?: boolean | undefined;
  /** As of `TotalsOptions`. */
  readonly created_until_ms?: number | undefined;
  readonly last_seq?: number | undefined;
}

/** Whether what a meter measures depends on events before its window. */
export function readsBefore({
  aggregation,
  carry_over,
}: Pick<MeterTerms, "aggregation" | "carry_over">): boolean {
  return aggregation === "weighted_sum" || (aggregation === "latest" && carry_over);
}

/** From where on the events of a window may change what its meter measures. */
export function readFrom(meter: MeterTerms, { start_ms, since_ms }: MeterWindow): number {
  return readsBefore(meter) ? since_ms : start_ms;
}

/** The earliest timestamp of an event that may change what a query measures. */
export function earliestRead(query: MeasureQuery): number {
  return query.windows.reduce(
    (earliest, window) => Math.min(earliest, readFrom(useOf(query, window).meter, window)),
    Number.MAX_SAFE_INTEGER,
  );
}

/** The use of a window. Errors: throws where the query has none. */
export function useOf({ uses }: MeasureQuery, { use }: MeterWindow): MeterUse {
  const found = uses[use];
  if (found === undefined) throw new RangeError(`Cannot measure use ${use}: there are ${uses.length}`);
  return found;
}
