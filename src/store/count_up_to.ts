import { count, type SQL, sql } from "drizzle-orm";
import type { PgTable } from "drizzle-orm/pg-core";
import { selectRows } from "./select_rows.ts";
import type { Reads } from "./store.ts";

/** How many rows a condition finds, counted up to `bound`, so that a million cost no more than that many. */
export async function countUpTo(
  q: Reads,
  table: PgTable,
  { where, bound }: { where: SQL | undefined; bound: number },
): Promise<number> {
  const some = sql`(SELECT 1 FROM ${table} WHERE ${where} LIMIT ${bound}) AS some_rows`;
  const [row] = await selectRows(q, some, { columns: { total: count() } });
  return row?.total ?? 0;
}
