import type { LaneState, SeenLane } from "./lane_rows.ts";
import { OWNED_MS, TAKE_MOST_PAUSE_MS, TAKE_PAUSE_MS } from "./limits.ts";
import { type LaneTools, Tenure } from "./tenure.ts";

/** What serves a lane while this process owns it. */
export interface LaneService {
  /** Runs `work` between two commits. */
  exclusive<T>(work: () => Promise<T>): Promise<T>;
  /** Refuses what is new, and resolves when what waits is done. */
  close(): Promise<void>;
  /** Refuses what is new and what waits: the lane is lost. */
  abandon(): Promise<void>;
}

/** How a lane is served. */
export interface LaneServing<Block, Service extends LaneService> {
  /** Begins to serve, once all that was stored before is known. */
  open(tenure: Tenure<Block>): Promise<Service>;
  /** Called when the lane could not be taken or was lost; it will be tried again. */
  onFailure(error: unknown): void;
}

/** Takes a lane where it may, serves it, and gives it up where others want it. */
export class LaneKeeper<Block, Service extends LaneService> {
  readonly #tools: LaneTools<Block>;
  readonly #serving: LaneServing<Block, Service>;
  #tenure: Tenure<Block> | undefined;
  #service: Service | undefined;
  #running: Promise<void> | undefined;
  #yielding: Promise<void> | undefined;
  #advancing: Promise<void> | undefined;
  #is_closing = false;
  /** The lane as it was seen last, and since when it is so, by this process's own clock. */
  #seen: SeenLane | undefined;
  #seen_since_ms = 0;
  #pause_ms = 0;
  #paused_until_ms = 0;

  constructor(tools: LaneTools<Block>, serving: LaneServing<Block, Service>) {
    this.#tools = tools;
    this.#serving = serving;
  }

  /** Undefined while the lane is another's, or being taken. */
  get service(): Service | undefined {
    return this.#service;
  }

  /** Whether the lane is this process's, or being taken. */
  get is_busy(): boolean {
    return this.#running !== undefined;
  }

  /** The epoch of the lane; undefined while it is not served. */
  get epoch(): number | undefined {
    return this.#service && this.#tenure?.epoch;
  }

  /** To be called again and again with what the rows say: takes the lane if it may, and heeds what others wish. */
  see(state: LaneState): void {
    if (this.#is_closing) return;
    if (this.#running !== undefined) return this.#heed(state);
    const is_silent = this.#isSilent(state);
    if (!(state.is_free || is_silent) || this.#tools.clock.now() < this.#paused_until_ms) return;
    this.#running = this.#serve(state).finally(() => (this.#running = undefined));
  }

  /**
   * Whether the owner has not renewed the lane for so long that it trusts in it no more. By this process's own clock: that
   * of the rows may be set, and would end the time of an owner that knows nothing of it. Decision 0376.
   */
  #isSilent({ lane, epoch, stamp }: LaneState): boolean {
    const now_ms = this.#tools.clock.now();
    if (this.#seen?.epoch !== epoch || this.#seen.stamp !== stamp) {
      this.#seen = { lane, epoch, stamp };
      this.#seen_since_ms = now_ms;
    }
    return now_ms - this.#seen_since_ms >= OWNED_MS;
  }

  /** Gives up the lane in order. */
  async close(): Promise<void> {
    this.#is_closing = true;
    await this.#yieldLane();
    await this.#running;
  }

  async #serve(seen: SeenLane): Promise<void> {
    try {
      const tenure = await Tenure.begin(seen, this.#tools);
      if (tenure === null) return;
      this.#tenure = tenure;
      try {
        const service = await this.#serving.open(tenure);
        this.#service = service;
        this.#pause_ms = 0;
        if (this.#is_closing) void this.#yieldLane();
        await tenure.over;
        this.#service = undefined;
        if (this.#yielding === undefined) this.#serving.onFailure(tenure.lost());
        await service.abandon();
        await this.#yielding;
      } finally {
        tenure.abandon();
        this.#tenure = undefined;
        this.#service = undefined;
      }
    } catch (error) {
      this.#pause_ms = Math.min(this.#pause_ms * 2 || TAKE_PAUSE_MS, TAKE_MOST_PAUSE_MS);
      this.#paused_until_ms = this.#tools.clock.now() + this.#pause_ms;
      this.#serving.onFailure(error);
    }
  }

  /** Does what others asked for. */
  #heed({ epoch, wanted_by, least_epoch }: LaneState): void {
    const [service, tenure] = [this.#service, this.#tenure];
    if (service === undefined || tenure === undefined || this.#yielding !== undefined) return;
    // What was asked of an owner before is no wish of this one.
    if (epoch !== tenure.epoch) return;
    if (wanted_by !== null && wanted_by !== this.#tools.holder.id) return void this.#yieldLane();
    if (least_epoch > epoch) void this.advance(least_epoch);
  }

  /** Goes on to a later epoch, if the lane is this process's. */
  async advance(to: number): Promise<void> {
    const [service, tenure] = [this.#service, this.#tenure];
    if (service === undefined || tenure === undefined) return;
    this.#advancing ??= this.#advance(service, tenure, to);
    await this.#advancing;
  }

  async #advance(service: Service, tenure: Tenure<Block>, to: number): Promise<void> {
    try {
      await service.exclusive(() => tenure.advance(to));
    } catch (error) {
      this.#serving.onFailure(error);
    } finally {
      this.#advancing = undefined;
    }
  }

  #yieldLane(): Promise<void> {
    const [service, tenure] = [this.#service, this.#tenure];
    if (service === undefined || tenure === undefined) return Promise.resolve();
    this.#yielding ??= this.#release(service, tenure).finally(() => (this.#yielding = undefined));
    return this.#yielding;
  }

  async #release(service: Service, tenure: Tenure<Block>): Promise<void> {
    this.#service = undefined;
    try {
      await service.close();
      await tenure.release();
    } catch (error) {
      this.#serving.onFailure(error);
    }
  }
}
