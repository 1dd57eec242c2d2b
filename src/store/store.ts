import type { PgDatabase, PgQueryResultHKT } from "drizzle-orm/pg-core";
import { openPostgres } from "./postgres.ts";
import { openSqlite } from "./sqlite.ts";
import type { Tables } from "./tables.ts";

type Database = PgDatabase<PgQueryResultHKT>;

/** Reads rows. What only one dialect's driver has (row counts, raw execute) is left out on purpose. */
export type Reads = Pick<Database, "select" | "selectDistinct" | "$count" | "with"> & {
  readonly tables: Tables;
};

/** Reads and writes rows: what a transaction hands out. */
export type Queries = Reads & Pick<Database, "insert" | "update" | "delete">;

/** The transactional store, on SQLite or PostgreSQL. */
export interface Store {
  readonly dialect: "sqlite" | "postgres";
  /** Committed rows only, never those of a transaction still running. */
  readonly read: Reads;
  /**
   * Runs `work` in one transaction and commits when it resolves; a nested call joins the outer one. Inside
   * are only queries and pure functions, since on PostgreSQL it may run again after a serialization failure.
   * Errors: a broken constraint is thrown as the AppError that its table names (constraints.ts).
   */
  tx<T>(work: (q: Queries) => Promise<T>): Promise<T>;
  /** Whether the database answers. Errors: throws when it does not. */
  ping(): Promise<void>;
  close(): Promise<void>;
}

/** Where the rows are: `database_url` on PostgreSQL, else the file `meterhouse.sqlite` in data_dir. */
export interface StoreLocation {
  database_url: string | null;
  data_dir: string;
}

/** Opens the store and brings its tables up to date. */
export function openStore(location: StoreLocation): Promise<Store> {
  return location.database_url === null
    ? openSqlite(`${location.data_dir}/meterhouse.sqlite`)
    : openPostgres(location.database_url);
}
