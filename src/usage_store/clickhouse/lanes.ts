import { AppError } from "../../core/errors.ts";
import { closedProblem, refuseClosed } from "../closed_usage.ts";
import { type AppendRequest, fingerprint, prepareAppend } from "../append/append_request.ts";
import { readId } from "../append/id_words.ts";
import type { EventRows } from "../event_rows.ts";
import { SipHash } from "../index/siphash.ts";
import type { AppendResult, LoadResult, NewEvent } from "../port.ts";
import { closedError } from "../query/closed_error.ts";
import { TotalsKeeper } from "../running/keeper.ts";
import { ClickHouseLog } from "./append/clickhouse_log.ts";
import { hourOf, loadIds } from "./append/lane_ids.ts";
import { OwnedLane } from "./append/lane_service.ts";
import type { ClickHouse } from "./engine/engine.ts";
import type { StoreMeta } from "./engine/schema.ts";
import { numberOf, seqOf } from "./lanes/commit_numbers.ts";
import type { LaneRows } from "./lanes/lane_rows.ts";
import { LaneSet } from "./lanes/lane_set.ts";
import type { Monotonic, Tenure } from "./lanes/tenure.ts";
import type { Removals } from "./maintain/removals.ts";
import type { ClickHouseOptions } from "./options.ts";
import { LaneTotals, laneSource } from "./query/lane_totals.ts";

/** How long an append waits for an owner of its lane. */
const OWNER_MS = 5_000;

/** The pause between looks for one. */
const OWNER_LOOK_MS = 20;

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
}

/** The lanes of a store: events are stored by the one process that owns their company's. Decision 0340. */
export class Lanes implements OwnedLanes {
  readonly totals: LaneTotals;
  readonly #parts: LanesParts;
  readonly #hash: SipHash;
  readonly #set: LaneSet<Uint8Array, OwnedLane>;
  readonly #closing = new AbortController();
  /** When commits of the last second began, by performance.now(). */
  #commits: number[] = [];
  /** All that is stored later, in whatever lane, has a higher number. */
  #frontier = 0;

  constructor(parts: LanesParts) {
    this.#parts = parts;
    const { engine, meta, rows, removals, options } = parts;
    const { on_failure = () => undefined } = options;
    this.#hash = new SipHash(meta.fingerprint_key);
    const keepers = Array.from({ length: meta.lanes }, (_, lane) => {
      const keeper = new TotalsKeeper({
        last_seq: 0,
        secret: Buffer.from(meta.fingerprint_key).toString("hex"),
        stored: [],
        onFailure: (error) =>
          on_failure(error, "usage store: totals could not be counted, it will be tried again"),
      });
      keeper.begin(laneSource(engine, lane, removals, this.#closing.signal));
      return keeper;
    });
    this.totals = new LaneTotals(keepers);
    this.#set = new LaneSet({
      lanes: meta.lanes,
      tools: { rows, log: new ClickHouseLog(engine), clock: CLOCK, holder: options.holder },
      serving: {
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
    const ids = await loadIds(engine, lane, this.#hash);
    const source = laneSource(engine, lane, removals, this.#closing.signal);
    await totals.catchUp((...asked) => source.readEvents(...asked), tenure.last_seq);
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
    });
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

  /** As `UsageStore.append`. */
  async append(company_id: number, events: readonly NewEvent[], now_ms: number): Promise<AppendResult> {
    const prepared = prepareAppend(company_id, events, now_ms, this.#hash);
    if (this.#closing.signal.aborted) throw closedError();
    if (events.length === 0) return { accepted: 0, duplicates: 0 };
    const lane = this.laneOf(company_id);
    const { passOn } = this.#parts.options;
    for (const until_ms = CLOCK.now() + OWNER_MS; ; ) {
      const service = this.#set.serviceOf(lane);
      if (service !== undefined) return service.append(prepared);
      const owner = this.#set.otherOwnerOf(lane);
      if (owner !== undefined && passOn !== undefined) return passOn(owner, { company_id, events, now_ms });
      await this.#waitForOwner(until_ms);
    }
  }

  /** As `UsageStore.load`; only the owner of the lane loads. */
  async load(company_id: number, rows: EventRows, now_ms: number): Promise<LoadResult> {
    return (await this.ownedLane(company_id)).load(company_id, rows, now_ms);
  }

  /** The lane of a company. Errors: unavailable where it is another process's. */
  async ownedLane(company_id: number): Promise<OwnedLane> {
    const lane = this.laneOf(company_id);
    for (const until_ms = CLOCK.now() + OWNER_MS; ; ) {
      if (this.#closing.signal.aborted) throw closedError();
      const service = this.#set.serviceOf(lane);
      if (service !== undefined) return service;
      if (this.#set.otherOwnerOf(lane) !== undefined)
        throw new AppError(
          "unavailable",
          "Cannot do this here: another instance stores the company's usage",
          {
            retry_after_s: 5,
          },
        );
      await this.#waitForOwner(until_ms);
    }
  }

  /** Errors: unavailable when the time is over. */
  async #waitForOwner(until_ms: number): Promise<void> {
    if (this.#closing.signal.aborted) throw closedError();
    if (CLOCK.now() >= until_ms)
      throw new AppError("unavailable", "Cannot store events now: no instance stores the company's usage", {
        retry_after_s: 5,
      });
    await CLOCK.sleep(OWNER_LOOK_MS);
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
   * on in one epoch. `last_seq`: the highest number of an event by now.
   */
  async frontier(last_seq: number): Promise<number> {
    if (last_seq <= this.#frontier) return this.#frontier;
    const epoch = await this.#set.advanceAll(numberOf(last_seq).epoch);
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
    await Promise.all([this.totals.close(), this.#set.close()]);
  }
}
