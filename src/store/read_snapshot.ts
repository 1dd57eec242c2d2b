import type { Database } from "bun:sqlite";

/**
 * One read transaction for all that a connection reads in a turn of the event loop. It ends when no promise is left to
 * go on, and when this process commits: a read sees everything that was committed before it could be asked for.
 * Beginning and ending one are two system calls, which take longer than most of our reads. Decision 0153.
 */
export class ReadSnapshot {
  readonly #connection: Database;
  #is_open = false;

  constructor(connection: Database) {
    this.#connection = connection;
  }

  /** Begins it, unless it is open. */
  begin(): void {
    if (this.#is_open) return;
    this.#connection.prepare("BEGIN").run();
    this.#is_open = true;
    // Runs once no promise is left to go on: before the event loop looks for what has arrived.
    process.nextTick(this.end);
  }

  /** Ends it, if it is open. */
  readonly end = (): void => {
    if (!this.#is_open) return;
    this.#is_open = false;
    // Some errors, such as one of the disk, have ended it.
    if (this.#connection.inTransaction) this.#connection.prepare("COMMIT").run();
  };
}
