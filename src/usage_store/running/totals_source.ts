import type { MeterUse } from "../meter.ts";
import type { Millionths } from "../meter_reader.ts";
import type { LastEvent } from "./tally.ts";

/** Whose an event is. */
export interface EventPlace {
  company_id: number;
  subscription_id: number;
}

/** A stored event with its number in the order of commits. */
export interface NumberedEvent extends EventPlace {
  seq: number;
  /** Unix ms. */
  timestamp: number;
  /** A lower-case UUID. */
  id: string;
  usage: Millionths;
  /** Canonical JSON text, or null. */
  metadata: string | null;
}

/** Which stored events: all conditions that are present must hold. */
export interface EventRange {
  /** Exclusive. */
  after_seq?: number;
  /** Inclusive. */
  last_seq: number;
  company_id?: number;
  subscription_ids?: readonly number[];
  /** Inclusive, Unix ms. */
  from_ms?: number;
}

/** A stretch of time of a subscription, to be tallied by one of the query's uses. */
export interface TallyWindow {
  subscription_id: number;
  start_ms: number;
  end_ms: number;
  use: number;
  /** Only events with greater numbers; 0: all. */
  after_seq: number;
}

/** Which stored events of a company to tally; the uses have parts by at most one key. */
export interface TallyQuery {
  company_id: number;
  uses: readonly MeterUse[];
  windows: readonly TallyWindow[];
  last_seq: number;
}

/** What the values of a window and group come to; of `unique` a row for each text. */
export interface TallyRow {
  /** The position of the window in the query. */
  window: number;
  group: string | null;
  /** As of `Tally`. */
  value: Millionths | null;
  more: Millionths | LastEvent | null;
  text: string | null;
}

/** What an engine does for running totals. Every answer is of one instant; a number given is that of a whole commit. */
export interface TotalsSource {
  /** Windows and groups without values are left out, rows in no order. */
  tally(query: TallyQuery): Promise<TallyRow[]>;
  /** Calls `take` for each event that is wanted, in no particular order. */
  readEvents(
    range: EventRange,
    isWanted: (place: EventPlace) => boolean,
    take: (event: NumberedEvent) => void,
  ): Promise<void>;
  /** Where a company's events begin, as `UsageRemovals.sinceOf`. */
  sinceOf(company_id: number): number;
}
