import { and, eq, gt, lte } from "drizzle-orm";
import { iso } from "../../core/time.ts";
import { deleteBatch } from "../../store/delete_batch.ts";
import { findRow } from "../../store/list_rows.ts";
import type { Queries, Reads, Tx } from "../../store/store.ts";
import { userLinkTable } from "./tables.ts";

/** Gives a user a link in place of the one before. */
export async function saveLink(
  { q, scope: { company_id } }: Tx,
  user_id: number,
  link: { token_hash: string; expires_at: string },
): Promise<void> {
  const t = q.use(userLinkTable);
  await q
    .insert(t)
    .values({ ...link, user_id, company_id })
    .onConflictDoUpdate({ target: t.user_id, set: link });
}

/** Takes the link that a user may have. */
export async function deleteLinkOf({ q, scope: { company_id } }: Tx, user_id: number): Promise<void> {
  const t = q.use(userLinkTable);
  await q.delete(t).where(and(eq(t.company_id, company_id), eq(t.user_id, user_id)));
}

/** Deletes a batch of the company's links that have expired. Returns how many. */
export function deleteExpiredLinks({ q, scope, now }: Tx, limit: number): Promise<number> {
  const t = q.use(userLinkTable);
  const where = and(eq(t.company_id, scope.company_id), lte(t.expires_at, iso(now)));
  return deleteBatch(q, t, t.id, { where, limit });
}

// A link's token is its holder's only credential: what looks by it has no scope.

/** A link that may be used. */
export async function findLink(q: Reads, { token_hash, now }: { token_hash: string; now: Temporal.Instant }) {
  const t = q.use(userLinkTable);
  const { user_id, expires_at } = t;
  const where = and(eq(t.token_hash, token_hash), gt(t.expires_at, iso(now)));
  return findRow(q, t, { columns: { user_id, expires_at }, where });
}

/** Uses a link up. Returns whose it was; undefined where another call was first, or it has expired. */
export async function takeLink(
  q: Queries,
  { token_hash, now }: { token_hash: string; now: Temporal.Instant },
): Promise<number | undefined> {
  const t = q.use(userLinkTable);
  const [taken] = await q
    .delete(t)
    .where(and(eq(t.token_hash, token_hash), gt(t.expires_at, iso(now))))
    .returning({ user_id: t.user_id });
  return taken?.user_id;
}
