import type { AppendResult, NewEvent } from "../port.ts";
import type { LaneFacts } from "./engine/identity.ts";
import type { LaneHolder, LaneRows } from "./lanes/lane_rows.ts";

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
  /** Has the owner of a lane store events. Errors: as `UsageStore.append`. Default: there are no others. */
  passOn?: (owner: LaneHolder, append: PassedAppend) => Promise<AppendResult>;
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

/** An append on its way to the instance that stores the company's events. */
export interface PassedAppend {
  company_id: number;
  events: readonly NewEvent[];
  now_ms: number;
}
