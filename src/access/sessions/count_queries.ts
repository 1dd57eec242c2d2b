import { and, count, gt, lte, min, ne } from "drizzle-orm";
import { instant, iso } from "../../core/time.ts";
import { deleteBatch } from "../../store/delete_batch.ts";
import { textIn } from "../../store/expressions.ts";
import { insertRows } from "../../store/insert_rows.ts";
import type { Queries, Reads } from "../../store/store.ts";
import { signInCountTable } from "./tables.ts";

// What instances tell each other belongs to no company: these queries have no scope.

/** What still counts under a key, and when the first of it ends. */
export interface SignInCount {
  key_hash: string;
  count: number;
  first_end: Temporal.Instant;
}

/** Inserts what counts until an instant. */
export async function insertCounts(
  q: Queries,
  instance_id: string,
  counted: readonly { key_hash: string; until: Temporal.Instant }[],
): Promise<void> {
  const rows = counted.map(({ key_hash, until }) => ({ key_hash, instance_id, expires_at: iso(until) }));
  await insertRows(q, q.use(signInCountTable), rows);
}

/** What instances other than one have counted. */
export async function listCountsOfOthers(
  q: Reads,
  instance_id: string,
  key_hashes: readonly string[],
  now: Temporal.Instant,
): Promise<SignInCount[]> {
  const t = q.use(signInCountTable);
  const rows = await q
    .select({ key_hash: t.key_hash, count: count(), first_end: min(t.expires_at) })
    .from(t)
    .where(and(textIn(t.key_hash, key_hashes), gt(t.expires_at, iso(now)), ne(t.instance_id, instance_id)))
    .groupBy(t.key_hash);
  return rows.map(({ first_end, ...row }) => ({ ...row, first_end: instant(first_end ?? iso(now)) }));
}

/** Deletes a batch of what counts no more. Returns how many. */
export function deleteCountsBefore(q: Queries, expired: Temporal.Instant, limit: number): Promise<number> {
  const t = q.use(signInCountTable);
  return deleteBatch(q, t, t.id, { where: lte(t.expires_at, iso(expired)), limit });
}
