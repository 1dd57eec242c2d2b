import type { LaneFacts } from "./engine/identity.ts";
import type { LaneHolder, LaneRows } from "./lanes/lane_rows.ts";
import type { PassOn } from "./owner_calls.ts";

/** Where the store is, and its limits. Every limit has a default for a machine of two cores. */
export interface ClickHouseOptions {
  /** Of the HTTP interface, with user, password and database: `https://user:pw@host:8443/db`. */
  url: string;
  /** How many lanes companies are divided over. It counts only when the tables are made. Default 8. */
  lanes?: number;
  /** Decides whether a store of these facts may be used, refusing by an error, and opens the rows of who owns its lanes. */
  openRows: (facts: LaneFacts) => Promise<LaneRows>;
  /** This process, as an owner. */
  holder: LaneHolder;
  /** Has the owner of a lane do what only it does. Default: there are no others. */
  passOn?: PassOn;
  /** Whether it takes a fair share of the lanes from others, or those alone that are free. Default true. */
  takes_share?: boolean;
  /** Told of lanes that come and go. */
  watcher?: LaneWatcher;
  /** Takes what keeps removals of all processes waiting, and resolves with what lets it go. Default: there are no others. */
  lockRemovals?: () => Promise<() => Promise<void>>;
  /** A folder for files of exports while they are made. */
  folder: string;
  /** Questions asked at once, of one company one fewer. Default 16. */
  questions?: number;
  /** Questions that may wait, and of one company. Default 256, and a quarter of all. */
  questions_waiting?: number;
  questions_waiting_company?: number;
  /** Exports that run at once, of one company one fewer. Default 2. */
  exports?: number;
  /** Exports that may wait, and of one company. Default 8 and 2. */
  exports_waiting?: number;
  exports_waiting_company?: number;
  /** Events of a lane that may wait for their commit. Default 100,000. */
  pending_events?: number;
  /** How long a commit waits for more appends. Default 2. */
  group_ms?: number;
  /** Events at which it waits for no more. Default 50,000. */
  group_events?: number;
  /** How long a lane rests after a commit, at least and at most: each is a part to merge. Default 20 and 200. */
  rest_ms?: readonly [least: number, most: number];
  /** Called when background work failed, with what happens next. */
  on_failure?: (error: unknown, message: string) => void;
}

/** Hears of lanes. `isOf` says whether a company is in the lane. */
export interface LaneWatcher {
  /** The lane is taken, and serves once this resolves: all that was stored before is known. */
  taken(isOf: (company_id: number) => boolean): Promise<void>;
  /** The lane is about to be another's, or is already. */
  lost(isOf: (company_id: number) => boolean): void;
}
