import type { DuckDBConnection } from "@duckdb/node-api";
import { withTimeout } from "../../../core/time.ts";
import type { Database } from "../engine/database.ts";
import { type CommitRows, type EngineLoss, EngineLostError, unavailable } from "../engine/engine.ts";
import { checkHours } from "../append/hour_sums.ts";
import type { Inventory } from "../index/inventory.ts";
import { type OpeningParts, type OpenedStore, Parts } from "./components.ts";
import { closedError } from "../engine/readers.ts";
import { asNumber, query } from "../engine/sql.ts";
import type { QueueMember } from "../engine/fair_queue.ts";
import { PATIENCE_MS } from "../append/writer.ts";

/** The pause before a second attempt; each further one is twice as long. */
const FIRST_PAUSE_MS = 250;
const LONGEST_PAUSE_MS = 30_000;
/** The longest rest of the compaction after failures in a row. */
const LONGEST_REST_MS = 600_000;
/** Losses by one asker's questions that lie further apart are not in a row. */
const IN_A_ROW_MS = 600_000;
/** How long the comparison of sums and rows after a loss may take. */
const CHECK_MS = 600_000;

/** What is told of failures, each with what was going on. */
export type Report = (error: unknown, message: string) => void;

/** What a beginning takes of its store; the rest is this file's. */
export type OpenedParts = Pick<OpeningParts, "limits" | "known">;

/**
 * Keeps an engine at work: when it is lost, everything on it is ended, it is closed without a checkpoint, and the file
 * opened again from what is on disk, as often as it takes. What was not begun is then asked of the next engine; the
 * commit that failed is looked for among the stored rows. Decision 0110.
 */
export class Recovery {
  readonly #begin: OpenedParts;
  readonly #report: Report;
  #parts: Parts | undefined;
  #database: Database;
  #lost_at_ms = 0;
  #opened = Promise.withResolvers<void>();
  #working: Promise<void> = Promise.resolve();
  #closed = false;
  #wake: (() => void) | undefined;
  #losses = 0;
  /** Losses in a row: by commits without one that was stored, by compactions without one that ended. */
  #commits_lost = 0;
  #compactions_lost = 0;
  #held_until_ms = 0;
  /** Whose questions ended engines: how many in a row, and until when further ones are refused. */
  readonly #members = new Map<QueueMember, { losses: number; held_until_ms: number }>();

  private constructor(database: Database, begin: OpenedParts, report: Report) {
    this.#database = database;
    this.#begin = begin;
    this.#report = report;
  }

  /** Opens on a database, which it closes when it closes itself. */
  static async open(
    database: Database,
    begin: (connection: DuckDBConnection, inventory: Inventory) => Promise<OpenedParts>,
    report: Report,
  ): Promise<Recovery> {
    let recovery: Recovery | undefined;
    const parts = await Parts.open(database, async (connection, inventory) => {
      const opened = new Recovery(database, await begin(connection, inventory), report);
      recovery = opened;
      return opened.#beginning(0, 0);
    });
    if (recovery === undefined) throw new TypeError("An engine was opened without its recovery");
    recovery.#compare(parts, parts.events);
    recovery.#take(parts);
    return recovery;
  }

  get known(): OpenedStore {
    return this.#begin.known;
  }

  /** Engines that were lost. */
  get losses(): number {
    return this.#losses;
  }

  get is_open(): boolean {
    return this.#parts !== undefined;
  }

  /**
   * What works on the engine; waits for one that is being opened, but not for long.
   * Errors: unavailable when there is none, or the store is closed.
   */
  async parts(wait_ms = PATIENCE_MS): Promise<Parts> {
    if (this.#closed) throw closedError();
    if (this.#parts === undefined) await this.#waitForParts(wait_ms);
    if (this.#closed) throw closedError();
    if (this.#parts === undefined) {
      const message =
        "Cannot use the usage store: it failed, for want of memory or disk, and is being opened again";
      throw unavailable(message, 5);
    }
    return this.#parts;
  }

  /** Who comes later waits less: all give up at the same time after the loss. */
  async #waitForParts(wait_ms: number): Promise<void> {
    const left_ms = Math.min(wait_ms, this.#lost_at_ms + PATIENCE_MS - performance.now());
    if (left_ms <= 0) return;
    await withTimeout(this.#opened.promise, left_ms);
  }

  /** Runs what may be run again, on the next engine when this one is lost meanwhile. */
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

  /** As `run`, for a question. Errors: unavailable also while the asker's rest, which ended engines one after the other. */
  ask<T>(member: QueueMember, work: (parts: Parts) => Promise<T>, wait_ms = PATIENCE_MS): Promise<T> {
    return this.run((parts) => {
      this.checkQuestions(member);
      return work(parts);
    }, wait_ms);
  }

  /** Errors: unavailable while the asker's questions rest. */
  checkQuestions(member: QueueMember): void {
    const left_ms = (this.#members.get(member)?.held_until_ms ?? 0) - performance.now();
    if (left_ms <= 0) return;
    const message =
      "Cannot query usage: the last queries made the usage store fail; ask something else, later";
    throw unavailable(message, Math.ceil(left_ms / 1_000));
  }

  /** Errors: unavailable while commits rest that failed again and again. */
  checkWrites(): void {
    const left_ms = this.#held_until_ms - performance.now();
    if (left_ms <= 0) return;
    const message =
      "Cannot store events: the last commits failed, for want of memory or disk; they are tried again soon";
    throw unavailable(message, Math.ceil(left_ms / 1_000));
  }

  async close(): Promise<void> {
    this.#closed = true;
    this.#wake?.();
    await this.#working;
    if (this.#parts === undefined) this.#database.close();
    else await this.#parts.close((error) => this.#report(error, "usage store: the last checkpoint failed"));
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
      onCompacted: () => {
        this.#compactions_lost = 0;
      },
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
    await parts.abandon(new EngineLostError(loss));
    const rest_ms = this.#countLoss(parts, loss);
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

  /** Counts losses in a row, by which the next attempts are spaced. Answers how long the compaction rests. */
  #countLoss({ engine }: Parts, { source, member }: EngineLoss): number {
    if (source === "question" && member !== undefined) this.#holdQuestions(member);
    if (engine.stored_rows > 0) this.#commits_lost = 0;
    if (source === "commit") this.#commits_lost++;
    if (source === "background") this.#compactions_lost++;
    if (source === "commit" && this.#commits_lost > 1) {
      this.#held_until_ms = performance.now() + heldMs(this.#commits_lost);
    }
    if (this.#compactions_lost === 0) return 0;
    const { retry_ms } = this.#begin.limits.compaction;
    return Math.min(retry_ms * 2 ** (this.#compactions_lost - 1), LONGEST_REST_MS);
  }

  /** A question that ends engines would be sent again, and end them all; whoever asks others is not held up. */
  #holdQuestions(member: QueueMember): void {
    const now_ms = performance.now();
    const before = this.#members.get(member);
    const is_in_row = before !== undefined && now_ms - before.held_until_ms < IN_A_ROW_MS;
    const losses = is_in_row ? before.losses + 1 : 1;
    const held_ms = losses === 1 ? 0 : heldMs(losses);
    this.#members.set(member, { losses, held_until_ms: now_ms + held_ms });
  }

  async #reopen(lost: Parts, loss: EngineLoss, rest_ms: number): Promise<void> {
    this.#database = await this.#database.reopen();
    let is_stored = false;
    const parts = await Parts.open(this.#database, async (connection) => {
      is_stored = loss.commit !== undefined && (await isStored(connection, loss.commit));
      return this.#beginning(lost.writer.next_seq, rest_ms);
    });
    this.#compare(parts, lost.events + (is_stored ? (loss.commit?.rows ?? 0) : 0));
    lost.engine.settle(is_stored);
    this.#take(parts);
    const took_ms = Math.round(performance.now() - this.#lost_at_ms);
    this.#report(undefined, `usage store: opened again after ${took_ms} ms`);
    void this.#check(parts);
  }

  /** Tells when there are not as many events as were stored. */
  #compare({ inventory }: Parts, expected: number): void {
    const { events, rows } = inventory;
    if (events === expected && rows === expected) return;
    const error = new Error(
      `${expected} events were stored, there are ${rows}, and the sums by hour are of ${events}`,
    );
    this.#report(error, "usage store: it does not hold what was stored: run doctor");
  }

  /** Compares the sums by hour with the rows. */
  async #check({ readers }: Parts): Promise<void> {
    try {
      this.checkQuestions(null);
      const { different } = await readers.run(null, CHECK_MS, (connection) => checkHours(connection, null));
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

/** How long who lost so many engines in a row is held back. */
const heldMs = (losses: number): number => Math.min(FIRST_PAUSE_MS * 2 ** (losses - 1), LONGEST_PAUSE_MS);

/** Engines that a question or append may be tried on. */
const ATTEMPTS = 3;

export function lostError(cause: unknown): Error {
  return unavailable(
    "Cannot use the usage store: it failed, for want of memory or disk; try again",
    1,
    cause,
  );
}

/** Whether a commit's rows are stored: all of them are, or none. */
async function isStored(connection: DuckDBConnection, { first_seq, last_seq }: CommitRows): Promise<boolean> {
  const sql = `SELECT count(*) FROM usage_events WHERE seq BETWEEN ${first_seq} AND ${last_seq}`;
  const [[count] = []] = await query(connection, sql);
  return asNumber(count) > 0;
}
