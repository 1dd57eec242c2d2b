import { eq, lte } from "drizzle-orm";
import { iso } from "../../core/time.ts";
import { batchedRead } from "../../store/batched_read.ts";
import { deleteBatch } from "../../store/delete_batch.ts";
import { findRow } from "../../store/list_rows.ts";
import { oncePerDialect } from "../../store/once_per_dialect.ts";
import type { Queries, Reads } from "../../store/store.ts";
import { endedTokenTable } from "./tables.ts";

// A token is its holder's only credential: these queries have no scope.

const endedColumns = oncePerDialect((q) => ({ token_id: q.use(endedTokenTable).token_id }));

/** Whether a token was revoked before its expiry. */
export const isTokenEnded = batchedRead(async (q: Reads, token_id: string): Promise<boolean> => {
  const t = q.use(endedTokenTable);
  const ended = await findRow(q, t, { columns: endedColumns(q), where: eq(t.token_id, token_id) });
  return ended !== undefined;
});

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
