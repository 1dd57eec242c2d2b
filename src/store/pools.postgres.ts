import type { PgDatabase, PgQueryResultHKT } from "drizzle-orm/pg-core";
import { drizzle, type PostgresJsDatabase } from "drizzle-orm/postgres-js";
import type postgres from "postgres";
import { withTimeout } from "../core/time.ts";
import type { Reads, Run } from "./store.ts";

/** A pool of connections, with the query builder on it. */
export interface Pool {
  sql: postgres.Sql;
  database: PostgresJsDatabase;
  run: Run;
}

/** How long transactions under way may take once their pool was left, and the pause between two new pools. */
const LEFT_S = 60;
const RENEW_MS = 1_000;

/** Two pools: a read inside a transaction must never wait for a transaction's slot. */
export class Pools {
  readonly #connect: (onclose: () => void) => postgres.Sql;
  #writer: Pool;
  #reader: Pool;
  #has_lost = false;
  #renewed_ms = 0;

  constructor(connect: (onclose: () => void) => postgres.Sql) {
    this.#connect = connect;
    this.#writer = this.#openWriter();
    this.#reader = this.#open(() => undefined);
  }

  get reader(): Pool {
    return this.#reader;
  }

  /**
   * For transactions. The driver writes the ROLLBACK of one whose connection broke to no socket, and can't use that
   * connection well again: so a pool that has lost one is left to what is under way on it.
   */
  get writer(): Pool {
    if (this.#has_lost && performance.now() - this.#renewed_ms > RENEW_MS) {
      const left = this.#writer;
      this.#renewed_ms = performance.now();
      this.#writer = this.#openWriter();
      void left.sql.end({ timeout: LEFT_S }).catch(() => undefined);
    }
    return this.#writer;
  }

  #openWriter(): Pool {
    this.#has_lost = false;
    const pool: Pool = this.#open(() => {
      if (this.#writer === pool) this.#has_lost = true;
    });
    return pool;
  }

  #open(onclose: () => void): Pool {
    const sql = this.#connect(onclose);
    const database = drizzle(sql);
    return { sql, database, run: runOn(database) };
  }

  /** Committed rows, by whichever pool is there. */
  reads(use: Reads["use"]): Reads {
    const delegate = (name: "select" | "selectDistinct" | "$count" | "with") => {
      return (...parameters: unknown[]) =>
        Reflect.apply(this.reader.database[name], this.reader.database, parameters);
    };
    const read = {
      select: delegate("select"),
      selectDistinct: delegate("selectDistinct"),
      $count: delegate("$count"),
      with: delegate("with"),
      use,
      run: (...query: Parameters<Run>) => this.reader.run(...query),
      reads_at_once: false,
    };
    return read;
  }

  /** Gives up every connection with what waits on it, and begins anew. */
  replace(): void {
    const lost = [this.#writer, this.#reader];
    this.#writer = this.#openWriter();
    this.#reader = this.#open(() => undefined);
    for (const { sql } of lost) void sql.end({ timeout: 0 }).catch(() => undefined);
  }

  async close(): Promise<void> {
    await Promise.all([this.#writer, this.#reader].map(({ sql }) => sql.end({ timeout: 1 })));
  }
}

/** Any name: the driver names a statement by its text. */
const NAMED = "kept";

const whole = (rows: unknown[][]) => rows;

/** Runs queries by their text, as a named statement where it comes again. */
export const runOn =
  ({ _: { session } }: PgDatabase<PgQueryResultHKT>): Run =>
  (sql, params, is_prepared) => {
    const query = { sql, params: [...params] };
    const prepared = session.prepareQuery(query, undefined, is_prepared ? NAMED : undefined, true, whole);
    return prepared.execute() as Promise<unknown[][]>;
  };

/** How often the server is spoken to, and how long it may take to answer nothing but `SELECT 1`. */
const PULSE_MS = 2_000;
const SILENT_MS = 8_000;

/**
 * Calls `onSilent` where a server does not answer any more and closes nothing either: paused, or behind a network that
 * drops everything. Whatever waits for it would wait for ever. Returns what ends the watch.
 */
export function watchSilence(ask: () => Promise<unknown>, onSilent: () => void): () => void {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const ended = new AbortController();
  const plan = (): void => {
    timer = setTimeout(() => void look(), PULSE_MS);
    timer.unref();
  };
  const look = async (): Promise<void> => {
    // A server that refuses is not silent.
    const answer = ask().then(
      () => true,
      () => true,
    );
    const is_silent = (await withTimeout(answer, SILENT_MS)) === null;
    if (ended.signal.aborted) return;
    if (is_silent) onSilent();
    plan();
  };
  plan();
  return () => {
    ended.abort();
    clearTimeout(timer);
  };
}
