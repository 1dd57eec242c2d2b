/**
 * Running totals: what meters measure of windows of time, kept in memory by each commit. The part of the usage store's
 * port that limits ask. Decision 0232.
 */
import type { Decimal } from "../core/money.ts";
import type { MeterTerms } from "./meter.ts";

/** A stretch of time from `start_ms` (inclusive) to `end_ms` (exclusive), Unix ms. */
export interface TotalWindow {
  readonly start_ms: number;
  readonly end_ms: number;
  /** The length of the whole period, by which a `weighted_sum` divides, in ms. */
  readonly whole_ms: number;
}

/** How time is cut into windows, which follow one another without a gap: hours or months of some zone, or all time. */
export interface Calendar {
  /** Calendars of one name have the same windows, in later processes too: it says the kind, the zone, the anchor. */
  readonly name: string;
  /** The window that holds an instant. Asked of instants from a watch's `from_ms` on only. Pure and quick. */
  at(ms: number): TotalWindow;
}

/** What is to be totaled. */
export interface Watch {
  readonly company_id: number;
  readonly subscription_id: number;
  /** Any but `average` and `percentile`, which have no running total. */
  readonly meter: MeterTerms;
  /** A metadata key, each value of which has a total of its own; null for one total. */
  readonly per: string | null;
  /** Where levels begin, as `since_ms` of `MeterWindow`: the start of the subscription. */
  readonly since_ms: number;
  /** Totals are of the window that holds this instant, and of all later ones. Not before `since_ms`. */
  readonly from_ms: number;
  readonly calendar: Calendar;
}

/** The total of a window. */
export interface Total {
  /**
   * Exactly the `quantity` that `measure` answers for the window and part, of all events whose commit was answered
   * before; "0" of none.
   */
  readonly quantity: Decimal;
  /**
   * False until the stored events are counted: after a start, for a new watch, after the metadata that it reads was
   * erased; and of a group that came after 10,000 others of its window. `quantity` is then of some of the events.
   */
  readonly certain: boolean;
}

/** The total of a value of the key that a watch is `per`; null for events without one. */
export interface GroupTotal extends Total {
  readonly group: string | null;
}

/** A watch whose totals are kept until it is closed. */
export interface WatchedTotals {
  readonly watch: Watch;
  /** The start of the first window that has a total: later ones than that of the watch's `from_ms` once past windows were forgotten. */
  readonly floor_ms: number;
  /** Whether its totals are certain. */
  readonly is_certain: boolean;
  /**
   * The total of the window that holds the instant, at or after the watch's `from_ms`; `group` where the watch has `per`.
   * Costs a microsecond.
   */
  at(ms: number, group?: string | null): Total;
  /** As `at`, of all groups that have events, in no particular order, each worked out when it is asked for. */
  groupsAt(ms: number): Iterable<GroupTotal>;
  /** Whether those are all: at most 10,000 groups of a window have totals, and none with a text over 400 characters. */
  hasAllGroups(ms: number): boolean;
  /** Ends it: it is never certain then. */
  close(): void;
}

/** An event that was stored, of a subscription that is watched. */
export interface WatchedEvent {
  readonly company_id: number;
  readonly subscription_id: number;
  /** A lower-case UUID. */
  readonly id: string;
}

/** The totals of all watches. Nothing of it is durable: watches are set again at each start. */
export interface RunningTotals {
  /** The totals of a company are of its events up to this number, as `last_seq` of `MeasureQuery`. */
  lastSeqOf(company_id: number): number;
  /** How many watches are set, and how many of them are not certain by now. */
  readonly counts: { readonly watches: number; readonly uncertain: number };
  /**
   * Keeps totals from now on, in the order of `watches`. They are counted in the background, those of one call together;
   * appends go on meanwhile. Errors: throws invalid for an aggregation that has none.
   */
  watch(watches: readonly Watch[]): WatchedTotals[];
  /** Resolves when none of the present watches waits to be counted. */
  counted(): Promise<void>;
  /**
   * Calls `listener` for each event of a watched subscription that is stored from now on, in the turn of the loop in
   * which the totals come to hold it. It must not throw. Returns what ends it.
   */
  listen(listener: (event: WatchedEvent) => void): () => void;
  /** Forgets the totals of windows that ended by `ms`; what goes over from them to later windows stays. */
  forgetBefore(ms: number): void;
}
