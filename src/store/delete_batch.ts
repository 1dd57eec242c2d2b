import { inArray, type SQL } from "drizzle-orm";
import type { PgColumn, PgTable } from "drizzle-orm/pg-core";
import type { Queries } from "./store.ts";

/** Deletes at most `limit` rows, by their `key`, in `order` where one is given. Returns how many. */
export async function deleteBatch(
  q: Queries,
  table: PgTable,
  key: PgColumn,
  { where, order = [], limit }: { where?: SQL | undefined; order?: SQL[]; limit: number },
): Promise<number> {
  const batch = q
    .select({ key })
    .from(table)
    .where(where)
    .orderBy(...order)
    .limit(limit);
  return (await q.delete(table).where(inArray(key, batch)).returning({ key })).length;
}
