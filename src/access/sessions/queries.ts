import { eq, inArray, lte, sql } from "drizzle-orm";
import { iso } from "../../core/time.ts";
import { batchedRead } from "../../store/batched_read.ts";
import { preparedQuery } from "../../store/prepared_query.ts";
import type { Queries, Reads } from "../../store/store.ts";
import { endedTokenTable } from "./tables.ts";

// A token belongs to whoever holds it: what asks for it has no scope.

const endedById = preparedQuery<{ token_id: string }[]>("ended_token_by_id", (q) => {
  const t = q.use(endedTokenTable);
  return q
    .select({ token_id: t.token_id })
    .from(t)
    .where(eq(t.token_id, sql.placeholder("token_id")));
});

/** Whether a token was ended before its time. */
export const isTokenEnded = batchedRead(
  async (q: Reads, token_id: string): Promise<boolean> => (await endedById(q, { token_id })).length > 0,
);

/** Ends a token; one that is ended already stays so. */
export async function insertEndedToken(
  q: Queries,
  { token_id, expires_at }: { token_id: string; expires_at: Temporal.Instant },
): Promise<void> {
  await q
    .insert(q.use(endedTokenTable))
    .values({ token_id, expires_at: iso(expires_at) })
    .onConflictDoNothing();
}

/** Forgets some of the tokens that have expired by themselves. Returns how many. */
export async function deleteEndedTokensBefore(
  q: Queries,
  expired: Temporal.Instant,
  limit: number,
): Promise<number> {
  const t = q.use(endedTokenTable);
  const old = q
    .select({ id: t.token_id })
    .from(t)
    .where(lte(t.expires_at, iso(expired)))
    .limit(limit);
  return (await q.delete(t).where(inArray(t.token_id, old)).returning({ id: t.token_id })).length;
}
