import { count, type SQL, sql } from "drizzle-orm";
import type { PgColumn, PgTable } from "drizzle-orm/pg-core";
import { selectRows } from "./select_rows.ts";
import type { Reads } from "./store.ts";

/**
 * How many rows a condition finds, counted up to `bound`, so that a million cost no more than that many. `order`: the
 * index to go by, which PostgreSQL else leaves aside where it expects to meet enough rows in the table itself.
 */
export async function countUpTo(
  q: Reads,
  table: PgTable,
  { where, order, bound }: { where: SQL | undefined; order: PgColumn; bound: number },
): Promise<number> {
  const some = sql`(SELECT 1 FROM ${table} WHERE ${where} ORDER BY ${order} LIMIT ${bound}) AS some_rows`;
  const [row] = await selectRows(q, some, { columns: { total: count() } });
  return row?.total ?? 0;
}
