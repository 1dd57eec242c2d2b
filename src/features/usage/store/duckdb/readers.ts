import type { DuckDBConnection, DuckDBInstance } from "@duckdb/node-api";
import { AppError } from "../../../../core/errors.ts";

interface Waiting {
  resolve(connection: DuckDBConnection): void;
  reject(error: AppError): void;
}

/** A bounded pool of connections for questions, each with a time limit. */
export class Readers {
  readonly #idle: DuckDBConnection[];
  readonly #size: number;
  readonly #max_waiting: number;
  readonly #waiting = new Set<Waiting>();
  #closed: PromiseWithResolvers<void> | undefined;

  private constructor(connections: DuckDBConnection[], max_waiting: number) {
    this.#idle = connections;
    this.#size = connections.length;
    this.#max_waiting = max_waiting;
  }

  static async open(instance: DuckDBInstance, size: number, max_waiting: number): Promise<Readers> {
    const connections: DuckDBConnection[] = [];
    for (let i = 0; i < size; i++) connections.push(await instance.connect());
    return new Readers(connections, max_waiting);
  }

  /**
   * Runs `read` in a read transaction, so that its statements see one instant.
   * Errors: rate_limited when too many wait already; unavailable past `timeout_ms`, waiting included, and
   * after close.
   */
  async run<T>(timeout_ms: number, read: (connection: DuckDBConnection) => Promise<T>): Promise<T> {
    const started_ms = performance.now();
    const connection = await this.#take(timeout_ms);
    let late = false;
    const left_ms = timeout_ms - (performance.now() - started_ms);
    const timer = setTimeout(
      () => {
        late = true;
        connection.interrupt();
      },
      Math.max(left_ms, 0),
    );
    try {
      await connection.run("BEGIN TRANSACTION READ ONLY");
      const result = await read(connection);
      // An interrupt between two statements is lost: the late answer is refused all the same.
      if (late) throw timeoutError(timeout_ms);
      return result;
    } catch (error) {
      throw late ? timeoutError(timeout_ms, error) : error;
    } finally {
      clearTimeout(timer);
      // Ends the transaction, a failed one too. There is none when BEGIN itself failed.
      await connection.run("ROLLBACK").catch(() => undefined);
      this.#giveBack(connection);
    }
  }

  /** Refuses who waits, lets who runs finish, and closes the connections. */
  async close(): Promise<void> {
    if (this.#closed === undefined) {
      this.#closed = Promise.withResolvers<void>();
      for (const waiting of this.#waiting) waiting.reject(closedError());
      this.#waiting.clear();
      this.#finishClose();
    }
    await this.#closed.promise;
  }

  async #take(timeout_ms: number): Promise<DuckDBConnection> {
    if (this.#closed !== undefined) throw closedError();
    const connection = this.#idle.pop();
    if (connection !== undefined) return connection;
    if (this.#waiting.size >= this.#max_waiting) {
      throw new AppError("rate_limited", `Cannot query usage: ${this.#waiting.size} queries wait already`, {
        retry_after_s: 1,
      });
    }
    const { promise, resolve, reject } = Promise.withResolvers<DuckDBConnection>();
    const waiting: Waiting = { resolve, reject };
    this.#waiting.add(waiting);
    const timer = setTimeout(() => {
      this.#waiting.delete(waiting);
      reject(timeoutError(timeout_ms));
    }, timeout_ms);
    try {
      return await promise;
    } finally {
      clearTimeout(timer);
    }
  }

  #giveBack(connection: DuckDBConnection): void {
    const [next] = this.#waiting;
    if (next === undefined) {
      this.#idle.push(connection);
      this.#finishClose();
    } else {
      this.#waiting.delete(next);
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
