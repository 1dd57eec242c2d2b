import type { PgColumn } from "drizzle-orm/pg-core";

/** A row, by the selected columns. */
export type RowOf<F extends Record<string, PgColumn>> = {
  [K in keyof F]: F[K]["_"]["notNull"] extends true ? F[K]["_"]["data"] : F[K]["_"]["data"] | null;
};

/** The one row that a statement must have returned. Errors: throws when there is none or more than one. */
export function exactlyOne<T>(rows: T[]): T {
  const [row] = rows;
  if (row === undefined || rows.length > 1) throw new Error(`Expected one row, got ${rows.length}`);
  return row;
}
