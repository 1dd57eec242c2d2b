import { eq, lte, sql } from "drizzle-orm";
import { iso } from "../../core/time.ts";
import { batchedRead } from "../../store/batched_read.ts";
import { deleteBatch } from "../../store/delete_batch.ts";
import { preparedQuery } from "../../store/prepared_query.ts";
import type { Queries, Reads } from "../../store/store.ts";
import { endedTokenTable } from "./tables.ts";

// A token is its holder's only credential: these queries have no scope.

const endedById = preparedQuery<{ token_id: string }[]>("ended_token_by_id", (q) => {
  const t = q.use(endedTokenTable);
  return q
    .select({ token_id: t.token_id })
    .from(t)
    .where(eq(t.token_id, sql.placeholder("token_id")));
});

/** Whether a token was revoked before its expiry. */
export const isTokenEnded = batchedRead(
  async (q: Reads, token_id: string): Promise<boolean> => (await endedById(q, { token_id })).length > 0,
);

/** Revokes a token; does nothing if it is revoked already. */
export async function insertEndedToken(
  q: Queries,
  { token_id, expires_at }: { token_id: string; expires_at: Temporal.Instant },
): Promise<void> {
  await q
    .insert(q.use(endedTokenTable))
    .values({ token_id, expires_at: iso(expires_at) })
    .onConflictDoNothing();
}

/** Deletes a batch of tokens that expired by an instant. Returns how many. */
export function deleteEndedTokensBefore(
  q: Queries,
  expired: Temporal.Instant,
  limit: number,
): Promise<number> {
  const t = q.use(endedTokenTable);
  return deleteBatch(q, t, t.token_id, { where: lte(t.expires_at, iso(expired)), limit });
}
