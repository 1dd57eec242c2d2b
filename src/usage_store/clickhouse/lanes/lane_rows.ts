/** Who may own lanes: a process, for as long as it runs. */
export interface LaneHolder {
  /** A UUID that no other process has. */
  id: string;
  /** Where other instances reach it; null where there are none. */
  url: string | null;
}

/** A lane that was taken, with the last epoch that is closed, and all before it. */
export interface TakenLane {
  epoch: number;
  closed_epoch: number;
}

/** A lane as others see it. */
export interface LaneState {
  lane: number;
  epoch: number;
  /** It and all before are closed. */
  closed_epoch: number;
  /** Its owner; null while it has none, or has not renewed it in time by the rows' clock. */
  owner: LaneHolder | null;
  /** Whether nobody owns it, or the asker itself does, and it is not kept for somebody who wants it. */
  is_free: boolean;
  /** Another one after each renewal. */
  stamp: string;
  /** The holder that wants the lane, by its id. */
  wanted_by: string | null;
  /** The epoch that the lane is to be in at least. */
  least_epoch: number;
}

/** What tells whether a lane is still as it was seen. */
export type SeenLane = Pick<LaneState, "lane" | "epoch" | "stamp">;

/**
 * Who owns the lanes: a row each, where each change is a compare-and-set by its epoch and durable when it resolves. Errors
 * of all: the rows can't be reached, and the change may have been made.
 */
export interface LaneRows {
  /** All lanes, by number, as the asker sees them. */
  list(holder: LaneHolder): Promise<LaneState[]>;
  /** Takes a lane as it was seen, with the next epoch. Null: it was taken or renewed since. */
  take(seen: SeenLane, holder: LaneHolder): Promise<TakenLane | null>;
  /** False: another one has taken it. */
  renew(lane: number, epoch: number): Promise<boolean>;
  /** Records that all epochs before its own are closed. False: another one has taken it. */
  recordClosed(lane: number, epoch: number): Promise<boolean>;
  /** Goes on to a later epoch; this one and all before are closed. False: another one has taken it. */
  advance(lane: number, epoch: number, to: number): Promise<boolean>;
  /** Frees it; its epoch and all before are closed. False: another one has taken it. */
  release(lane: number, epoch: number): Promise<boolean>;
  /** Asks the owner for the lane, unless somebody else has. */
  want(lane: number, holder: LaneHolder): Promise<void>;
  /** Asks the owners of all lanes to be in this epoch at least. */
  raise(least_epoch: number): Promise<void>;
}
