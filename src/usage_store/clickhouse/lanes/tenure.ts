import { closeEpoch, closeEpochsBefore } from "./close_epochs.ts";
import { type CommitNumber, LAST_COMMIT, seqOf } from "./commit_numbers.ts";
import type { LaneLog } from "./lane_log.ts";
import type { LaneHolder, LaneRows, SeenLane, TakenLane } from "./lane_rows.ts";
import { AHEAD_EPOCHS, COMMIT_RETRY_MS, COMMIT_TRIES, RENEWAL_MS, TRUSTED_MS } from "./limits.ts";

/** The time of a process, which no setting of its clock changes. */
export interface Monotonic {
  /** In ms. */
  now(): number;
  sleep(ms: number): Promise<void>;
}

/** What the protocol works with. */
export interface LaneTools<Block> {
  rows: LaneRows;
  log: LaneLog<Block>;
  clock: Monotonic;
  holder: LaneHolder;
}

/** A lane that this process owned is another's, or may be. */
export class LaneLostError extends Error {
  override name = "LaneLostError";
}

/**
 * A lane's ownership, a lease with fencing: from taking the lane until it is released or lost. Only one commit may be
 * under way at a time. Decision 0340.
 */
export class Tenure<Block> {
  readonly lane: number;
  /** Resolves when the tenure is over: lost or released. */
  readonly over: Promise<void>;
  readonly #tools: LaneTools<Block>;
  readonly #end: () => void;
  #epoch: number;
  #n = 0;
  #trusted_until: number;
  #is_over = false;
  #is_advancing = false;
  #renewing: Promise<boolean> | undefined;

  private constructor(lane: number, tools: LaneTools<Block>, { epoch }: TakenLane, asked_ms: number) {
    this.lane = lane;
    this.#tools = tools;
    this.#epoch = epoch;
    this.#trusted_until = asked_ms + TRUSTED_MS;
    const { promise, resolve } = Promise.withResolvers<void>();
    this.over = promise;
    this.#end = () => {
      this.#is_over = true;
      resolve();
    };
    void this.#keepRenewing();
  }

  /**
   * Takes a lane as it was seen, and closes the epochs of its owners before. Null: it was taken or renewed since.
   * Errors: LaneLostError; those of the rows and the log.
   */
  static async begin<Block>(seen: SeenLane, tools: LaneTools<Block>): Promise<Tenure<Block> | null> {
    const { rows, log, clock, holder } = tools;
    const { lane } = seen;
    // While the engine is away no epochs begin: each is one more to close.
    await log.lastEpoch(lane);
    const asked_ms = clock.now();
    const taken = await rows.take(seen, holder);
    if (taken === null) return null;
    const tenure = new Tenure(lane, tools, taken, asked_ms);
    try {
      await tenure.#closeEarlier(taken);
      return tenure;
    } catch (error) {
      tenure.#end();
      throw error;
    }
  }

  /** Closes the epochs before; where the rows were put back to an earlier time, all that are stored, and goes ahead of them. */
  async #closeEarlier({ epoch, closed_epoch }: TakenLane): Promise<void> {
    const { rows, log } = this.#tools;
    const last = await log.lastEpoch(this.lane);
    // A later epoch is no later owner's as long as there is none.
    await this.confirm();
    const is_behind = last >= epoch;
    const before = is_behind ? last + 1 : epoch;
    await closeEpochsBefore(log, this.lane, { epoch: before, closed_epoch }, () => this.confirm());
    if (is_behind) return this.#moveTo(last + AHEAD_EPOCHS);
    if (!(await rows.recordClosed(this.lane, epoch))) throw this.#lose();
  }

  get epoch(): number {
    return this.#epoch;
  }

  /** The number of the last commit; before the first, one that is lower than all to come. */
  get last_seq(): number {
    return seqOf({ epoch: this.#epoch, n: this.#n });
  }

  /** Whether nobody else can own the lane at this moment. */
  get is_trusted(): boolean {
    return this.#isTrusted;
  }

  get is_over(): boolean {
    return this.#is_over;
  }

  /**
   * Stores the block that `make` makes for the commit's number, and returns that: nobody else owned the lane before it
   * was stored. Errors: LaneLostError. It may then be stored, or not, and the tenure is over, unless nothing was sent.
   */
  async commit(make: (seq: number) => Block): Promise<number> {
    await this.confirm();
    if (this.#n >= LAST_COMMIT) await this.advance(this.#epoch + 1);
    const number = { epoch: this.#epoch, n: ++this.#n };
    const seq = seqOf(number);
    await this.#insert(number, make(seq));
    // The engine drops in silence what comes after a void: only who owns the lane now knows that there was none.
    if (!(await this.#isOwned())) throw this.#lose();
    return seq;
  }

  async #insert(number: CommitNumber, block: Block): Promise<void> {
    const { log, clock } = this.#tools;
    for (let tries = 1; ; tries++) {
      try {
        return await log.insert(this.lane, number, block);
      } catch (cause) {
        if (tries === COMMIT_TRIES || !(await this.#isOwned())) throw this.#lose(cause);
        await clock.sleep(COMMIT_RETRY_MS * tries);
      }
    }
  }

  /** Resolves while the lane is this process's. Errors: LaneLostError, also where that is not known for the moment. */
  async confirm(): Promise<void> {
    if (!(await this.#isOwned())) throw this.lost();
  }

  /** Goes on to a later epoch, as numbers must not run out, and all lanes meet in one. No commit may be under way. */
  async advance(to: number): Promise<void> {
    if (to <= this.#epoch) return;
    const { log } = this.#tools;
    try {
      // From here on nothing can be stored in the epoch: there is no way back.
      await closeEpoch(log, this.lane, this.#epoch, () => this.confirm());
      await this.#moveTo(to);
    } catch (error) {
      this.#end();
      throw error;
    }
  }

  /** Goes on in a later epoch; this one and all before are closed. */
  async #moveTo(epoch: number): Promise<void> {
    this.#is_advancing = true;
    try {
      if (!(await this.#tools.rows.advance(this.lane, this.#epoch, epoch))) throw this.#lose();
      this.#epoch = epoch;
      this.#n = 0;
    } finally {
      this.#is_advancing = false;
    }
  }

  /** Gives the lane up in order, so that it is free at once. No commit may be under way. Errors: it is free later. */
  async release(): Promise<void> {
    if (this.#is_over) return;
    const { rows, log } = this.#tools;
    try {
      await closeEpoch(log, this.lane, this.#epoch, () => this.confirm());
      await rows.release(this.lane, this.#epoch);
    } finally {
      this.#end();
    }
  }

  /** Why it ended, where it was not released. */
  lost(): LaneLostError {
    return new LaneLostError(this.#loss());
  }

  /** Forgets the lane without a word: it is free when its time is over. */
  abandon(): void {
    this.#end();
  }

  get #isTrusted(): boolean {
    return !this.#is_over && this.#tools.clock.now() < this.#trusted_until;
  }

  async #isOwned(): Promise<boolean> {
    return this.#isTrusted || (!this.#is_over && this.#renew());
  }

  async #keepRenewing(): Promise<void> {
    while (!this.#is_over) {
      await this.#tools.clock.sleep(RENEWAL_MS);
      if (!this.#is_over) await this.#renew();
    }
  }

  /** Whether the lane is still this process's. */
  #renew(): Promise<boolean> {
    this.#renewing ??= this.#ask().finally(() => {
      this.#renewing = undefined;
    });
    return this.#renewing;
  }

  async #ask(): Promise<boolean> {
    const { rows, clock } = this.#tools;
    const sent_ms = clock.now();
    const epoch = this.#epoch;
    try {
      if (!(await rows.renew(this.lane, epoch))) {
        // While the epoch changes, an answer about the one before says nothing.
        if (epoch === this.#epoch && !this.#is_advancing) this.#end();
        return this.#isTrusted;
      }
      this.#trusted_until = Math.max(this.#trusted_until, sent_ms + TRUSTED_MS);
    } catch {
      // The rows can't be reached: what was known before holds as long as it did.
    }
    return this.#isTrusted;
  }

  #lose(cause?: unknown): LaneLostError {
    this.#end();
    return new LaneLostError(this.#loss(), { cause });
  }

  #loss(): string {
    return `Lane ${this.lane} is no longer this process's, or it is not known whether it is`;
  }
}
