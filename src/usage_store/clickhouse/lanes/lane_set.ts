import { AppError } from "../../../core/errors.ts";
import { LaneKeeper, type LaneService, type LaneServing } from "./lane_keeper.ts";
import type { LaneHolder, LaneState } from "./lane_rows.ts";
import type { LaneTools } from "./tenure.ts";

/** The pause between looks at the rows. */
const LOOK_MS = 500;

/** The pause between looks whether all lanes are in an epoch. */
const ADVANCE_LOOK_MS = 50;

/** How the lanes of a process are kept. */
export interface LaneSetOptions<Block, Service extends LaneService> {
  lanes: number;
  /** Whether it takes its share of the lanes from others. Default true. */
  takes_share?: boolean;
  tools: LaneTools<Block>;
  serving: LaneServing<Block, Service>;
}

/** All lanes, as one process keeps them: it takes those that are free, and a fair share of those that are not. */
export class LaneSet<Block, Service extends LaneService> {
  readonly #tools: LaneTools<Block>;
  readonly #keepers: readonly LaneKeeper<Block, Service>[];
  readonly #takes_share: boolean;
  readonly #onFailure: (error: unknown) => void;
  readonly #closing = Promise.withResolvers<void>();
  readonly #running: Promise<void>;
  #states: readonly LaneState[] = [];
  #is_leaving = false;
  #is_closing = false;

  constructor({ lanes, takes_share = true, tools, serving }: LaneSetOptions<Block, Service>) {
    this.#takes_share = takes_share;
    this.#tools = tools;
    this.#onFailure = (error) => serving.onFailure(error);
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

  /** Gives up all lanes in order, and takes none; who owns them is still looked at. */
  async handOver(): Promise<void> {
    this.#is_leaving = true;
    await Promise.all(this.#keepers.map((keeper) => keeper.close()));
  }

  /** Gives up all lanes in order. */
  async close(): Promise<void> {
    this.#is_closing = true;
    this.#closing.resolve();
    await this.#running;
    await Promise.all(this.#keepers.map((keeper) => keeper.close()));
  }

  async #run(): Promise<void> {
    const { rows, clock, holder } = this.#tools;
    while (!this.#is_closing) {
      try {
        this.#states = await rows.list(holder);
        for (const state of this.#states) this.#keepers[state.lane]?.see(state);
        if (this.#takes_share && !this.#is_leaving) await this.#wantShare();
      } catch (error) {
        this.#onFailure(error);
      }
      await Promise.race([clock.sleep(LOOK_MS), this.#closing.promise]);
    }
  }

  /** Asks for a lane of the owner that has most, as long as this process has less than its share. */
  async #wantShare(): Promise<void> {
    const { rows, holder } = this.#tools;
    const owned = this.#states.filter(({ owner }) => owner !== null);
    const by_owner = Map.groupBy(owned, ({ owner }) => owner?.id ?? "");
    const mine = by_owner.get(holder.id)?.length ?? 0;
    const busy = this.#keepers.filter((keeper) => keeper.is_busy).length;
    const wanted = this.#states.filter(({ wanted_by }) => wanted_by === holder.id).length;
    const owners = by_owner.size + (by_owner.has(holder.id) ? 0 : 1);
    if (Math.max(mine, busy) + wanted >= Math.floor(this.#keepers.length / owners)) return;
    const others = [...by_owner].filter(([id]) => id !== holder.id).map(([, states]) => states);
    const most = others.toSorted((a, b) => b.length - a.length)[0] ?? [];
    const lane = most.find(({ wanted_by }) => wanted_by === null);
    if (lane !== undefined && most.length > mine + 1) await rows.want(lane.lane, holder);
  }
}

function notNumberedError(lanes: number): AppError {
  const which =
    lanes === 0
      ? "earlier commits are still under way"
      : `${lanes} lanes have no owner that goes on in a new epoch`;
  return new AppError("unavailable", `Cannot tell what is stored by now: ${which}`, { retry_after_s: 1 });
}
