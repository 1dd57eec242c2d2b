import { and, eq, inArray, lte, sql } from "drizzle-orm";
import type { StoredResponse, KeyedRequest } from "../app/claim.ts";
import { iso } from "../core/time.ts";
import type { Queries, Reads, Tx } from "../store/store.ts";
import type { FoundKey } from "./model.ts";
import { idempotencyKeyTable } from "./tables.ts";

/** How long a claim is believed to be alive, and its key is remembered. */
export interface Ttl {
  lease: Temporal.Duration;
  keep: Temporal.Duration;
}

/** Claims a key that is new or expired, or whose claim has died. Returns the row's id, null when it is taken. */
export async function insertClaim(
  q: Queries,
  { now, owner, ...request }: KeyedRequest,
  claim: string,
  { lease, keep }: Ttl,
): Promise<number | null> {
  const t = q.use(idempotencyKeyTable);
  const anew = {
    digest: request.digest,
    state: "in_progress" as const,
    claim,
    lease_until: iso(now.add(lease)),
    target_type: null,
    target_id: null,
    answer: null,
    expires_at: iso(now.add(keep)),
  };
  const rows = await q
    .insert(t)
    .values({ ...request, ...anew, owner_kind: owner.kind, owner_id: owner.id })
    .onConflictDoUpdate({
      target: [t.owner_kind, t.owner_id, t.method, t.path, t.key],
      set: anew,
      setWhere: sql`${t.expires_at} <= ${iso(now)} OR (${t.state} = 'in_progress' AND ${t.lease_until} <= ${iso(now)})`,
    })
    .returning({ id: t.id });
  return rows[0]?.id ?? null;
}

/** The key of a request as it stands. */
export async function findKey(
  q: Reads,
  { owner, method, path, key }: KeyedRequest,
): Promise<FoundKey | undefined> {
  const t = q.use(idempotencyKeyTable);
  const [found] = await q
    .select({
      state: t.state,
      digest: t.digest,
      lease_until: t.lease_until,
      target_type: t.target_type,
      target_id: t.target_id,
      response: t.answer,
    })
    .from(t)
    .where(
      and(
        eq(t.owner_kind, owner.kind),
        eq(t.owner_id, owner.id),
        eq(t.method, method),
        eq(t.path, path),
        eq(t.key, key),
      ),
    );
  return found;
}

/** Says that the claim's change is on record. Returns whether the claim still holds the key. */
export async function updateCommitted(
  q: Queries,
  id: number,
  claim: string,
  target: { type: string; id: number | null },
): Promise<boolean> {
  const t = q.use(idempotencyKeyTable);
  const rows = await q
    .update(t)
    .set({ state: "committed", target_type: target.type, target_id: target.id })
    .where(and(eq(t.id, id), eq(t.claim, claim)))
    .returning({ id: t.id });
  return rows.length === 1;
}

/** Keeps the claim's answer; without one it only says that there was one. */
export async function saveResponse(
  q: Queries,
  id: number,
  claim: string,
  answer: StoredResponse | null,
): Promise<void> {
  const t = q.use(idempotencyKeyTable);
  await q
    .update(t)
    .set({ state: "answered", answer })
    .where(and(eq(t.id, id), eq(t.claim, claim)));
}

/** Gives a claim up whose request changed nothing. */
export async function deleteClaim(q: Queries, id: number, claim: string): Promise<void> {
  const t = q.use(idempotencyKeyTable);
  await q.delete(t).where(and(eq(t.id, id), eq(t.claim, claim), eq(t.state, "in_progress")));
}

/** Ends the company's claims whose process is gone: what was not committed was not done, other answers are lost. */
export async function endClaims({ q, scope }: Tx): Promise<void> {
  const t = q.use(idempotencyKeyTable);
  const inCompany = eq(t.company_id, scope.company_id);
  await q.delete(t).where(and(inCompany, eq(t.state, "in_progress")));
  await q
    .update(t)
    .set({ state: "answered" })
    .where(and(inCompany, eq(t.state, "committed")));
}

/** Deletes some of the keys that have expired. Returns how many. */
export async function deleteExpired({ q, scope, now }: Tx, limit: number): Promise<number> {
  const t = q.use(idempotencyKeyTable);
  const expired = q
    .select({ id: t.id })
    .from(t)
    .where(and(eq(t.company_id, scope.company_id), lte(t.expires_at, iso(now))))
    .limit(limit);
  return (await q.delete(t).where(inArray(t.id, expired)).returning({ id: t.id })).length;
}
