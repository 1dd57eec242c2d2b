import type { CommitNumber } from "./commit_numbers.ts";

/** What is stored last of an epoch: the count of the last commit, 0 for none, and whether that is a void. */
export interface EpochTail {
  n: number;
  is_void: boolean;
}

/**
 * Where the commits of a lane are stored: the engine, as the protocol of lanes needs it. Each commit has a token made of
 * lane, epoch and count. Of two with one token the first to arrive is stored and the other dropped in silence, however
 * late it comes.
 */
export interface LaneLog<Block> {
  /**
   * Stores a block, whole or not at all, and resolves when it is durable or was dropped. Errors: it may be stored, or be
   * stored later.
   */
  insert(lane: number, number: CommitNumber, block: Block): Promise<void>;
  /** As `insert`, a void: a commit of nothing, which closes its epoch. */
  insertVoid(lane: number, number: CommitNumber): Promise<void>;
  /** The last epoch that anything is stored of; 0 for none. Errors: the engine can't be asked. */
  lastEpoch(lane: number): Promise<number>;
  /** Errors: the engine can't be asked. */
  tailOf(lane: number, epoch: number): Promise<EpochTail>;
}
