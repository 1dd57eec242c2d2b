import type { DuckDBConnection, DuckDBInstance } from "@duckdb/node-api";
import { AppError } from "../../../core/errors.ts";
import { withTimeout } from "../../../core/time.ts";
import { checkpointSeconds } from "../../metrics.ts";
import type { QueueMember } from "../../query/fair_queue.ts";

/** The rows of a commit: their numbers, both ends inclusive, and their count. */
export interface CommitRows {
  first_seq: number;
  last_seq: number;
  rows: number;
}

/** The reason why an engine was given up, and the rows of the failed commit, which may be stored. */
export interface EngineLoss {
  cause: unknown;
  /** Failures of the background must not hold back appends, and vice versa. */
  source: LossSource;
  /** The company whose query met it. */
  member?: QueueMember;
  commit: CommitRows | undefined;
}

/** Where a failure occurred: in a commit of events, in compaction, or in a query. */
export type LossSource = "commit" | "background" | "query";

/** The engine failed: its work must be repeated on the next one. */
export class EngineLostError extends Error {
  readonly loss: EngineLoss;
  /** Whether the failed commit is that of the caller. */
  readonly is_own_commit: boolean;

  constructor(loss: EngineLoss, is_own_commit = false) {
    super("The usage store's engine failed", { cause: loss.cause });
    this.loss = loss;
    this.is_own_commit = is_own_commit;
  }
}

/** Messages of an engine that can't go on, or whose memory is corrupted. */
const FATAL = /FATAL Error|database has been invalidated|Corrupted in-memory/;
/** Messages of an internal error. */
const INTERNAL = /INTERNAL Error/;
const OUT_OF_MEMORY = /Out of Memory Error|failed to (?:pin block|allocate)|could not allocate block/;
const OUT_OF_DISK = /IO Error|No space left on device|File too large|max_temp_directory_size/;

/** Messages of a block or a log whose checksum is not that of its bytes. */
const DAMAGE = /Corrupt (?:database|WAL) file|Failure while replaying WAL file|computed checksum/;

/** What opening a file also says of one that is damaged. */
const DAMAGE_AT_OPENING =
  /not a valid DuckDB database file|Failed to read WAL|Serialization Error|INTERNAL Error|unordered_map|older versions of the DuckDB|newer version of DuckDB/;

export const isDamageAtOpening = (error: unknown): boolean =>
  isDamage(error) || DAMAGE_AT_OPENING.test(String(error));

/** Whether an error is that of a damaged file. */
export const isDamage = (error: unknown): boolean => DAMAGE.test(String(error));

/**
 * One instance of the engine; everything that writes goes through it.
 *
 * A commit that fails, for lack of memory or disk, leaves the engine's tables in memory half reverted, and what it
 * writes later is wrong. So a failed commit, rollback or checkpoint ends the instance: nothing runs on it any more, it
 * is closed without a checkpoint, and the file is opened again (recovery.ts, decision 0110).
 */
export class Engine {
  readonly instance: DuckDBInstance;
  readonly #onLost: (loss: EngineLoss) => void;
  readonly #connections = new Set<DuckDBConnection>();
  readonly #outcome = Promise.withResolvers<boolean | undefined>();
  #loss: EngineLoss | undefined;
  #gate: Promise<unknown> = Promise.resolve();
  #stored_rows = 0;

  /** `onLost` is called once. */
  constructor(instance: DuckDBInstance, onLost: (loss: EngineLoss) => void = () => undefined) {
    this.instance = instance;
    this.#onLost = onLost;
  }

  async connect(): Promise<DuckDBConnection> {
    const connection = await this.instance.connect();
    this.#connections.add(connection);
    return connection;
  }

  disconnect(connection: DuckDBConnection): void {
    this.#connections.delete(connection);
    connection.closeSync();
  }

  /** Closes the remaining connections: each keeps the file open. */
  disconnectAll(): void {
    for (const connection of this.#connections) this.disconnect(connection);
  }

  get is_lost(): boolean {
    return this.#loss !== undefined;
  }

  /** The number of rows committed through it. */
  get stored_rows(): number {
    return this.#stored_rows;
  }

  /** Errors: throws EngineLostError when the engine is lost. */
  check(): void {
    if (this.#loss !== undefined) throw new EngineLostError(this.#loss);
  }

  /**
   * Runs `work` in a transaction of its own: all of it is stored, or nothing. `rows`: the events that it stores. `work`
   * must throw whatever fails in it: the engine accepts the COMMIT of an aborted transaction without an error, and
   * stores nothing. `first`: a statement to begin with, which costs no call of its own.
   * Errors: those of `work`, and then nothing is stored; EngineLostError.
   */
  async transact(
    connection: DuckDBConnection,
    source: LossSource,
    work: () => Promise<void>,
    rows?: CommitRows,
    first?: string,
  ): Promise<void> {
    this.check();
    try {
      await connection.run(first === undefined ? "BEGIN" : `BEGIN; ${first}`);
      await work();
    } catch (error) {
      await this.#rollBack(connection, source, error);
      throw this.judge(error, source);
    }
    // One commit at a time: after a failed one another might write wrong data to the log.
    const turn = this.#gate.then(() => this.#commit(connection, source, rows));
    this.#gate = turn.catch(() => undefined);
    await turn;
  }

  async #commit(
    connection: DuckDBConnection,
    source: LossSource,
    rows: CommitRows | undefined,
  ): Promise<void> {
    this.check();
    try {
      await connection.run("COMMIT");
    } catch (cause) {
      const loss = this.#lose({ cause, source, commit: rows });
      // Also where something else ended the engine during this commit: its rows may be stored all the same.
      loss.commit = rows;
      throw new EngineLostError(loss, true);
    }
    this.#stored_rows += rows?.rows ?? 0;
  }

  async #rollBack(connection: DuckDBConnection, source: LossSource, cause: unknown): Promise<void> {
    if (!(await rolledBack(connection))) this.lose(new Error("A rollback failed", { cause }), source);
  }

  /** Empties the log into the file. Errors: EngineLostError. */
  async checkpoint(connection: DuckDBConnection): Promise<void> {
    this.check();
    const began_ms = performance.now();
    try {
      // FORCE waits for a commit under way, where a plain checkpoint fails.
      await connection.run("FORCE CHECKPOINT");
      checkpointSeconds.observeSince(began_ms);
    } catch (cause) {
      this.lose(cause, "background");
      this.check();
    }
  }

  /** Classifies an error of a statement: a fatal one ends the engine, and becomes an EngineLostError. */
  judge(error: unknown, source: LossSource, member?: QueueMember): unknown {
    if (error instanceof EngineLostError) return error;
    const text = String(error);
    // An internal error of a query concerns that query only.
    const is_fatal = FATAL.test(text) || (source !== "query" && INTERNAL.test(text));
    if (is_fatal) this.lose(error, source, member);
    return this.#loss === undefined ? error : new EngineLostError(this.#loss);
  }

  lose(cause: unknown, source: LossSource, member?: QueueMember): void {
    this.#lose({ cause, source, commit: undefined, ...(member === undefined ? {} : { member }) });
  }

  /** Returns the first loss, which is the one that counts. */
  #lose(loss: EngineLoss): EngineLoss {
    if (this.#loss === undefined) {
      this.#loss = loss;
      this.#onLost(loss);
    }
    return this.#loss;
  }

  /** Records whether the rows of the failed commit are stored; undefined when that is unknown. */
  settle(is_stored: boolean | undefined): void {
    this.#outcome.resolve(is_stored);
  }

  /** Whether the rows of the failed commit are stored; undefined when that is not known in time. */
  async isStored(wait_ms: number): Promise<boolean | undefined> {
    return (await withTimeout(this.#outcome.promise, wait_ms)) ?? undefined;
  }
}

/** Rolls back. False when the connection can't be used any more. */
export async function rolledBack(connection: DuckDBConnection): Promise<boolean> {
  try {
    await connection.run("ROLLBACK");
    return true;
  } catch (error) {
    // There is none if BEGIN failed, or the engine has aborted it.
    return String(error).includes("no transaction is active");
  }
}

/** The resource that an error says is short; undefined for another error. */
export function shortage(error: unknown): "memory" | "disk" | undefined {
  const text = String(error);
  if (OUT_OF_MEMORY.test(text)) return "memory";
  return OUT_OF_DISK.test(text) ? "disk" : undefined;
}

/** The 503 while the store is opened again, or its commits keep failing. */
export function unavailable(message: string, retry_after_s: number, cause?: unknown): AppError {
  return new AppError("unavailable", message, { retry_after_s, cause });
}
