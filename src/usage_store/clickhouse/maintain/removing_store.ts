import { beforeEvents } from "../../closed_usage.ts";
import type { EventFilter } from "../../event_filter.ts";
import { HOUR_MS } from "../../time_buckets.ts";
import type { ClickHouse } from "../engine/engine.ts";
import type { OwnedLane } from "../append/lane_service.ts";
import type { StoreMeta } from "../engine/schema.ts";
import { Lanes, type OwnerWorks } from "../lanes.ts";
import type { LaneRows } from "../lanes/lane_rows.ts";
import type { ClickHouseOptions } from "../options.ts";
import type { InputOf } from "../owner_calls.ts";
import { eraseMetadata } from "./erase.ts";
import type { RemovedRange, Removals } from "./removals.ts";

/** How often is read where events begin, as other processes may have changed it. */
const FOLLOW_MS = 5_000;

/** What a store is made of. */
export interface StoreParts {
  engine: ClickHouse;
  removals: Removals;
  meta: StoreMeta;
  rows: LaneRows;
  options: ClickHouseOptions;
}

/** The part of the store that removes events and erases metadata. */
export class RemovingStore {
  protected readonly engine: ClickHouse;
  protected readonly removals: Removals;
  readonly lanes: Lanes;
  readonly #lock: ClickHouseOptions["lockRemovals"];
  readonly #is_shared: boolean;
  readonly #following: ReturnType<typeof setInterval> | undefined;
  #holds = 0;
  #released = Promise.withResolvers<void>();
  #removing: Promise<unknown> = Promise.resolve();

  constructor({ engine, removals, meta, rows, options }: StoreParts) {
    this.engine = engine;
    this.removals = removals;
    this.#lock = options.lockRemovals;
    this.#is_shared = options.passOn !== undefined;
    if (this.#is_shared) {
      // One that fails is made up for by the next.
      this.#following = setInterval(() => void removals.refresh().catch(() => undefined), FOLLOW_MS);
      this.#following.unref();
    }
    this.lanes = new Lanes(
      { engine, meta, rows, removals, options },
      { load: (lane, input) => lane.load(input), ...this.works },
    );
  }

  sinceOf(company_id: number): number {
    return this.removals.sinceOf(company_id);
  }

  async closeBefore(company_id: number, since_ms: number): Promise<void> {
    if (since_ms % HOUR_MS !== 0)
      throw new RangeError(`Cannot close before ${since_ms}: it is no whole hour`);
    if (since_ms <= this.sinceOf(company_id)) return;
    await this.lanes.atOwner("close_before", { company_id, since_ms });
    await this.refreshBounds(company_id);
  }

  async removeClosed(company_id: number, limit: number): Promise<number> {
    const removed = await this.lanes.atOwner("remove_closed", { company_id, limit });
    await this.refreshBounds(company_id);
    return removed;
  }

  async holdRemovals(): Promise<() => void> {
    this.#holds++;
    await this.#removing;
    const unlock = await this.#lockRemovals();
    return () => {
      void unlock();
      if (--this.#holds > 0) return;
      this.#released.resolve();
      this.#released = Promise.withResolvers();
    };
  }

  async erase(company_id: number, ids: readonly string[], keep: readonly string[] = []): Promise<void> {
    await this.lanes.atOwner("erase", { company_id, ids, keep });
  }

  /** What only the owner of a company's lane does. */
  protected get works(): Omit<OwnerWorks, "append" | "load"> {
    return {
      close_before: (lane, input) => this.#closeBefore(lane, input),
      remove_closed: (lane, input) => this.#removeClosed(lane, input),
      erase: (_, input) => this.#erase(input),
    };
  }

  async #closeBefore(lane: OwnedLane, { company_id, since_ms }: InputOf<"close_before">): Promise<null> {
    if (since_ms > this.sinceOf(company_id)) await this.removals.close(company_id, since_ms);
    // What was admitted before is stored, or is not. An owner by then that this process knows nothing of admits more.
    await lane.confirm();
    return null;
  }

  async #removeClosed(lane: OwnedLane, { company_id, limit }: InputOf<"remove_closed">): Promise<number> {
    while (this.#holds > 0) await this.#released.promise;
    const removing = this.#removing.then(async () => {
      const unlock = await this.#lockRemovals();
      try {
        return await this.#remove(lane, company_id, limit);
      } finally {
        await unlock();
      }
    });
    this.#removing = removing.catch(() => undefined);
    return removing;
  }

  async #remove(owned: OwnedLane, company_id: number, limit: number): Promise<number> {
    // Another owner may have removed some.
    await this.refreshBounds(company_id);
    const portion = await this.removals.findPortion(company_id, limit);
    // A number that only removed events had must not be given again.
    if (portion !== undefined) {
      await owned.mark();
      await this.removals.keep(company_id, portion.until_ms);
    }
    await this.removals.sweep(company_id, this.lanes.laneOf(company_id));
    return portion?.events ?? 0;
  }

  async #erase({ company_id, ids, keep }: InputOf<"erase">): Promise<null> {
    try {
      const lane = this.lanes.laneOf(company_id);
      await eraseMetadata(this.engine, { company_id, lane, ids, keep });
    } finally {
      this.lanes.totals.of(company_id).recount(company_id, { metadata: true });
    }
    return null;
  }

  /** Keeps removals of all processes waiting. */
  async #lockRemovals(): Promise<() => Promise<void>> {
    return this.#lock === undefined ? async () => undefined : this.#lock();
  }

  protected stopFollowing(): void {
    clearInterval(this.#following);
  }

  /** Reads what other processes have closed and removed of a company, where there are others. */
  protected async refreshBounds(company_id: number): Promise<void> {
    if (this.#is_shared) await this.removals.refresh(company_id);
  }

  /** Whether no more of a company's events were removed than was known when a question began. */
  protected async isStill(company_id: number, removed: RemovedRange | undefined): Promise<boolean> {
    await this.refreshBounds(company_id);
    return this.removals.rangeOf(company_id) === removed;
  }

  /**
   * What a statement reads of the events that were not removed. What comes first shows that it has its snapshot; where some
   * were removed by then, a part of them may be missing, and it is asked again before anybody sees anything of it.
   */
  protected async *readVisible<Q extends EventFilter, T>(
    query: Q,
    read: (visible: Q) => AsyncGenerator<T>,
  ): AsyncGenerator<T> {
    for (;;) {
      const removed = this.removals.rangeOf(query.company_id);
      const parts = read(visibleOf(query, removed));
      try {
        const first = await parts.next();
        if (!(await this.isStill(query.company_id, removed))) continue;
        if (first.done !== true) yield first.value;
        yield* parts;
        return;
      } finally {
        await parts.return(undefined);
      }
    }
  }

  /**
   * Asks about events from `from_ms` on, all of which are needed. Errors: conflict when some of them were removed, before or
   * meanwhile.
   */
  protected async askWhole<T>(company_id: number, from_ms: number, ask: () => Promise<T>): Promise<T> {
    this.needEvents(company_id, from_ms);
    const answer = await ask();
    await this.refreshBounds(company_id);
    this.needEvents(company_id, from_ms);
    return answer;
  }

  /** Errors: conflict when events from `from_ms` on are needed and some were removed. */
  protected needEvents(company_id: number, from_ms: number): void {
    const since_ms = this.sinceOf(company_id);
    if (from_ms < since_ms) throw beforeEvents(since_ms);
  }
}

/** The filter without what was removed. */
export function visibleOf<Q extends EventFilter>(query: Q, removed: RemovedRange | undefined): Q {
  if (removed === undefined) return query;
  return { ...query, start_ms: Math.max(query.start_ms ?? 0, removed.removed_ms) };
}

/** Whether a filter asks for times before its company's events begin, where some were removed. */
export function reachesBack({ start_ms = 0 }: EventFilter, { since_ms, first_ms }: RemovedRange): boolean {
  return start_ms < since_ms && first_ms < since_ms;
}
