import type { PgDatabase, PgQueryResultHKT } from "drizzle-orm/pg-core";
import type { Scope } from "../core/access.ts";
import type { ColumnKit } from "./columns.ts";
import type { IsLocked, TakeLock } from "./lock.ts";

type Database = PgDatabase<PgQueryResultHKT>;

/** Reads rows. What only one dialect's driver has (row counts, raw execute) is left out on purpose. */
export type Reads = Pick<Database, "select" | "selectDistinct" | "$count" | "with"> & {
  /** The table of a definition, in the dialect of this store. */
  readonly use: ColumnKit["use"];
  /**
   * Runs the text of a query and gives the driver's values of each row. `is_prepared`: the text comes again and again.
   * Families use `selectRows`, `insertRow` and `insertRows`.
   */
  readonly run: Run;
  /** Whether it waits for no others to share a read: a transaction, which others may wait for, and `read_at_once`. */
  readonly reads_at_once: boolean;
};

export type Run = (text: string, values: readonly unknown[], is_prepared: boolean) => Promise<unknown[][]>;

/** Reads and writes rows: what a transaction hands out. */
export type Queries = Reads & Pick<Database, "insert" | "update" | "delete">;

/** What a query that reads needs: the connection, whose rows it may see, and the time of the call. */
export interface ReadTx<S = Scope> {
  readonly q: Reads;
  readonly scope: S;
  readonly now: Temporal.Instant;
}

/** A caller's transaction: what a query that writes needs. */
export interface Tx<S = Scope> extends ReadTx<S> {
  readonly q: Queries;
}

/** How busy the store is. */
export interface StoreState {
  /** Transactions that wait for their turn: behind the one writer of SQLite, or for a connection to PostgreSQL. */
  waiting: number;
  /** The size of SQLite's write-ahead log; null on PostgreSQL, whose server keeps its own. */
  wal_bytes: number | null;
}

/**
 * SQLite's log of a store that is opened to ship it: nothing checkpoints it but `truncate`. All of it but `pause` runs
 * while paused. Decision 0181.
 */
export interface ShippedLog {
  /** The file. */
  readonly path: string;
  /** Runs `work` while no transaction is under way and all that was committed is durable. */
  pause<T>(work: () => Promise<T>): Promise<T>;
  /** Commits what changes nothing, so that the log has a frame. Errors: throws while another process writes. */
  touch(): void;
  /** Checkpoints the log and empties its file. Returns whether nobody was in the way. */
  truncate(): boolean;
  /** A number that changes with each commit of another connection, and with none of this store. */
  version(): number;
  /** Unix ms up to which what was committed is shipped; null: nothing yet. For metrics. */
  shipped_until_ms: number | null;
}

/** The transactional store, on SQLite or PostgreSQL. */
export interface Store {
  readonly dialect: "sqlite" | "postgres";
  /** Committed rows only, never those of a transaction still running. */
  readonly read: Reads;
  /**
   * The same for a request with a large answer. On SQLite it is ready in the turn in which the request came: Bun sends
   * a later one in a dozen pieces. Decision 0155.
   */
  readonly read_at_once: Reads;
  /**
   * Runs `work` in one transaction and commits when it resolves; a nested call joins the outer one. Inside
   * are only queries and pure functions, since on PostgreSQL it may run again after a serialization failure.
   * Errors: a broken constraint is thrown as the AppError that its table names (constraints.ts).
   */
  tx<T>(work: (q: Queries) => Promise<T>): Promise<T>;
  readonly lock: TakeLock;
  readonly isLocked: IsLocked;
  /** On SQLite, where it is opened to ship its log. */
  readonly log?: ShippedLog;
  stats(): Promise<StoreState>;
  /** The time of the database server, by a clock of its own; null where there is none. Errors: as `ping`. */
  serverTime(): Promise<Temporal.Instant | null>;
  /**
   * Ends the sessions that a process opened under a name, with their locks and transactions, on PostgreSQL; returns how
   * many there were. For a process that hangs.
   */
  endSessions(name: string): Promise<number>;
  /** What is wrong with the structure of the database's file: nothing, or the first problems. It reads all of it. */
  check(): Promise<string[]>;
  /** Whether the database answers. Errors: throws when it does not. */
  ping(): Promise<void>;
  close(): Promise<void>;
}
