import type { SQL } from "drizzle-orm";
import type { PgColumn } from "drizzle-orm/pg-core";

/** What a query selects, by field; a group of fields becomes an object of its own. */
export interface Selection {
  readonly [field: string]: PgColumn | SQL | SQL.Aliased | Selection;
}

/** A row, by what is selected. */
export type RowOf<F> = { -readonly [K in keyof F]: ValueOf<F[K]> };

type ValueOf<C> = C extends PgColumn
  ? C["_"]["notNull"] extends true
    ? C["_"]["data"]
    : C["_"]["data"] | null
  : C extends SQL<infer T> | SQL.Aliased<infer T>
    ? T
    : RowOf<C>;
