import { beforeEvents } from "../../closed_usage.ts";
import type { EventFilter } from "../../event_filter.ts";
import { HOUR_MS } from "../../time_buckets.ts";
import type { ClickHouse } from "../engine/engine.ts";
import type { Lanes } from "../lanes.ts";
import type { ClickHouseOptions } from "../options.ts";
import { eraseMetadata } from "./erase.ts";
import type { RemovedRange, Removals } from "./removals.ts";

/** What a store is made of. */
export interface StoreParts {
  engine: ClickHouse;
  removals: Removals;
  lanes: Lanes;
  options: ClickHouseOptions;
}

/** The part of the store that removes events and erases metadata. */
export class RemovingStore {
  protected readonly engine: ClickHouse;
  protected readonly removals: Removals;
  readonly lanes: Lanes;
  #holds = 0;
  #released = Promise.withResolvers<void>();
  #removing: Promise<unknown> = Promise.resolve();

  constructor({ engine, removals, lanes }: StoreParts) {
    this.engine = engine;
    this.removals = removals;
    this.lanes = lanes;
  }

  sinceOf(company_id: number): number {
    return this.removals.sinceOf(company_id);
  }

  async closeBefore(company_id: number, since_ms: number): Promise<void> {
    if (since_ms % HOUR_MS !== 0)
      throw new RangeError(`Cannot close before ${since_ms}: it is no whole hour`);
    if (since_ms <= this.sinceOf(company_id)) return;
    const lane = await this.lanes.ownedLane(company_id);
    await this.removals.close(company_id, since_ms);
    // What was admitted before is stored, or is not.
    await lane.exclusive(async () => undefined);
  }

  async removeClosed(company_id: number, limit: number): Promise<number> {
    while (this.#holds > 0) await this.#released.promise;
    const removing = this.#removing.then(() => this.#remove(company_id, limit));
    this.#removing = removing.catch(() => undefined);
    return removing;
  }

  async #remove(company_id: number, limit: number): Promise<number> {
    const lane = this.lanes.laneOf(company_id);
    const owned = await this.lanes.ownedLane(company_id);
    const portion = await this.removals.findPortion(company_id, limit);
    // A number that only removed events had must not be given again.
    if (portion !== undefined) {
      await owned.mark();
      await this.removals.keep(company_id, portion.until_ms);
    }
    await this.removals.sweep(company_id, lane);
    return portion?.events ?? 0;
  }

  async holdRemovals(): Promise<() => void> {
    this.#holds++;
    await this.#removing;
    return () => {
      if (--this.#holds > 0) return;
      this.#released.resolve();
      this.#released = Promise.withResolvers();
    };
  }

  async erase(company_id: number, ids: readonly string[], keep: readonly string[] = []): Promise<void> {
    try {
      const lane = this.lanes.laneOf(company_id);
      await eraseMetadata(this.engine, { company_id, lane, ids, keep });
    } finally {
      this.lanes.totals.of(company_id).recount(company_id, { metadata: true });
    }
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
