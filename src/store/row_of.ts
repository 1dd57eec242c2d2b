import type { PgColumn } from "drizzle-orm/pg-core";

/** A row, by the selected columns. */
export type RowOf<F extends Record<string, PgColumn>> = {
  [K in keyof F]: F[K]["_"]["notNull"] extends true ? F[K]["_"]["data"] : F[K]["_"]["data"] | null;
};
