import type { DuckDBConnection, DuckDBInstance } from "@duckdb/node-api";
import { AppError } from "../../../../core/errors.ts";
import { type Asker, Turns, type TurnLimits } from "./turns.ts";

interface Waiting {
  resolve(connection: DuckDBConnection): void;
  reject(error: AppError): void;
}

/** An interrupt is lost on a statement that has not begun, such as one that waits for a thread. */
export const INTERRUPT_AGAIN_MS = 50;

/** How the engine's error begins when a question takes more memory than the engine may. */
const OUT_OF_MEMORY = "Out of Memory Error";

/** How many questions run at once, and how many may wait for those. */
export interface ReadersLimits extends TurnLimits {
  readers: number;
}

/** A bounded pool of connections for questions, each with a time limit; companies take turns. */
export class Readers {
  readonly #idle: DuckDBConnection[];
  readonly #size: number;
  readonly #turns: Turns<Waiting>;
  #closed: PromiseWithResolvers<void> | undefined;

  private constructor(connections: DuckDBConnection[], limits: TurnLimits) {
    this.#idle = connections;
    this.#size = connections.length;
    this.#turns = new Turns(limits);
  }

  static async open(instance: DuckDBInstance, { readers, ...limits }: ReadersLimits): Promise<Readers> {
    const connections: DuckDBConnection[] = [];
    for (let i = 0; i < readers; i++) connections.push(await instance.connect());
    return new Readers(connections, limits);
  }

  /**
   * Runs `read` for a company in a read transaction, so that its statements see one instant.
   * Errors: rate_limited when too many wait already; unavailable past `timeout_ms`, waiting included, when it
   * takes too much memory, and after close.
   */
  run<T>(asker: Asker, timeout_ms: number, read: (connection: DuckDBConnection) => Promise<T>): Promise<T> {
    return this.#run(asker, timeout_ms, true, async (connection) => {
      await connection.run("BEGIN TRANSACTION READ ONLY");
      return read(connection);
    });
  }

  /** As `run`, where `read` is a single statement, which sees one instant by itself. */
  runStatement<T>(
    asker: Asker,
    timeout_ms: number,
    read: (connection: DuckDBConnection) => Promise<T>,
  ): Promise<T> {
    return this.#run(asker, timeout_ms, false, read);
  }

  async #run<T>(
    asker: Asker,
    timeout_ms: number,
    in_transaction: boolean,
    read: (connection: DuckDBConnection) => Promise<T>,
  ): Promise<T> {
    const started_ms = performance.now();
    const connection = await this.#take(asker, timeout_ms);
    let late = false;
    const left_ms = timeout_ms - (performance.now() - started_ms);
    const interrupt = (): void => {
      late = true;
      connection.interrupt();
      timer = setTimeout(interrupt, INTERRUPT_AGAIN_MS);
    };
    let timer = setTimeout(interrupt, Math.max(left_ms, 0));
    try {
      const result = await read(connection);
      // The interrupt was lost: the late answer is refused all the same.
      if (late) throw timeoutError(timeout_ms);
      return result;
    } catch (error) {
      if (late) throw timeoutError(timeout_ms, error);
      throw String(error).includes(OUT_OF_MEMORY) ? memoryError(error) : error;
    } finally {
      clearTimeout(timer);
      if (in_transaction) void this.#end(asker, connection);
      else this.#giveBack(asker, connection);
    }
  }

  /** Refuses who waits, lets who runs finish, and closes the connections. */
  async close(): Promise<void> {
    if (this.#closed === undefined) {
      this.#closed = Promise.withResolvers<void>();
      for (const waiting of this.#turns.clear()) waiting.reject(closedError());
      this.#finishClose();
    }
    await this.#closed.promise;
  }

  async #take(asker: Asker, timeout_ms: number): Promise<DuckDBConnection> {
    if (this.#closed !== undefined) throw closedError();
    const connection = this.#turns.mayStart(asker) ? this.#idle.pop() : undefined;
    if (connection !== undefined) {
      this.#turns.start(asker);
      return connection;
    }
    const { promise, resolve, reject } = Promise.withResolvers<DuckDBConnection>();
    const waiting: Waiting = { resolve, reject };
    if (!this.#turns.wait(asker, waiting)) {
      throw new AppError("rate_limited", "Cannot query usage: too many queries wait already", {
        retry_after_s: 1,
      });
    }
    const timer = setTimeout(() => {
      this.#turns.leave(asker, waiting);
      reject(timeoutError(timeout_ms));
    }, timeout_ms);
    try {
      return await promise;
    } finally {
      clearTimeout(timer);
    }
  }

  /** Ends the transaction, a failed one too; there is none when BEGIN itself failed. Who asked need not wait. */
  async #end(asker: Asker, connection: DuckDBConnection): Promise<void> {
    await connection.run("ROLLBACK").catch(() => undefined);
    this.#giveBack(asker, connection);
  }

  #giveBack(asker: Asker, connection: DuckDBConnection): void {
    const next = this.#turns.finish(asker);
    if (next === undefined) {
      this.#idle.push(connection);
      this.#finishClose();
    } else {
      next.resolve(connection);
    }
  }

  #finishClose(): void {
    if (this.#closed === undefined || this.#idle.length < this.#size) return;
    for (const connection of this.#idle) connection.closeSync();
    this.#closed.resolve();
  }
}

/** What calls after close are answered with. */
export function closedError(): AppError {
  return new AppError("unavailable", "Cannot use the usage store: it is closed", { retry_after_s: 1 });
}

function timeoutError(timeout_ms: number, cause?: unknown): AppError {
  return new AppError("unavailable", `Cannot query usage: the query ran over ${timeout_ms} ms; narrow it`, {
    retry_after_s: 1,
    cause,
  });
}

function memoryError(cause: unknown): AppError {
  return new AppError(
    "unavailable",
    "Cannot query usage: the query takes more memory than there is; narrow it",
    {
      retry_after_s: 1,
      cause,
    },
  );
}
