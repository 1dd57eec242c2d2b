import type { DuckDBConnection } from "@duckdb/node-api";
import { withTimeout } from "../../../core/time.ts";
import type { Database } from "../engine/database.ts";
import { type CommitRows, type EngineLoss, EngineLostError, unavailable } from "../engine/engine.ts";
import { checkSums } from "./check_sums.ts";
import type { Inventory } from "../index/inventory.ts";
import {
  abandonParts,
  closeParts,
  type OpenedStore,
  openParts,
  type OpeningParts,
  type Parts,
  storedEvents,
} from "./components.ts";
import { closedError } from "../../query/closed_error.ts";
import { readEvents } from "../query/numbered_events.ts";
import { asNumber, query } from "../engine/sql.ts";
import type { QueueMember } from "../../query/fair_queue.ts";
import { Backoff, FIRST_PAUSE_MS, LONGEST_PAUSE_MS } from "./backoff.ts";
import { PATIENCE_MS } from "../append/writer.ts";

/** How long the comparison of sums and rows after a loss may take. */
const CHECK_MS = 600_000;

/** Reports a failure, with the work that was under way. */
export type Report = (error: unknown, message: string) => void;

/** The options of the store; those of each engine are added here. */
export type OpenedParts = Pick<OpeningParts, "limits" | "known">;

/**
 * Replaces a lost engine: everything on it is ended, it is closed without a checkpoint, and the file is opened again
 * from what is on disk, as often as necessary. Work that had not begun runs on the next engine; the rows of the failed
 * commit are looked up among the stored ones. Decision 0110.
 */
export class Recovery {
  readonly #begin: OpenedParts;
  readonly #report: Report;
  readonly #checkRoom: () => void;
  readonly #backoff: Backoff;
  #parts: Parts | undefined;
  #database: Database;
  #lost_at_ms = 0;
  #opened = Promise.withResolvers<void>();
  #working: Promise<void> = Promise.resolve();
  #closed = false;
  #wake: (() => void) | undefined;
  #losses = 0;

  private constructor(database: Database, begin: OpenedParts, report: Report, checkRoom: () => void) {
    this.#checkRoom = checkRoom;
    this.#database = database;
    this.#begin = begin;
    this.#report = report;
    this.#backoff = new Backoff(begin.limits.compaction.retry_ms);
  }

  /** Opens on a database, which closes with it. */
  static async open(
    database: Database,
    begin: (connection: DuckDBConnection, inventory: Inventory) => Promise<OpenedParts>,
    report: Report,
    checkRoom: () => void = () => undefined,
  ): Promise<Recovery> {
    let recovery: Recovery | undefined;
    const parts = await openParts(database, async (connection, inventory) => {
      const opened = new Recovery(database, await begin(connection, inventory), report, checkRoom);
      recovery = opened;
      return opened.#beginning(0, 0);
    });
    if (recovery === undefined) throw new TypeError("An engine was opened without its recovery");
    recovery.#compare(parts, storedEvents(parts));
    recovery.#take(parts);
    return recovery;
  }

  get known(): OpenedStore {
    return this.#begin.known;
  }

  /** The number of lost engines. */
  get losses(): number {
    return this.#losses;
  }

  /** What waits for the present engine; nothing while there is none. */
  get load(): { pending_events: number; waiting_queries: number } {
    const { writer, readers } = this.#parts ?? {};
    return { pending_events: writer?.pending_events ?? 0, waiting_queries: readers?.waiting ?? 0 };
  }

  get is_open(): boolean {
    return this.#parts !== undefined;
  }

  /**
   * The components on the engine; waits, but not for long, for one that is being opened.
   * Errors: unavailable when there is none, or the store is closed.
   */
  async parts(wait_ms = PATIENCE_MS): Promise<Parts> {
    if (this.#closed) throw closedError();
    if (this.#parts === undefined) await this.#waitForParts(wait_ms);
    if (this.#closed) throw closedError();
    if (this.#parts === undefined) {
      const message =
        "Cannot use the usage store: it failed for lack of memory or disk, and is being opened again";
      throw unavailable(message, 5);
    }
    return this.#parts;
  }

  /** Later callers wait less: all give up at the same time after the loss. */
  async #waitForParts(wait_ms: number): Promise<void> {
    const left_ms = Math.min(wait_ms, this.#lost_at_ms + PATIENCE_MS - performance.now());
    if (left_ms <= 0) return;
    await withTimeout(this.#opened.promise, left_ms);
  }

  /** Runs repeatable work, on the next engine when this one is lost meanwhile. */
  async run<T>(work: (parts: Parts) => Promise<T>, wait_ms = PATIENCE_MS): Promise<T> {
    for (let attempt = 1; ; attempt++) {
      try {
        return await work(await this.parts(wait_ms));
      } catch (error) {
        if (!(error instanceof EngineLostError)) throw error;
        if (attempt === ATTEMPTS) throw lostError(error);
      }
    }
  }

  /** As `run`, for a query. Errors: unavailable also while the company's queries are held back. */
  query<T>(member: QueueMember, work: (parts: Parts) => Promise<T>, wait_ms = PATIENCE_MS): Promise<T> {
    return this.run((parts) => {
      this.#backoff.checkQueries(member);
      return work(parts);
    }, wait_ms);
  }

  /** Errors: unavailable while the company's queries are held back. */
  checkQueries(member: QueueMember): void {
    this.#backoff.checkQueries(member);
  }

  /** Errors: unavailable while there is no room for events, or commits are held back. */
  checkAppends(): void {
    this.#checkRoom();
    this.checkWrites();
  }

  /** Errors: unavailable while commits are held back. */
  checkWrites(): void {
    this.#backoff.checkWrites();
  }

  async close(): Promise<void> {
    this.#closed = true;
    this.#wake?.();
    await this.#working;
    if (this.#parts === undefined) this.#database.close();
    else
      await closeParts(this.#parts, this.known.totals_snapshots, (error) =>
        this.#report(error, "usage store: the last checkpoint failed"),
      );
  }

  #take(parts: Parts): void {
    this.#parts = parts;
    this.#database = parts.database;
    parts.compactor.notice();
    this.#opened.resolve();
  }

  #beginning(next_seq: number, rest_ms: number): OpeningParts {
    return {
      ...this.#begin,
      next_seq,
      rest_ms,
      onLost: (loss) => this.#lose(loss),
      onFailure: (error) =>
        this.#report(error, "usage store: background work failed, it will be tried again"),
      onCompacted: () => this.#backoff.onCompacted(),
    };
  }

  #lose(loss: EngineLoss): void {
    const parts = this.#parts;
    if (parts === undefined) return;
    if (this.#closed) return parts.engine.settle(undefined);
    this.#parts = undefined;
    this.#opened = Promise.withResolvers();
    this.#lost_at_ms = performance.now();
    this.#losses++;
    this.#report(
      loss.cause,
      `usage store: the engine failed (${loss.source}), it is closed and opened again`,
    );
    this.#working = this.#recover(parts, loss);
  }

  async #recover(parts: Parts, loss: EngineLoss): Promise<void> {
    await abandonParts(parts, new EngineLostError(loss));
    const rest_ms = this.#backoff.countLoss(loss, parts.engine.stored_rows);
    for (let pause_ms = FIRST_PAUSE_MS; !this.#closed; pause_ms = Math.min(2 * pause_ms, LONGEST_PAUSE_MS)) {
      try {
        await this.#reopen(parts, loss, rest_ms);
        break;
      } catch (error) {
        this.#report(error, "usage store: it could not be opened again, it will be tried again");
        await this.#pause(pause_ms);
      }
    }
    parts.engine.settle(undefined);
  }

  async #reopen(lost: Parts, loss: EngineLoss, rest_ms: number): Promise<void> {
    this.#database = await this.#database.reopen();
    let is_stored = false;
    const parts = await openParts(this.#database, async (connection, { last_seq }) => {
      is_stored = loss.commit !== undefined && (await isStored(connection, loss.commit));
      // Before anybody hears whether the failed commit is stored.
      await this.known.totals.catchUp((...asked) => readEvents(connection, ...asked), last_seq);
      return this.#beginning(lost.writer.next_seq, rest_ms);
    });
    this.#compare(parts, storedEvents(lost) + (is_stored ? (loss.commit?.rows ?? 0) : 0));
    lost.engine.settle(is_stored);
    this.#take(parts);
    const took_ms = Math.round(performance.now() - this.#lost_at_ms);
    this.#report(undefined, `usage store: opened again after ${took_ms} ms`);
    void this.#check(parts);
  }

  /** Reports when the number of events is not that stored. */
  #compare({ inventory }: Parts, expected: number): void {
    const { events, rows, removed } = inventory;
    if (events === rows && rows + removed === expected) return;
    const error = new Error(
      `${expected - removed} events were stored, there are ${rows}, and the sums by hour are of ${events}`,
    );
    this.#report(error, "usage store: it does not hold what was stored: run doctor");
  }

  /** Compares the sums by hour with the rows. */
  async #check({ readers }: Parts): Promise<void> {
    try {
      this.#backoff.checkQueries(null);
      const { different } = await readers.run(null, CHECK_MS, (connection) => checkSums(connection, null));
      if (different === 0) return;
      const error = new Error(`The sums of ${different} hours are not those of their events`);
      this.#report(error, "usage store: sums and events differ: run doctor");
    } catch (error) {
      if (!(error instanceof EngineLostError) && !this.#closed)
        this.#report(error, "usage store: sums and events could not be compared");
    }
  }

  async #pause(pause_ms: number): Promise<void> {
    const ended = Promise.withResolvers<void>();
    const timer = setTimeout(() => ended.resolve(), pause_ms);
    this.#wake = () => ended.resolve();
    await ended.promise;
    clearTimeout(timer);
    this.#wake = undefined;
  }
}

/** Engines that a query or append is tried on. */
const ATTEMPTS = 3;

export function lostError(cause: unknown): Error {
  return unavailable("Cannot use the usage store: it failed for lack of memory or disk; try again", 1, cause);
}

/** Whether a commit's rows are stored: all are, or none. */
async function isStored(connection: DuckDBConnection, { first_seq, last_seq }: CommitRows): Promise<boolean> {
  const sql = `SELECT count(*) FROM usage_events WHERE seq BETWEEN ${first_seq} AND ${last_seq}`;
  const [[count] = []] = await query(connection, sql);
  return asNumber(count) > 0;
}
