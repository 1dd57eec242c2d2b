import type { Constraints } from "./constraints.ts";
import type { Store } from "./store.ts";

/** Where the rows are: `database_url` on PostgreSQL, else the file `meterhouse.sqlite` in data_dir. */
export interface StoreLocation {
  database_url: string | null;
  data_dir: string;
  /** The operator's word that a fresh backup is there, for an upgrade that there is no way back from. */
  backed_up?: boolean;
  /** The name that sessions of PostgreSQL have. */
  session_name?: string;
  /** Whether SQLite's log is to be shipped, which leaves it to whoever does. */
  ships_log?: boolean;
  /** Whether SQLite may lose what it committed in a power cut, until it is closed: for what is then made anew. */
  is_scratch?: boolean;
}

/**
 * Opens the store and brings its tables up to date; `constraints` says what breaking one means to a caller. Only the
 * driver that is used is loaded.
 */
export async function openStore(location: StoreLocation, constraints: Constraints): Promise<Store> {
  if (location.database_url === null) {
    const { openSqlite } = await import("./sqlite.ts");
    return openSqlite(`${location.data_dir}/meterhouse.sqlite`, constraints, location);
  }
  const { openPostgres } = await import("./postgres.ts");
  return openPostgres(location.database_url, constraints, location);
}
