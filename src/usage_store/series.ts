import type { Decimal } from "../core/money.ts";
import type { EventFilter } from "./event_filter.ts";

/** What is read of the events of a bucket. `mean` is rounded half away from zero to six decimals. */
export const MEASURES = ["units", "events", "mean", "smallest", "largest", "active_subscriptions"] as const;
export type Measure = (typeof MEASURES)[number];

/**
 * What events are grouped by: the value of a metadata key, as in aggregates; their subscription; or the number that
 * `labels` gives to it, null for one that it lacks.
 */
export type SeriesGrouping =
  | { by: "metadata"; key: string }
  | { by: "subscription"; labels?: ReadonlyMap<number, number> | undefined };

/** A group's value of one grouping. */
export type SeriesKey = number | string | null;

/** A measure over time, by group. The bounds of time are those of `edges`. */
export interface SeriesQuery extends Omit<EventFilter, "start_ms" | "end_ms"> {
  /** Unix ms, ascending, at least two: bucket i is from edge i, inclusive, to edge i + 1. Those that are equal hold none. */
  edges: readonly number[];
  /** None, one or two. */
  group_by: readonly SeriesGrouping[];
  measure: Measure;
  /** How many groups are answered: those with the most, or with `smallest` the least; ties by their keys. */
  top: number;
  /** Groups are ranked by their events in place of the measure. */
  by_events?: boolean | undefined;
  /** Answered in place of those with the most, in this order. */
  only?: readonly (readonly SeriesKey[])[] | undefined;
  /** As in aggregates. */
  max_key_length: number;
}

/** A measure of some events: in each bucket that has any, and over all of them; null for none where nothing is added up. */
export interface SeriesLine {
  keys: readonly SeriesKey[];
  value: Decimal | null;
  events: number;
  buckets: ReadonlyMap<number, Decimal>;
}

/** The lines of the groups, of all others together, and of everything. */
export interface SeriesResult {
  groups: SeriesLine[];
  /** Null where `groups` are all. */
  other: SeriesLine | null;
  total: SeriesLine;
  /** How many groups there are. */
  group_count: number;
  /** Events, or sums of them, that the answer was added up from. */
  read: number;
}

/** What has been read of a series so far: all events from `from_ms` on. */
export interface SeriesFrame {
  from_ms: number;
  result: SeriesResult;
}

/** Bounds of `series`. It ends soon after `signal` is aborted, with its reason. */
export interface SeriesOptions {
  timeout_ms: number;
  signal?: AbortSignal | undefined;
}

/** The part of the port that answers series. */
export interface UsageSeries {
  /** A measure over time, exact. Errors: invalid when it needs events that were removed. */
  series(query: SeriesQuery, options: SeriesOptions): Promise<SeriesResult>;

  /**
   * The same, frame by frame, each with about `slice_events` more events, the newest first; all are of one instant. The
   * last one, from the first edge on, is what `series` answers.
   */
  seriesFrames(
    query: SeriesQuery,
    options: SeriesOptions & { slice_events: number },
    send: (frame: SeriesFrame) => Promise<void>,
  ): Promise<void>;
}
