import { AsyncLocalStorage } from "node:async_hooks";
import postgres from "postgres";
import { bindToSpan } from "../core/trace.ts";
import { columnKit } from "./columns.ts";
import { postgresColumns } from "./columns.postgres.ts";
import type { Constraints } from "./constraints.ts";
import { openHandle } from "./transaction_handle.ts";
import { SessionLocks } from "./lock.postgres.ts";
import { observedTransaction } from "./metrics.ts";
import { migratePostgres } from "./migrate.postgres.ts";
import { retriesOf } from "./retries.postgres.ts";
import { Pools, runOn, watchSilence } from "./pools.postgres.ts";
import type { Queries, Store } from "./store.ts";

const kit = columnKit(postgresColumns);

const POOL = 10;
/** How long a connection may take to come about. */
const CONNECT_S = 5;
/** A lost connection is tried again after 0.1, 0.2, 0.4, 0.8 s and then every second. */
const backoff = (attempt: number) => Math.min(0.1 * 2 ** attempt, 1);
/**
 * No statement waits for a lock, or runs, for longer: a request must end. Nor does a transaction whose process hangs hold
 * up others for long.
 */
const SESSION = {
  TimeZone: "UTC",
  lock_timeout: 10_000,
  statement_timeout: 60_000,
  idle_in_transaction_session_timeout: 60_000,
};

/** How to open: the operator's word that a fresh backup is there, and the name of the process's sessions. */
export interface PostgresOptions {
  backed_up?: boolean | undefined;
  session_name?: string | undefined;
}

/** Opens (and migrates) a PostgreSQL database. */
export async function openPostgres(
  url: string,
  constraints: Constraints,
  { backed_up = false, session_name = "meterhouse" }: PostgresOptions = {},
): Promise<Store> {
  await migratePostgres(url, { backed_up });
  const connect = (onclose: () => void) =>
    postgres(url, {
      max: POOL,
      onclose,
      max_lifetime: null,
      onnotice: () => undefined,
      // No column is an array: a connection need not ask for the types that are.
      fetch_types: false,
      connection: { ...SESSION, application_name: session_name },
      connect_timeout: CONNECT_S,
      backoff,
    });
  const pools = new Pools(connect);
  const locks = new SessionLocks(url, backoff, session_name);
  const read = pools.reads(kit.use);
  const current = new AsyncLocalStorage<Queries>();
  const retried = retriesOf(constraints);

  const transaction = <T>(work: (q: Queries) => Promise<T>): Promise<T> =>
    pools.writer.database.transaction(
      async (connection) => {
        const handle = openHandle(connection, kit, runOn(connection));
        try {
          return await current.run(handle.q, () => work(handle.q));
        } finally {
          handle.end();
        }
      },
      { isolationLevel: "serializable" },
    );

  const endWatch = watchSilence(locks.ping, () => {
    pools.replace();
    locks.replace();
  });

  /** Transactions begun and not yet over. */
  let begun = 0;

  return {
    dialect: "postgres",
    read,
    read_at_once: read,
    async tx(work) {
      const outer = current.getStore();
      if (outer) return work(outer);
      begun++;
      return observedTransaction(() => {
        const inSpan = bindToSpan(work);
        return retried(() => transaction(inSpan));
      }).finally(() => begun--);
    },
    lock: locks.take,
    isLocked: locks.isTaken,
    stats: async () => ({ waiting: Math.max(0, begun - POOL), wal_bytes: null }),
    serverTime: () => readTime(pools.reader.sql),
    endSessions: (name) => endSessions(pools.reader.sql, name),
    // Its server checks its own pages when it reads them.
    check: async () => [],
    async ping() {
      await pools.reader.sql`SELECT 1`;
    },
    async close() {
      endWatch();
      await Promise.all([pools.close(), locks.close()]);
    },
  };
}

async function readTime(sql: postgres.Sql): Promise<Temporal.Instant> {
  const [row] = await sql`SELECT (extract(epoch FROM clock_timestamp()) * 1000)::bigint::text AS now_ms`;
  return Temporal.Instant.fromEpochMilliseconds(Number(row?.now_ms));
}

/** Of this user, in this database: more than that it may not. */
async function endSessions(sql: postgres.Sql, name: string): Promise<number> {
  const ended = await sql`
    SELECT pg_terminate_backend(pid) FROM pg_stat_activity
    WHERE application_name = ${name} AND datname = current_database() AND usename = current_user`;
  return ended.length;
}
