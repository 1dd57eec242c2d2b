import { AppError } from "../../core/errors.ts";
import { closedProblem, refuseClosed } from "../closed_usage.ts";
import { type AppendRequest, fingerprint, prepareAppend } from "../append/append_request.ts";
import { readId } from "../append/id_words.ts";
import { SipHash } from "../index/siphash.ts";
import type { AppendResult } from "../port.ts";
import { closedError } from "../query/closed_error.ts";
import { TotalsKeeper } from "../running/keeper.ts";
import { ClickHouseLog } from "./append/clickhouse_log.ts";
import { hourOf, LaneIds } from "./append/lane_ids.ts";
import { MovedError, OwnedLane } from "./append/lane_service.ts";
import type { ClickHouse } from "./engine/engine.ts";
import type { StoreMeta } from "./engine/schema.ts";
import { numberOf, seqOf } from "./lanes/commit_numbers.ts";
import type { LaneHolder, LaneRows } from "./lanes/lane_rows.ts";
import { LaneSet, type Successor } from "./lanes/lane_set.ts";
import { PreparedLanes } from "./lanes/prepared_lanes.ts";
import type { Monotonic, Tenure } from "./lanes/tenure.ts";
import type { Removals } from "./maintain/removals.ts";
import type { ClickHouseOptions } from "./options.ts";
import {
  askWhileOwner,
  type InputOf,
  NoAnswerError,
  NotOwnerError,
  type OutputOf,
  type OwnerCall,
  type PassedEvents,
  type ReachableOwner,
} from "./owner_calls.ts";
import { LaneTotals, laneSource } from "./query/lane_totals.ts";

/** How long a call waits for an owner of its lane. */
const OWNER_MS = 5_000;

/** The pause between looks for one; and once an owner did not answer, or has given the lane up. */
const OWNER_LOOK_MS = 20;
const MOVED_LOOK_MS = 100;

/** How long a lane rests for each commit of all lanes in the last second: at 40 of them, 200 ms. */
const REST_A_COMMIT_MS = 5;

const CLOCK: Monotonic = { now: () => performance.now(), sleep: (ms) => Bun.sleep(ms) };

/** What lanes are made of. */
interface LanesParts {
  engine: ClickHouse;
  meta: StoreMeta;
  rows: LaneRows;
  removals: Removals;
  options: ClickHouseOptions;
}

/** The lanes of a store, and those that this process owns. */
export interface OwnedLanes {
  readonly count: number;
  readonly owned: number;
  otherOwnerOf(company_id: number): LaneHolder | undefined;
  owns(company_id: number): boolean;
  /** Whether this process owns a company's lane, so that no other can have done so until now. */
  confirms(company_id: number): Promise<boolean>;
  asOwner<K extends OwnerCall>(call: K, input: InputOf<K>): Promise<OutputOf<K>>;
  /**
   * Gives up all lanes in order, so that others take them, each once one of the successors has read its ids, or within 20
   * seconds; appends are passed on from then on.
   */
  handOver(successors: readonly Successor[], within_ms?: number): Promise<void>;
  /** Reads the ids of a lane whose owner ends, then asks for it. Errors: NotOwnerError: it was not asked for. */
  takeOver(lane: number): Promise<void>;
}

/** How each call is done in a lane that this process owns. */
export type OwnerWorks = {
  readonly [K in OwnerCall]: (lane: OwnedLane, input: InputOf<K>) => Promise<OutputOf<K>>;
};

/** The lanes of a store: events are stored by the one process that owns their company's. Decision 0340. */
export class Lanes implements OwnedLanes {
  readonly totals: LaneTotals;
  readonly #parts: LanesParts;
  readonly #hash: SipHash;
  readonly #set: LaneSet<Uint8Array, OwnedLane>;
  readonly #prepared: PreparedLanes<LaneIds>;
  readonly #works: OwnerWorks;
  readonly #closing = new AbortController();
  /** When commits of the last second began, by performance.now(). */
  #commits: number[] = [];
  /** All that is stored later, in whatever lane, has a higher number. */
  #frontier = 0;

  constructor(parts: LanesParts, works: Omit<OwnerWorks, "append">) {
    this.#parts = parts;
    const { engine, meta, rows, options } = parts;
    const { on_failure = () => undefined, takes_share = true } = options;
    this.#works = { append: (lane, input) => this.#append(lane, input), ...works };
    this.#hash = new SipHash(meta.fingerprint_key);
    const keepers = Array.from({ length: meta.lanes }, () => {
      const keeper = new TotalsKeeper({
        last_seq: 0,
        secret: Buffer.from(meta.fingerprint_key).toString("hex"),
        stored: [],
        onFailure: (error) =>
          on_failure(error, "usage store: totals could not be counted, it will be tried again"),
      });
      return keeper;
    });
    this.#prepared = new PreparedLanes(
      (lane, signal) => LaneIds.read({ engine, lane, hash: this.#hash, signal }),
      CLOCK,
    );
    this.totals = new LaneTotals(keepers, (lane) => this.#settled(lane));
    this.#set = new LaneSet({
      lanes: meta.lanes,
      takes_share,
      tools: { rows, log: new ClickHouseLog(engine), clock: CLOCK, holder: options.holder },
      serving: {
        prepare: (lane) => this.#prepared.prepare(lane),
        open: (tenure) => this.#open(tenure, keepers[tenure.lane]),
        onFailure: (error) =>
          on_failure(error, "usage store: a lane was lost or could not be taken, it will be tried again"),
      },
    });
  }

  get count(): number {
    return this.#parts.meta.lanes;
  }

  get owned(): number {
    return this.#services.length;
  }

  laneOf(company_id: number): number {
    return company_id % this.#parts.meta.lanes;
  }

  async #open(tenure: Tenure<Uint8Array>, totals: TotalsKeeper | undefined): Promise<OwnedLane> {
    const { engine, removals, options } = this.#parts;
    if (totals === undefined) throw new RangeError(`There is no lane ${tenure.lane}`);
    const { lane } = tenure;
    const { watcher } = options;
    const isOf = (company_id: number): boolean => this.laneOf(company_id) === lane;
    const ids = await this.#prepared.take(lane);
    // Its owner before may have closed and removed some.
    await removals.refresh();
    await watcher?.taken(isOf);
    totals.advance(tenure.last_seq);
    totals.begin(laneSource(engine, lane, removals, this.#closing.signal), () => tenure.is_trusted);
    const {
      pending_events = 100_000,
      group_ms = 2,
      group_events = 50_000,
      on_failure = () => undefined,
    } = options;
    return new OwnedLane({
      engine,
      tenure,
      ids,
      hash: this.#hash,
      totals,
      clock: CLOCK,
      limits: { pending_events, group_ms, group_events, restMs: () => this.#restMs() },
      check: (request) => this.#checkTimes(request),
      onFailure: (error) =>
        on_failure(error, "usage store: a commit failed, its events were to be sent again"),
      onEnd() {
        totals.suspend();
        watcher?.lost(isOf);
      },
    });
  }

  async #append(lane: OwnedLane, { company_id, events, now_ms }: PassedEvents): Promise<AppendResult> {
    return lane.append(prepareAppend(company_id, events, now_ms, this.#hash));
  }

  /** Resolves when a lane is served here or by another process, or there is none that does for a while. */
  async #settled(lane: number): Promise<void> {
    const until_ms = CLOCK.now() + OWNER_MS;
    while (
      this.#set.serviceOf(lane) === undefined &&
      this.#set.otherOwnerOf(lane) === undefined &&
      !this.#closing.signal.aborted &&
      CLOCK.now() < until_ms
    )
      await CLOCK.sleep(OWNER_LOOK_MS);
  }

  #restMs(): number {
    const { rest_ms: [least, most] = [20, 200] } = this.#parts.options;
    const now_ms = CLOCK.now();
    this.#commits = [...this.#commits.filter((began_ms) => began_ms > now_ms - 1_000), now_ms];
    return Math.min(most, Math.max(least, this.#commits.length * REST_A_COMMIT_MS));
  }

  #checkTimes({ company_id, events }: AppendRequest): AppError | undefined {
    const since_ms = this.#parts.removals.sinceOf(company_id);
    if (since_ms === 0 || events.every(({ timestamp }) => closedProblem(timestamp, since_ms) === undefined))
      return undefined;
    try {
      refuseClosed(events, since_ms);
      return undefined;
    } catch (error) {
      if (error instanceof AppError) return error;
      throw error;
    }
  }

  /**
   * Has the owner of a company's lane do what only it does: here, or where it is. Errors: those of the call; unavailable when
   * nobody owns the lane for five seconds, or its owner does not answer.
   */
  async atOwner<K extends OwnerCall>(call: K, input: InputOf<K>): Promise<OutputOf<K>> {
    const lane = this.laneOf(input.company_id);
    for (const until_ms = CLOCK.now() + OWNER_MS; ; ) {
      if (this.#closing.signal.aborted) throw closedError();
      const owned = this.#set.serviceOf(lane);
      const owner = this.#set.otherOwnerOf(lane);
      let pause_ms = OWNER_LOOK_MS;
      let unanswered: unknown;
      try {
        if (owned !== undefined) return await this.#works[call](owned, input);
        if (owner?.url != null) return await this.#passOn({ ...owner, url: owner.url }, lane, call, input);
      } catch (error) {
        if (!(error instanceof MovedError || error instanceof NoAnswerError)) throw error;
        if (CLOCK.now() >= until_ms && error instanceof MovedError) throw error;
        if (error instanceof NoAnswerError) unanswered = error;
        pause_ms = MOVED_LOOK_MS;
      }
      if (CLOCK.now() >= until_ms) throw unanswered === undefined ? nobodyError() : silentError(unanswered);
      await CLOCK.sleep(pause_ms);
    }
  }

  /** Does what another process passed on. Errors: NotOwnerError; those of the call. */
  async asOwner<K extends OwnerCall>(call: K, input: InputOf<K>): Promise<OutputOf<K>> {
    const owned = this.#set.serviceOf(this.laneOf(input.company_id));
    if (owned === undefined) throw new NotOwnerError();
    try {
      return await this.#works[call](owned, input);
    } catch (error) {
      throw error instanceof MovedError ? new NotOwnerError() : error;
    }
  }

  async #passOn<K extends OwnerCall>(
    owner: ReachableOwner,
    lane: number,
    call: K,
    input: InputOf<K>,
  ): Promise<OutputOf<K>> {
    const { passOn } = this.#parts.options;
    if (passOn === undefined) throw new NoAnswerError();
    return askWhileOwner(
      (gone) => passOn(owner, call, input, AbortSignal.any([gone, this.#closing.signal])),
      () => this.#set.otherOwnerOf(lane)?.id === owner.id,
    );
  }

  /** The other process that owns a company's lane, as far as is known; undefined: this one does, or nobody. */
  otherOwnerOf(company_id: number): LaneHolder | undefined {
    return this.#set.otherOwnerOf(this.laneOf(company_id));
  }

  handOver(successors: readonly Successor[], within_ms?: number): Promise<void> {
    this.#prepared.end();
    return this.#set.handOver(successors, within_ms);
  }

  async takeOver(lane: number): Promise<void> {
    if (!(await this.#set.takeOver(lane))) throw new NotOwnerError();
  }

  owns(company_id: number): boolean {
    return this.#set.serviceOf(this.laneOf(company_id)) !== undefined;
  }

  async confirms(company_id: number): Promise<boolean> {
    const service = this.#set.serviceOf(this.laneOf(company_id));
    if (service === undefined || !(await service.isOwned())) return false;
    return this.#set.serviceOf(this.laneOf(company_id)) === service;
  }

  /** The hours of UTC in which events with these ids may be; undefined where another process knows them. */
  hoursOf(company_id: number, ids: readonly string[]): number[] | undefined {
    const service = this.#set.serviceOf(this.laneOf(company_id));
    if (service === undefined) return undefined;
    const words = new Uint32Array(4);
    const hours = ids.flatMap((id, position) => {
      readId(id, words, 0, position);
      fingerprint(this.#hash, company_id, words, 0);
      return service.ids.find(this.#hash.high, this.#hash.low).map(hourOf);
    });
    return [...new Set(hours)];
  }

  /**
   * A number that all events have by then or a lower one, and all later ones a higher one, whatever their lane: all lanes go
   * on in one epoch. `last_seq`: the highest number of an event by now. Errors: unavailable when a lane has no owner that does
   * so in time.
   */
  async frontier(last_seq: number, timeout_ms: number): Promise<number> {
    if (last_seq <= this.#frontier) return this.#frontier;
    const epoch = await this.#set.advanceAll(numberOf(last_seq).epoch, timeout_ms);
    this.#frontier = seqOf({ epoch, n: 0 });
    return this.#frontier;
  }

  get pending_events(): number {
    return this.#services.reduce((sum, { pending_events }) => sum + pending_events, 0);
  }

  get index(): { entries: number; bytes: number } {
    return {
      entries: this.#services.reduce((sum, { ids }) => sum + ids.size, 0),
      bytes: this.#services.reduce((sum, { ids }) => sum + ids.bytes, 0),
    };
  }

  get #services(): OwnedLane[] {
    const lanes = Array.from({ length: this.#parts.meta.lanes }, (_, lane) => this.#set.serviceOf(lane));
    return lanes.filter((service) => service !== undefined);
  }

  /** Stores what waits, gives all lanes up in order, and ends what is counted. */
  async close(): Promise<void> {
    this.#closing.abort(closedError());
    this.#prepared.end();
    await Promise.all([this.totals.close(), this.#set.close()]);
  }
}

function silentError(cause: unknown): AppError {
  const message = "Cannot store events now: the instance that stores the company's usage does not answer";
  return new AppError("unavailable", message, { retry_after_s: 5, cause });
}

function nobodyError(): AppError {
  const message = "Cannot store events now: no instance stores the company's usage";
  return new AppError("unavailable", message, { retry_after_s: 5 });
}
