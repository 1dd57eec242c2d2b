import type { Database } from "bun:sqlite";
import { sqlState } from "./constraints.ts";
import { transactionRetries } from "./metrics.ts";

/** What shares a commit at most: so many transactions, begun within so many milliseconds. */
const GROUP = { size: 64, ms: 5 };

/** How long transactions wait for another process that writes, such as a command beside the server. */
const BUSY_MS = 5_000;

/** What the queue needs of a connection. */
export type Writer = Pick<Database, "inTransaction"> & { prepare(sql: string): { run(): unknown } };

/** A transaction in the queue. */
interface Waiting {
  /** Runs it, and returns what answers its caller. Never fails, unless SQLite has ended the whole group. */
  run: () => Promise<() => void>;
  fail: (error: unknown) => void;
}

/**
 * The queue before the one writer of a SQLite file. Transactions run one after the other, each behind a savepoint, and
 * those of one turn of the event loop share a durable commit (group commit). Decision 0154.
 */
export class CommitQueue {
  readonly #writer: Writer;
  readonly #bounds: { group_ms: number; busy_ms: number };
  readonly #committed: () => void;
  readonly #waiting: Waiting[] = [];
  readonly #pauses: (() => Promise<void>)[] = [];
  #draining: Promise<void> | null = null;

  /** `committed` is told of each commit before anyone else is. */
  constructor(
    writer: Writer,
    { group_ms = GROUP.ms, busy_ms = BUSY_MS, committed = (): void => undefined } = {},
  ) {
    this.#writer = writer;
    this.#bounds = { group_ms, busy_ms };
    this.#committed = committed;
  }

  /**
   * Runs `work` in its turn. Resolves once the commit is durable. Errors: those of `work`, which undo it alone; those of
   * the commit, which undo all that share it.
   */
  add<T>(work: () => Promise<T>): Promise<T> {
    return new Promise<T>((resolve, fail) => {
      this.#waiting.push({ run: () => this.#runAlone(work, resolve, fail), fail });
      this.#draining ??= this.#drain();
    });
  }

  /** Runs `work` between two groups: what was committed is durable, and nothing is under way. Others wait meanwhile. */
  pause<T>(work: () => Promise<T>): Promise<T> {
    return new Promise<T>((resolve, fail) => {
      this.#pauses.push(() => work().then(resolve, fail));
      this.#draining ??= this.#drain();
    });
  }

  /** How many transactions wait for their turn. */
  get waiting(): number {
    return this.#waiting.length;
  }

  /** Waits for the transactions that were added. */
  async idle(): Promise<void> {
    await this.#draining;
  }

  async #drain(): Promise<void> {
    while (this.#waiting.length > 0 || this.#pauses.length > 0) {
      await endOfTurn();
      await this.#pauses.shift()?.();
      if (this.#waiting.length === 0) continue;
      const group: Waiting[] = [];
      try {
        const answers = await this.#commit(group);
        for (const answer of answers) answer();
      } catch (error) {
        for (const { fail } of group) fail(error);
      }
    }
    this.#draining = null;
  }

  /** Runs and commits a group, which is filled with its members. Errors: those that end it for all of them. */
  async #commit(group: Waiting[]): Promise<(() => void)[]> {
    const at_first = this.#waiting.length;
    try {
      await this.#begin();
    } catch (error) {
      group.push(...this.#waiting.splice(0, at_first));
      throw error;
    }
    const answers: (() => void)[] = [];
    const until = performance.now() + this.#bounds.group_ms;
    try {
      do {
        const next = this.#waiting.shift();
        if (!next) break;
        group.push(next);
        answers.push(await next.run());
      } while (group.length < GROUP.size && performance.now() < until);
      this.#run("COMMIT");
      this.#committed();
      return answers;
    } catch (error) {
      if (this.#writer.inTransaction) this.#run("ROLLBACK");
      throw error;
    }
  }

  async #runAlone<T>(
    work: () => Promise<T>,
    resolve: (result: T) => void,
    fail: (error: unknown) => void,
  ): Promise<() => void> {
    this.#run("SAVEPOINT alone");
    try {
      const result = await work();
      this.#run("RELEASE alone");
      return () => resolve(result);
    } catch (error) {
      // Some errors, such as that of a full disk, make SQLite undo the whole transaction.
      if (!this.#writer.inTransaction) throw error;
      this.#run("ROLLBACK TO alone");
      this.#run("RELEASE alone");
      // Not before the commit either: what refused it may be a row of the same group.
      return () => fail(error);
    }
  }

  /** Begins a transaction. Errors: throws SQLITE_BUSY when another process writes for too long. */
  async #begin(): Promise<void> {
    const give_up = performance.now() + this.#bounds.busy_ms;
    for (let pause_ms = 1; ; pause_ms = Math.min(2 * pause_ms, 100)) {
      try {
        this.#run("BEGIN IMMEDIATE");
        return;
      } catch (error) {
        if (sqlState(error) !== "SQLITE_BUSY" || performance.now() > give_up) throw error;
      }
      transactionRetries.add();
      await Bun.sleep(pause_ms);
    }
  }

  #run(sql: string): void {
    this.#writer.prepare(sql).run();
  }
}

/** So that those that begin in this turn of the event loop are there, and answers go out between groups. */
function endOfTurn(): Promise<void> {
  return new Promise((resolve) => {
    setImmediate(resolve);
  });
}
