import { AppError } from "../../../core/errors.ts";
import { LaneKeeper, type LaneService, type LaneServing } from "./lane_keeper.ts";
import type { LaneHolder, LaneState } from "./lane_rows.ts";
import { HAND_OVER_MS, TAKE_MOST_PAUSE_MS } from "./limits.ts";
import type { LaneTools } from "./tenure.ts";

/** The pause between looks at the rows. */
const LOOK_MS = 500;

/** The pause between looks whether all lanes are in an epoch. */
const ADVANCE_LOOK_MS = 50;

/** Has another process prepare a lane, and ask for it. Errors: it does not; the reason of `signal`, which ends the wait. */
export type Successor = (lane: number, signal: AbortSignal) => Promise<unknown>;

/** How the lanes of a process are served. */
export interface LaneSetServing<Block, Service extends LaneService> extends LaneServing<Block, Service> {
  /** Reads ahead of a lane that will be asked for, so that `open` has little to read. Errors: it could not be read. */
  prepare(lane: number): Promise<void>;
}

/** How the lanes of a process are kept. */
export interface LaneSetOptions<Block, Service extends LaneService> {
  lanes: number;
  /** Whether it takes its share of the lanes from others. Default true. */
  takes_share?: boolean;
  tools: LaneTools<Block>;
  serving: LaneSetServing<Block, Service>;
}

/** All lanes, as one process keeps them: it takes those that are free, and a fair share of those that are not. */
export class LaneSet<Block, Service extends LaneService> {
  readonly #tools: LaneTools<Block>;
  readonly #keepers: readonly LaneKeeper<Block, Service>[];
  readonly #takes_share: boolean;
  readonly #serving: LaneSetServing<Block, Service>;
  readonly #closing = Promise.withResolvers<void>();
  readonly #running: Promise<void>;
  #states: readonly LaneState[] = [];
  #preparing: Promise<void> | undefined;
  #is_leaving = false;
  #is_closing = false;

  constructor({ lanes, takes_share = true, tools, serving }: LaneSetOptions<Block, Service>) {
    this.#takes_share = takes_share;
    this.#tools = tools;
    this.#serving = serving;
    this.#keepers = Array.from({ length: lanes }, () => new LaneKeeper(tools, serving));
    this.#running = this.#run();
  }

  /** What serves a lane; undefined while that is another process's, or nobody's. */
  serviceOf(lane: number): Service | undefined {
    return this.#keepers[lane]?.service;
  }

  /** The lane's owner when the rows were looked at last, unless it is this process. */
  otherOwnerOf(lane: number): LaneHolder | undefined {
    const owner = this.#states[lane]?.owner;
    return owner === null || owner?.id === this.#tools.holder.id ? undefined : owner;
  }

  /**
   * Brings all lanes into one epoch, later than all that they were in and than `after`; resolves with it when they are, and
   * all before are closed: nothing more is stored there. Errors: unavailable when they are not in time.
   */
  async advanceAll(after: number, timeout_ms: number): Promise<number> {
    const { rows, clock, holder } = this.#tools;
    const until_ms = clock.now() + timeout_ms;
    const present = await rows.list(holder);
    const epoch = present.reduce((latest, state) => Math.max(latest, state.epoch), after) + 1;
    await rows.raise(epoch);
    for (;;) {
      await Promise.all(this.#keepers.map((keeper) => keeper.advance(epoch)));
      const states = await rows.list(holder);
      if (states.every((state) => state.epoch >= epoch && state.closed_epoch >= epoch - 1)) return epoch;
      if (clock.now() >= until_ms)
        throw notNumberedError(states.filter(({ epoch: own }) => own < epoch).length);
      await clock.sleep(ADVANCE_LOOK_MS);
    }
  }

  /** Prepares a lane of another process, then asks for it. False: that one has no such lane any more, or this one ends. */
  async takeOver(lane: number): Promise<boolean> {
    const { rows, holder } = this.#tools;
    const owner = this.otherOwnerOf(lane);
    if (owner === undefined || this.#is_ending) return false;
    try {
      await this.#serving.prepare(lane);
    } catch (error) {
      if (!this.#is_ending) throw error;
    }
    if (this.otherOwnerOf(lane)?.id !== owner.id || this.#is_ending) return false;
    await rows.want(lane, holder);
    return true;
  }

  /**
   * Gives up all lanes in order, and takes none; who owns them is still looked at. Each is served until one of the
   * successors has prepared it, for so long at most; without a successor it is free for anybody at once.
   */
  async handOver(successors: readonly Successor[], within_ms = HAND_OVER_MS): Promise<void> {
    this.#is_leaving = true;
    const lanes = [...this.#keepers.keys()];
    const left = lanes.filter((lane) => this.serviceOf(lane) !== undefined);
    const closed = lanes.filter((lane) => !left.includes(lane)).map((lane) => this.#keepers[lane]?.close());
    const signal = AbortSignal.timeout(within_ms);
    for (let able = successors; able.length > 0 && left.length > 0; ) {
      const is_able = await Promise.all(able.map((successor) => this.#handOverTo(successor, left, signal)));
      able = able.filter((_, i) => is_able[i]);
    }
    await Promise.all([...closed, ...this.#keepers.map((keeper) => keeper.close())]);
  }

  /** Gives lanes to a process one after the other, as long as it prepares them and some are left. False: it does not. */
  async #handOverTo(successor: Successor, left: number[], signal: AbortSignal): Promise<boolean> {
    for (let lane = left.shift(); lane !== undefined; lane = left.shift()) {
      try {
        if (this.serviceOf(lane) !== undefined) await successor(lane, signal);
      } catch {
        // It ends too, or is of a version that does not know how.
        left.push(lane);
        return false;
      }
      await this.#keepers[lane]?.close();
    }
    return true;
  }

  /** Gives up all lanes in order. */
  async close(): Promise<void> {
    this.#is_closing = true;
    this.#closing.resolve();
    await Promise.all([this.#running, this.#preparing]);
    await Promise.all(this.#keepers.map((keeper) => keeper.close()));
  }

  async #run(): Promise<void> {
    const { rows, holder } = this.#tools;
    while (!this.#is_closing) {
      try {
        this.#states = await rows.list(holder);
        for (const state of this.#states) this.#keepers[state.lane]?.see(state);
        if (this.#takes_share && !this.#is_leaving) this.#shareMore();
      } catch (error) {
        this.#serving.onFailure(error);
      }
      await this.#pause(LOOK_MS);
    }
  }

  /** Takes over one lane more, where this process has less than its share. */
  #shareMore(): void {
    const lane = this.#preparing === undefined ? this.#missing() : undefined;
    if (lane === undefined) return;
    this.#preparing = this.#tryTakeOver(lane).finally(() => (this.#preparing = undefined));
  }

  async #tryTakeOver(lane: number): Promise<void> {
    try {
      await this.takeOver(lane);
    } catch (error) {
      this.#serving.onFailure(error);
      await this.#pause(TAKE_MOST_PAUSE_MS);
    }
  }

  /** Resolves after a while, or when the lanes are closed. */
  async #pause(ms: number): Promise<void> {
    await Promise.race([this.#tools.clock.sleep(ms), this.#closing.promise]);
  }

  /** A lane of the owner that has most, as long as this process has less than its share. */
  #missing(): number | undefined {
    const { holder } = this.#tools;
    const owned = this.#states.filter(({ owner }) => owner !== null);
    const by_owner = Map.groupBy(owned, ({ owner }) => owner?.id ?? "");
    const mine = by_owner.get(holder.id)?.length ?? 0;
    const busy = this.#keepers.filter((keeper) => keeper.is_busy).length;
    const wanted = this.#states.filter(({ wanted_by }) => wanted_by === holder.id).length;
    const owners = by_owner.size + (by_owner.has(holder.id) ? 0 : 1);
    if (Math.max(mine, busy) + wanted >= Math.floor(this.#keepers.length / owners)) return undefined;
    const others = [...by_owner].filter(([id]) => id !== holder.id).map(([, states]) => states);
    const most = others.toSorted((a, b) => b.length - a.length)[0] ?? [];
    if (most.length <= mine + 1) return undefined;
    return most.find(({ wanted_by }) => wanted_by === null)?.lane;
  }

  get #is_ending(): boolean {
    return this.#is_leaving || this.#is_closing;
  }
}

function notNumberedError(lanes: number): AppError {
  const which =
    lanes === 0
      ? "earlier commits are still under way"
      : `${lanes} lanes have no owner that goes on in a new epoch`;
  return new AppError("unavailable", `Cannot tell what is stored by now: ${which}`, { retry_after_s: 1 });
}
