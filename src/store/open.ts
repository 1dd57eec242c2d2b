import type { Constraints } from "./constraints.ts";
import { openPostgres } from "./postgres.ts";
import { openSqlite } from "./sqlite.ts";
import type { Store } from "./store.ts";

/** Where the rows are: `database_url` on PostgreSQL, else the file `meterhouse.sqlite` in data_dir. */
export interface StoreLocation {
  database_url: string | null;
  data_dir: string;
}

/** Opens the store and brings its tables up to date; `constraints` says what breaking one means to a caller. */
export function openStore(location: StoreLocation, constraints: Constraints): Promise<Store> {
  return location.database_url === null
    ? openSqlite(`${location.data_dir}/meterhouse.sqlite`, constraints)
    : openPostgres(location.database_url, constraints);
}
