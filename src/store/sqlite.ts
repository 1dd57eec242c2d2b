import { AsyncLocalStorage } from "node:async_hooks";
import { Database, type SQLQueryBindings } from "bun:sqlite";
import { mkdirSync } from "node:fs";
import { stat } from "node:fs/promises";
import { dirname } from "node:path";
import { is, Placeholder } from "drizzle-orm";
import { drizzle } from "drizzle-orm/bun-sqlite";
import type { SQLiteSyncDialect } from "drizzle-orm/sqlite-core";
import { columnKit } from "./columns.ts";
import { sqliteColumns } from "./columns.sqlite.ts";
import { CommitQueue } from "./commit_queue.ts";
import { errorCode } from "../core/error_code.ts";
import { bindToSpan } from "../core/trace.ts";
import { type Constraints, constraintError } from "./constraints.ts";
import { ReadSnapshot } from "./read_snapshot.ts";
import { observedTransaction } from "./metrics.ts";
import { openHandle } from "./transaction_handle.ts";
import { ownLocks } from "./lock.ts";
import { quickCheck } from "./quick_check.ts";
import { logProblem } from "./sqlite_log.ts";
import { migrateSqlite } from "./migrate.sqlite.ts";
import type { Queries, Reads, Run, ShippedLog, Store } from "./store.ts";

const kit = columnKit(sqliteColumns);

/**
 * Opens (and makes, and migrates) the SQLite file. One writer behind a queue, one read-only connection. With `ships_log`
 * the log is left to whoever ships it; with `is_scratch` only its close waits for the disk.
 */
export async function openSqlite(
  file: string,
  constraints: Constraints,
  { ships_log = false, is_scratch = false }: { ships_log?: boolean; is_scratch?: boolean } = {},
): Promise<Store> {
  mkdirSync(dirname(file), { recursive: true });
  const problem = await logProblem(`${file}-wal`);
  if (problem !== null) throw Object.assign(new Error(problem), { code: "SQLITE_CORRUPT" });
  const writer = connect(file, { create: true, readwrite: true });
  writer.run("PRAGMA journal_mode = WAL");
  // FULL: an answered write survives a power cut, not only a crash of the process.
  writer.run(`PRAGMA synchronous = ${is_scratch ? "OFF" : "FULL"}`);
  // A checkpoint lets the next commit begin the log anew, over frames that were not shipped yet.
  if (ships_log) writer.run("PRAGMA wal_autocheckpoint = 0");
  migrateSqlite(writer);
  // What a savepoint may have to undo stays in memory: a file of its own for each costs more than most transactions.
  writer.run("PRAGMA temp_store = MEMORY");
  // From here on waiting for another process is done without holding up this one: see CommitQueue.
  writer.run("PRAGMA busy_timeout = 0");
  const reader = connect(file, { readonly: true });
  const snapshot = new ReadSnapshot(reader);

  const writes = builderOn(writer) as unknown as Parameters<typeof openHandle>[0];
  const read = Object.assign(builderOn(reader), {
    use: kit.use,
    run: runOn(reader, () => snapshot.begin()),
    reads_at_once: false,
  }) as unknown as Reads;
  const run = runOn(writer);
  const uniqueIndexes = readUniqueIndexes(writer);
  const current = new AsyncLocalStorage<Queries>();
  const locks = ownLocks();
  const commits = new CommitQueue(writer, { committed: snapshot.end });

  async function withHandle<T>(work: (q: Queries) => Promise<T>): Promise<T> {
    const handle = openHandle(writes, kit, run);
    try {
      return await current.run(handle.q, () => work(handle.q));
    } catch (error) {
      throw constraintError(error, constraints, (columns) => uniqueIndexes.get(columns)) ?? error;
    } finally {
      handle.end();
    }
  }

  return {
    dialect: "sqlite",
    read,
    read_at_once: Object.assign(Object.create(read), { reads_at_once: true }),
    tx(work) {
      const outer = current.getStore();
      if (outer) return work(outer);
      return observedTransaction(() => commits.add(bindToSpan(() => withHandle(work))));
    },
    lock: locks.take,
    isLocked: locks.isTaken,
    ...(ships_log ? { log: shippedLog(file, writer, commits, snapshot) } : {}),
    stats: async () => ({ waiting: commits.waiting, wal_bytes: await sizeOf(`${file}-wal`) }),
    serverTime: async () => null,
    endSessions: async () => 0,
    check: () => quickCheck(file),
    async ping() {
      reader.query("SELECT 1").get();
    },
    async close() {
      await commits.idle();
      snapshot.end();
      reader.close();
      writer.run("PRAGMA synchronous = FULL");
      // SQLite itself does it when the last connection closes; beside a server that ships the log nobody may.
      if (!ships_log) writer.run("PRAGMA wal_checkpoint(TRUNCATE)");
      writer.close();
    },
  };
}

function shippedLog(
  file: string,
  writer: Database,
  commits: CommitQueue,
  snapshot: ReadSnapshot,
): ShippedLog {
  const numberOf = (sql: string): number => Number(writer.prepare(sql).values()[0]?.[0]);
  return {
    path: `${file}-wal`,
    shipped_until_ms: null,
    pause: (work) => commits.pause(work),
    touch() {
      writer.run("BEGIN IMMEDIATE");
      writer.run(`PRAGMA user_version = ${numberOf("PRAGMA user_version")}`);
      writer.run("COMMIT");
    },
    truncate() {
      snapshot.end();
      return numberOf("PRAGMA wal_checkpoint(TRUNCATE)") === 0;
    },
    version: () => numberOf("PRAGMA data_version"),
  };
}

/**
 * The query builder of a connection. It writes a number as `+?`, which is the same value: SQLite looks into a plain
 * `?` to plan by it, and so would plan the statement anew each time that the value is set. Decision 0153.
 */
function builderOn(database: Database) {
  const builder = drizzle(database);
  const { dialect } = builder as unknown as { dialect: SQLiteSyncDialect };
  dialect.escapeParam = (_index: number, value?: unknown) =>
    typeof value === "number" || is(value, Placeholder) ? "+?" : "?";
  return builder;
}

/** The size of a file in bytes; 0 where there is none. */
async function sizeOf(file: string): Promise<number> {
  const found = await stat(file).catch((error: unknown) => {
    if (errorCode(error) === "ENOENT") return { size: 0 };
    throw error;
  });
  return found.size;
}

/** Runs queries by their text; their statements stay prepared. */
const runOn =
  (database: Database, before = (): void => undefined): Run =>
  async (text, values) => {
    before();
    return database.prepare(text).values(...(values as SQLQueryBindings[]));
  };

/** Statements that a connection keeps prepared. */
const STATEMENTS = 500;

/**
 * Lets a connection keep its most recently used statements prepared: the query builder prepares each one
 * anew, which costs more than running most of ours.
 */
function cacheStatements(database: Database): void {
  const statements = new Map<string, ReturnType<Database["prepare"]>>();
  const prepare = database.prepare.bind(database);
  database.prepare = ((sql: string) => {
    const statement = statements.get(sql) ?? prepare(sql);
    statements.delete(sql);
    statements.set(sql, statement);
    const [oldest] = statements.keys();
    if (statements.size > STATEMENTS && oldest !== undefined) statements.delete(oldest);
    return statement;
  }) as Database["prepare"];
  const close = database.close.bind(database);
  database.close = () => {
    // SQLite keeps its file open for as long as a statement lives.
    for (const statement of statements.values()) statement.finalize();
    close();
  };
}

function connect(
  file: string,
  options: { create?: boolean; readwrite?: boolean; readonly?: boolean },
): Database {
  const database = new Database(file, options);
  cacheStatements(database);
  database.run("PRAGMA busy_timeout = 5000");
  database.run("PRAGMA foreign_keys = ON");
  return database;
}

/** `subscriptions.company_id, subscriptions.external_subscription_id` → the name of that unique index. */
function readUniqueIndexes(database: Database): Map<string, string> {
  const rows = database
    .query<{ table_name: string; index_name: string; column_name: string }, []>(
      `SELECT t.name AS table_name, i.name AS index_name, c.name AS column_name
       FROM sqlite_master t, pragma_index_list(t.name) i, pragma_index_info(i.name) c
       WHERE t.type = 'table' AND i."unique" = 1 ORDER BY t.name, i.name, c.seqno`,
    )
    .all();
  const columns = new Map<string, string[]>();
  for (const row of rows) {
    const key = row.index_name;
    columns.set(key, [...(columns.get(key) ?? []), `${row.table_name}.${row.column_name}`]);
  }
  return new Map([...columns].map(([name, list]) => [list.join(", "), name]));
}
