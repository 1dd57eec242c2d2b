import type { DuckDBConnection, DuckDBInstance } from "@duckdb/node-api";
import { AppError } from "../../../core/errors.ts";
import { withTimeout } from "../../../core/time.ts";
import type { QueueMember } from "./fair_queue.ts";

/** The rows of a commit: their numbers, from `first_seq` (inclusive) to `last_seq`, and how many there are. */
export interface CommitRows {
  first_seq: number;
  last_seq: number;
  rows: number;
}

/** Why an engine is used no longer, and the rows of the commit that failed, if any: they may be stored. */
export interface EngineLoss {
  cause: unknown;
  /** The background's failures must not hold up appends, nor the other way round. */
  source: LossSource;
  /** Whose question met it. */
  member?: QueueMember;
  commit: CommitRows | undefined;
}

/** Where a failure was met: in a commit of events, in the work of compaction, or in a question. */
export type LossSource = "commit" | "background" | "query";

/** The engine failed: what was asked of it has to be asked again of the one that is opened after it. */
export class EngineLostError extends Error {
  readonly loss: EngineLoss;
  /** The commit that failed is the one of whoever gets this error. */
  readonly is_own_commit: boolean;

  constructor(loss: EngineLoss, is_own_commit = false) {
    super("The usage store's engine failed", { cause: loss.cause });
    this.loss = loss;
    this.is_own_commit = is_own_commit;
  }
}

/** What the engine says when it will answer nothing any more, or can't trust itself. */
const FATAL = /FATAL Error|database has been invalidated|Corrupted in-memory/;
/** What it says of an error of its own. */
const INTERNAL = /INTERNAL Error/;
const OUT_OF_MEMORY = /Out of Memory Error|failed to (?:pin block|allocate)|could not allocate block/;
const OUT_OF_DISK = /IO Error|No space left on device|File too large|max_temp_directory_size/;

/**
 * The engine as one process's instance of it: the way in for everything that writes.
 *
 * A commit that fails, for want of memory or disk, leaves the engine's tables in memory half reverted, and what it
 * writes later is wrong. So a failed commit, rollback or checkpoint ends the instance: nothing runs on it any more,
 * it is closed without a checkpoint, and the file is opened again (recovery.ts, decision 0110).
 */
export class Engine {
  readonly instance: DuckDBInstance;
  readonly #onLost: (loss: EngineLoss) => void;
  readonly #connections = new Set<DuckDBConnection>();
  readonly #outcome = Promise.withResolvers<boolean | undefined>();
  #loss: EngineLoss | undefined;
  #gate: Promise<unknown> = Promise.resolve();
  #stored_rows = 0;

  /** `onLost` is told once. */
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

  /** Closes the connections that are left: the file is open for as long as there is one. */
  disconnectAll(): void {
    for (const connection of this.#connections) this.disconnect(connection);
  }

  get is_lost(): boolean {
    return this.#loss !== undefined;
  }

  /** How many rows were committed through it. */
  get stored_rows(): number {
    return this.#stored_rows;
  }

  /** Errors: throws EngineLostError when the engine is used no longer. */
  check(): void {
    if (this.#loss !== undefined) throw new EngineLostError(this.#loss);
  }

  /**
   * Runs `work` in a transaction of its own: all of it is stored, or nothing. `rows`: what it stores, asked for
   * when it is done. `work` must throw whatever fails in it: the engine takes the COMMIT of a transaction that it has
   * given up without an error, and stores nothing. Errors: those of `work`, and then nothing is stored; EngineLostError.
   */
  async transact(
    connection: DuckDBConnection,
    source: LossSource,
    work: () => Promise<void>,
    rows?: CommitRows,
  ): Promise<void> {
    this.check();
    try {
      await connection.run("BEGIN");
      await work();
    } catch (error) {
      await this.#rollBack(connection, source, error);
      throw this.judge(error, source);
    }
    // One commit at a time: what another one writes to the log after one has failed may be wrong.
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
      this.check();
      const loss = { cause, source, commit: rows };
      this.#lose(loss);
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
    try {
      // FORCE waits for the commit that is under way, where a plain checkpoint fails.
      await connection.run("FORCE CHECKPOINT");
    } catch (cause) {
      this.lose(cause, "background");
      this.check();
    }
  }

  /** What an error of a statement means: when it says that the engine can't go on, it is used no longer. */
  judge(error: unknown, source: LossSource, member?: QueueMember): unknown {
    if (error instanceof EngineLostError) return error;
    const text = String(error);
    // A question may meet an error of the engine's own that concerns nobody else.
    const is_fatal = FATAL.test(text) || (source !== "query" && INTERNAL.test(text));
    if (is_fatal) this.lose(error, source, member);
    return this.#loss === undefined ? error : new EngineLostError(this.#loss);
  }

  lose(cause: unknown, source: LossSource, member?: QueueMember): void {
    this.#lose({ cause, source, commit: undefined, ...(member === undefined ? {} : { member }) });
  }

  #lose(loss: EngineLoss): void {
    if (this.#loss !== undefined) return;
    this.#loss = loss;
    this.#onLost(loss);
  }

  /** To be called by who opens the file again: whether the rows of the failed commit are stored, if it is known. */
  settle(is_stored: boolean | undefined): void {
    this.#outcome.resolve(is_stored);
  }

  /** Of a lost engine: whether the rows of the failed commit are stored. Undefined when that is not known in time. */
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
    // There is none where BEGIN failed, or the engine has ended it by itself.
    return String(error).includes("no transaction is active");
  }
}

/** What a statement's error means when the engine lacks memory or disk; undefined when it is another. */
export function shortage(error: unknown): "memory" | "disk" | undefined {
  const text = String(error);
  if (OUT_OF_MEMORY.test(text)) return "memory";
  return OUT_OF_DISK.test(text) ? "disk" : undefined;
}

/** What is answered while the store is opened again, or its commits keep failing. */
export function unavailable(message: string, retry_after_s: number, cause?: unknown): AppError {
  return new AppError("unavailable", message, { retry_after_s, cause });
}
