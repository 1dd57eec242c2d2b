import type { DuckDBConnection } from "@duckdb/node-api";
import { AppError } from "../../../core/errors.ts";
import { damagedError } from "../../../core/damage.ts";
import { closedError } from "../../query/closed_error.ts";
import { type Engine, isDamage, rolledBack, shortage, unavailable } from "./engine.ts";
import { type QueueMember, FairQueue, type QueueLimits } from "../../query/fair_queue.ts";

/** A query that waits for a connection. */
interface Waiting {
  resolve(connection: DuckDBConnection): void;
  reject(error: Error): void;
}

/** The pause between interrupts: one is lost on a statement that waits for a thread. */
export const INTERRUPT_AGAIN_MS = 50;

/** How many queries run at once, and how many may wait. */
export interface ReadersLimits extends QueueLimits {
  readers: number;
}

/** How long a query may take, and what ends it before. */
interface Bounds {
  timeout_ms: number;
  signal: AbortSignal | undefined;
  in_transaction: boolean;
}

/** A bounded pool of connections for queries, each with a time limit; companies take turns. */
export class Readers {
  readonly #engine: Engine;
  readonly #idle: DuckDBConnection[];
  readonly #running = new Set<DuckDBConnection>();
  readonly #turns: FairQueue<Waiting>;
  #size: number;
  #closed: PromiseWithResolvers<void> | undefined;
  #closing_error: Error = closedError();

  private constructor(engine: Engine, connections: DuckDBConnection[], limits: QueueLimits) {
    this.#engine = engine;
    this.#idle = connections;
    this.#size = connections.length;
    this.#turns = new FairQueue(limits);
  }

  static async open(engine: Engine, { readers, ...limits }: ReadersLimits): Promise<Readers> {
    const connections: DuckDBConnection[] = [];
    for (let i = 0; i < readers; i++) connections.push(await engine.connect());
    return new Readers(engine, connections, limits);
  }

  /**
   * Runs `read` for a company in a read transaction, so that its statements see one instant.
   * Errors: rate_limited when too many wait already; unavailable past `timeout_ms`, waiting included, when it needs too
   * much memory or disk, and after close; the reason of `signal`, which ends it; EngineLostError.
   */
  run<T>(
    member: QueueMember,
    timeout_ms: number,
    read: (connection: DuckDBConnection) => Promise<T>,
    signal?: AbortSignal,
  ): Promise<T> {
    return this.#run(member, { timeout_ms, signal, in_transaction: true }, async (connection) => {
      await connection.run("BEGIN TRANSACTION READ ONLY");
      return read(connection);
    });
  }

  /** As `run`, for a single statement, which sees one instant anyway. */
  runStatement<T>(
    member: QueueMember,
    timeout_ms: number,
    read: (connection: DuckDBConnection) => Promise<T>,
    signal?: AbortSignal,
  ): Promise<T> {
    return this.#run(member, { timeout_ms, signal, in_transaction: false }, read);
  }

  async #run<T>(
    member: QueueMember,
    { timeout_ms, signal, in_transaction }: Bounds,
    read: (connection: DuckDBConnection) => Promise<T>,
  ): Promise<T> {
    const started_ms = performance.now();
    const connection = await this.#take(member, timeout_ms, signal);
    this.#running.add(connection);
    let late = false;
    const left_ms = timeout_ms - (performance.now() - started_ms);
    const interrupt = (): void => {
      late = true;
      clearTimeout(timer);
      connection.interrupt();
      timer = setTimeout(interrupt, INTERRUPT_AGAIN_MS);
    };
    let timer = setTimeout(interrupt, Math.max(left_ms, 0));
    signal?.addEventListener("abort", interrupt);
    try {
      signal?.throwIfAborted();
      const result = await read(connection);
      signal?.throwIfAborted();
      // The interrupt was lost: the result is late all the same.
      if (late) throw timeoutError(timeout_ms);
      // The result of an engine that failed meanwhile may be wrong.
      this.#engine.check();
      return result;
    } catch (cause) {
      const error = this.#engine.judge(cause, "query", member);
      signal?.throwIfAborted();
      if (late) throw timeoutError(timeout_ms, error);
      throw isDamage(error) ? damagedError("usage", error) : (shortageError(error) ?? error);
    } finally {
      clearTimeout(timer);
      signal?.removeEventListener("abort", interrupt);
      if (in_transaction) void this.#end(member, connection);
      else this.#release(member, connection);
    }
  }

  /** How many queries wait for a connection. */
  get waiting(): number {
    return this.#turns.size;
  }

  /** Rejects waiting queries, lets running ones finish, and closes the connections. */
  async close(): Promise<void> {
    if (this.#closed === undefined) {
      this.#closed = Promise.withResolvers<void>();
      for (const waiting of this.#turns.clear()) waiting.reject(this.#closing_error);
      this.#finishClose();
    }
    await this.#closed.promise;
  }

  /** As `close`, interrupting running queries: the engine is lost. */
  async abandon(reason: Error): Promise<void> {
    this.#closing_error = reason;
    await cutOff(this.#running, this.close());
  }

  async #take(
    member: QueueMember,
    timeout_ms: number,
    signal: AbortSignal | undefined,
  ): Promise<DuckDBConnection> {
    if (this.#closed !== undefined) throw this.#closing_error;
    signal?.throwIfAborted();
    const connection = this.#turns.mayStart(member) ? this.#idle.pop() : undefined;
    if (connection !== undefined) {
      this.#turns.start(member);
      return connection;
    }
    const { promise, resolve, reject } = Promise.withResolvers<DuckDBConnection>();
    const waiting: Waiting = { resolve, reject };
    if (!this.#turns.wait(member, waiting)) {
      throw new AppError("rate_limited", "Cannot query usage: too many queries wait already", {
        retry_after_s: 1,
      });
    }
    const leave = (reason: unknown): void => {
      this.#turns.leave(member, waiting);
      reject(reason);
    };
    const timer = setTimeout(() => leave(timeoutError(timeout_ms)), timeout_ms);
    const onAbort = (): void => leave(signal?.reason);
    signal?.addEventListener("abort", onAbort);
    try {
      return await promise;
    } finally {
      clearTimeout(timer);
      signal?.removeEventListener("abort", onAbort);
    }
  }

  /** Ends the transaction, if BEGIN succeeded; the caller need not wait. */
  async #end(member: QueueMember, connection: DuckDBConnection): Promise<void> {
    if (await rolledBack(connection)) return this.#release(member, connection);
    // It may still be in the transaction, and the next query would get that one's error.
    this.#running.delete(connection);
    this.#engine.disconnect(connection);
    try {
      this.#release(member, await this.#engine.connect());
    } catch (error) {
      this.#size--;
      this.#engine.lose(error, "query", member);
      this.#turns
        .finish(member)
        ?.reject(new AppError("unavailable", "Cannot query usage now", { retry_after_s: 1 }));
      this.#finishClose();
    }
  }

  #release(member: QueueMember, connection: DuckDBConnection): void {
    this.#running.delete(connection);
    const next = this.#turns.finish(member);
    if (next === undefined) {
      this.#idle.push(connection);
      this.#finishClose();
    } else {
      next.resolve(connection);
    }
  }

  #finishClose(): void {
    if (this.#closed === undefined || this.#idle.length < this.#size) return;
    for (const connection of this.#idle) this.#engine.disconnect(connection);
    this.#closed.resolve();
  }
}

/** Interrupts the connections' statements, again and again until the work is over. */
export async function cutOff(connections: Iterable<DuckDBConnection>, work: Promise<unknown>): Promise<void> {
  const interrupt = (): void => {
    for (const connection of connections) connection.interrupt();
  };
  interrupt();
  const timer = setInterval(interrupt, INTERRUPT_AGAIN_MS);
  try {
    await work;
  } finally {
    clearInterval(timer);
  }
}

function timeoutError(timeout_ms: number, cause?: unknown): AppError {
  return new AppError("unavailable", `Cannot query usage: the query ran over ${timeout_ms} ms; narrow it`, {
    retry_after_s: 1,
    cause,
  });
}

/** The error of a query that lacks memory or disk; undefined for another error. */
function shortageError(error: unknown): AppError | undefined {
  const lacking = shortage(error);
  if (lacking === undefined) return undefined;
  return unavailable(
    `Cannot query usage: the query needs more ${lacking} than there is; narrow it`,
    1,
    error,
  );
}
