import postgres from "postgres";
import type { IsLocked, Lock, TakeLock } from "./lock.ts";

/** Finds out within half a minute, on both sides, that the other machine is gone. */
const KEEPALIVE = { tcp_keepalives_idle: 10, tcp_keepalives_interval: 5, tcp_keepalives_count: 3 };

/** How long a connection may take to come about. */
const CONNECT_S = 5;

/** Locks that PostgreSQL keeps for a session of their own, and drops with it. */
export class SessionLocks {
  readonly #connect: () => postgres.Sql;
  #sql: postgres.Sql;
  /** What to call when a lock is lost; null while it is not taken yet, and once it is lost. */
  readonly #taken = new Map<string, (() => void) | null>();
  #closing = false;

  constructor(url: string, backoff: (attempt: number) => number, session_name: string) {
    this.#connect = () =>
      postgres(url, {
        max: 1,
        // A session that is replaced by itself would drop its locks.
        max_lifetime: null,
        idle_timeout: 0,
        connect_timeout: CONNECT_S,
        keep_alive: KEEPALIVE.tcp_keepalives_idle,
        backoff,
        onnotice: () => undefined,
        fetch_types: false,
        onclose: () => this.#lose(),
        connection: { ...KEEPALIVE, application_name: session_name },
      });
    this.#sql = this.#connect();
  }

  /** Whether the session answers; that it is spoken on keeps others from ending it for its silence. */
  readonly ping = async (): Promise<void> => {
    await this.#sql`SELECT 1`;
  };

  /** Gives the session up with all its locks, and begins another. */
  replace(): void {
    const lost = this.#sql;
    this.#sql = this.#connect();
    void lost.end({ timeout: 0 }).catch(() => undefined);
  }

  readonly take: TakeLock = async (name, onLost = () => undefined) => {
    if (this.#taken.has(name)) return null;
    this.#taken.set(name, null);
    const key = keyOf(name);
    let is_taken = false;
    try {
      const [row] = await this.#sql`SELECT pg_try_advisory_lock(${key}::bigint) AS is_taken`;
      is_taken = row?.is_taken === true;
    } finally {
      if (is_taken) this.#taken.set(name, onLost);
      else this.#taken.delete(name);
    }
    return is_taken ? this.#lock(name, key) : null;
  };

  /** By asking, not by taking it: whoever wants it meanwhile gets it. */
  readonly isTaken: IsLocked = async (name) => {
    const [row] = await this.#sql`
      SELECT EXISTS (
        SELECT FROM pg_locks
        WHERE locktype = 'advisory' AND granted AND objsubid = 1
          AND database = (SELECT oid FROM pg_database WHERE datname = current_database())
          AND (classid::bigint << 32 | objid::bigint) = ${keyOf(name)}::bigint
      ) AS is_taken`;
    return row?.is_taken === true;
  };

  #lock(name: string, key: string): Lock {
    return {
      release: async () => {
        const onLost = this.#taken.get(name);
        // The name is free here only when it is free there: another taker would hold it twice.
        if (onLost) await this.#sql`SELECT pg_advisory_unlock(${key}::bigint)`.catch(() => undefined);
        this.#taken.delete(name);
      },
    };
  }

  #lose(): void {
    if (this.#closing) return;
    for (const [name, onLost] of this.#taken) {
      this.#taken.set(name, null);
      onLost?.();
    }
  }

  async close(): Promise<void> {
    this.#closing = true;
    await this.#sql.end({ timeout: 1 });
  }
}

/** A name as PostgreSQL takes it: 64 bits, signed. */
function keyOf(name: string): string {
  return String(BigInt.asIntN(64, Bun.hash.xxHash64(`meterhouse ${name}`)));
}
