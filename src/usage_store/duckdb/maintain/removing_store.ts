import type { DuckDBConnection } from "@duckdb/node-api";
import { invalid } from "../../../core/errors.ts";
import { beforeEvents, closedProblem, refuseClosed } from "../../closed_usage.ts";
import type { ErasureQuery } from "../../erasures.ts";
import type { NewEvent, StoredId } from "../../port.ts";
import type { KeptSince, UsageRemovals } from "../../removals.ts";
import { HOUR_MS } from "../../time_buckets.ts";
import { findStored } from "../query/stored_ids.ts";
import { eraseMetadata, findUnerased } from "./erase.ts";
import type { Recovery } from "./recovery.ts";
import { exportKept, recordSince, removeOldest } from "./removal.ts";

/** The part of the store that removes events and erases metadata, with what removals wait for. Decision 0215. */
export class RemovingStore implements UsageRemovals {
  readonly #recovery: Recovery;
  /** Appends and loads under way. */
  readonly #storing = new Set<Promise<unknown>>();
  #holds = 0;
  #released = Promise.withResolvers<void>();
  #running: Promise<unknown> = Promise.resolve();

  constructor(recovery: Recovery) {
    this.#recovery = recovery;
  }

  sinceOf(company_id: number): number {
    return this.#recovery.known.companies.sinceOf(company_id);
  }

  /** Errors: conflict when events from `from_ms` on are needed and some were removed. */
  protected needEvents(company_id: number, from_ms: number): void {
    const since_ms = this.sinceOf(company_id);
    if (from_ms < since_ms) throw beforeEvents(since_ms);
  }

  /** Errors: invalid when an event is before the company's begin. */
  protected checkTimes(company_id: number, events: readonly NewEvent[]): void {
    const since_ms = this.sinceOf(company_id);
    if (since_ms > 0) refuseClosed(events, since_ms);
  }

  /** As `checkTimes`, of the span of many events. */
  protected checkSpan(company_id: number, span: readonly number[]): void {
    const problem = closedProblem(Math.min(...span), this.sinceOf(company_id));
    if (problem !== undefined) throw invalid("/timestamp", problem);
  }

  /** Counts as storing until it is settled. */
  protected async whileStoring<T>(work: Promise<T>): Promise<T> {
    this.#storing.add(work);
    try {
      return await work;
    } finally {
      this.#storing.delete(work);
    }
  }

  async closeBefore(company_id: number, since_ms: number): Promise<void> {
    if (since_ms % HOUR_MS !== 0)
      throw new RangeError(`Cannot close before ${since_ms}: it is no whole hour`);
    if (since_ms <= this.sinceOf(company_id)) return;
    this.#recovery.checkWrites();
    await this.#recovery.run(({ compactor }) =>
      compactor.changeEvents((connection) => recordSince(connection, company_id, since_ms)),
    );
    this.#recovery.known.companies.beginAt(company_id, since_ms);
    // What was admitted before is stored, or is not.
    await Promise.allSettled(this.#storing);
  }

  async removeClosed(company_id: number, limit: number): Promise<number> {
    while (this.#holds > 0) await this.#released.promise;
    const removing = this.#running.then(() => this.#remove(company_id, limit));
    this.#running = removing.catch(() => undefined);
    return removing;
  }

  async #remove(company_id: number, limit: number): Promise<number> {
    const since_ms = this.sinceOf(company_id);
    this.#recovery.checkWrites();
    let removed = 0;
    await this.#recovery.run(({ compactor }) =>
      compactor.changeEvents(async (connection) => {
        removed = await removeOldest(connection, company_id, since_ms, limit);
      }),
    );
    return removed;
  }

  findStored(company_id: number, ids: readonly string[], timeout_ms: number): Promise<StoredId[]> {
    const { known } = this.#recovery;
    return this.#recovery.query(
      company_id,
      ({ readers }) =>
        readers.run(company_id, timeout_ms, (connection) => findStored(connection, company_id, ids, known)),
      timeout_ms,
    );
  }

  findUnerased(query: ErasureQuery, limit: number, timeout_ms: number): Promise<string[]> {
    const { company_id } = query;
    return this.#recovery.query(
      company_id,
      ({ readers }) =>
        readers.run(company_id, timeout_ms, (connection) =>
          findUnerased(connection, query, limit, this.#recovery.known),
        ),
      timeout_ms,
    );
  }

  async erase(company_id: number, ids: readonly string[], keep: readonly string[] = []): Promise<void> {
    const { known } = this.#recovery;
    this.#recovery.checkWrites();
    try {
      await this.#recovery.run(({ compactor }) =>
        compactor.changeMetadata(company_id, (connection) =>
          eraseMetadata(connection, { company_id, ids, keep }, known),
        ),
      );
    } finally {
      known.totals.recount(company_id, { metadata: true });
    }
  }

  exportKept(path: string, timeout_ms: number): Promise<KeptSince[]> {
    return this.runExport(timeout_ms, (connection) => exportKept(connection, path));
  }

  /** Runs a statement on a connection of exports. */
  protected async runExport<T>(
    timeout_ms: number,
    run: (connection: DuckDBConnection) => Promise<T>,
  ): Promise<T> {
    const { exports } = await this.#recovery.parts(timeout_ms);
    return exports.runStatement(timeout_ms, run);
  }

  async holdRemovals(): Promise<() => void> {
    this.#holds++;
    await this.#running;
    return () => {
      if (--this.#holds > 0) return;
      this.#released.resolve();
      this.#released = Promise.withResolvers();
    };
  }
}
