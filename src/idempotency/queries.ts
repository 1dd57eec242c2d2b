import { and, eq, lte, sql } from "drizzle-orm";
import type { StoredResponse, KeyedRequest } from "../app/claim.ts";
import { iso } from "../core/time.ts";
import { deleteBatch } from "../store/delete_batch.ts";
import { findRow, matching } from "../store/list_rows.ts";
import { keptStatement } from "../store/kept_statement.ts";
import type { Queries, Reads, Tx } from "../store/store.ts";
import type { FoundKey } from "./model.ts";
import { idempotencyKeyTable } from "./tables.ts";

/** How long a claim is leased for, and its key is kept. */
export interface Ttl {
  lease: Temporal.Duration;
  keep: Temporal.Duration;
}

const place = (name: string) => sql`${sql.placeholder(name)}`;

const claimKey = keptStatement((q) => {
  const t = q.use(idempotencyKeyTable);
  const fields = {
    digest: place("digest"),
    state: "in_progress" as const,
    claim: place("claim"),
    lease_until: place("lease_until"),
    target_type: null,
    target_id: null,
    answer: null,
    expires_at: place("expires_at"),
  };
  const request = {
    company_id: place("company_id"),
    owner_kind: place("owner_kind"),
    owner_id: place("owner_id"),
    method: place("method"),
    path: place("path"),
    key: place("key"),
  };
  const now = place("now");
  return q
    .insert(t)
    .values({ ...request, ...fields })
    .onConflictDoUpdate({
      target: [t.owner_kind, t.owner_id, t.method, t.path, t.key],
      set: fields,
      setWhere: sql`${t.expires_at} <= ${now} OR (${t.state} = 'in_progress' AND ${t.lease_until} <= ${now})`,
    })
    .returning({ id: t.id });
});

/** Claims a key that is new or expired, or whose lease has run out. Returns the row's id; null if it is taken. */
export async function insertClaim(
  q: Queries,
  { now, owner, ...request }: KeyedRequest,
  claim: string,
  { lease, keep }: Ttl,
): Promise<number | null> {
  const [row] = await claimKey(q, {
    ...request,
    owner_kind: owner.kind,
    owner_id: owner.id,
    claim,
    now: iso(now),
    lease_until: iso(now.add(lease)),
    expires_at: iso(now.add(keep)),
  });
  return row ? Number(row[0]) : null;
}

/** The row of a request's key. */
export async function findKey(
  q: Reads,
  { owner, method, path, key }: KeyedRequest,
): Promise<FoundKey | undefined> {
  const t = q.use(idempotencyKeyTable);
  const found = await findRow(q, t, {
    columns: {
      state: t.state,
      digest: t.digest,
      lease_until: t.lease_until,
      target_type: t.target_type,
      target_id: t.target_id,
      response: t.answer,
    },
    where: matching(t, { owner_kind: owner.kind, owner_id: owner.id, method, path, key }),
  });
  return found;
}

const commitClaim = keptStatement((q) => {
  const t = q.use(idempotencyKeyTable);
  return q
    .update(t)
    .set({ state: "committed", target_type: place("type"), target_id: place("target_id") })
    .where(and(eq(t.id, place("id")), eq(t.claim, place("claim"))))
    .returning({ id: t.id });
});

/** Marks the claim's change as committed. Returns whether the claim still holds the key. */
export async function updateCommitted(
  q: Queries,
  id: number,
  claim: string,
  { type, id: target_id }: { type: string; id: number | null },
): Promise<boolean> {
  return (await commitClaim(q, { id, claim, type, target_id })).length === 1;
}

const answerClaim = keptStatement((q) => {
  const t = q.use(idempotencyKeyTable);
  return q
    .update(t)
    .set({ state: "answered", answer: place("answer") })
    .where(and(eq(t.id, place("id")), eq(t.claim, place("claim"))));
});

/** Stores the claim's response; null: there was one that is not stored. */
export async function saveResponse(
  q: Queries,
  id: number,
  claim: string,
  answer: StoredResponse | null,
): Promise<void> {
  await answerClaim(q, { id, claim, answer: answer && JSON.stringify(answer) });
}

/** Releases a claim whose request changed nothing. */
export async function deleteClaim(q: Queries, id: number, claim: string): Promise<void> {
  const t = q.use(idempotencyKeyTable);
  await q.delete(t).where(and(eq(t.id, id), eq(t.claim, claim), eq(t.state, "in_progress")));
}

/** Releases the company's claims of a process that ended; responses to committed changes are lost. */
export async function endClaims({ q, scope }: Tx): Promise<void> {
  const t = q.use(idempotencyKeyTable);
  const inCompany = eq(t.company_id, scope.company_id);
  await q.delete(t).where(and(inCompany, eq(t.state, "in_progress")));
  await q
    .update(t)
    .set({ state: "answered" })
    .where(and(inCompany, eq(t.state, "committed")));
}

/** Deletes a batch of the keys that have expired. Returns how many. */
export function deleteExpired({ q, scope, now }: Tx, limit: number): Promise<number> {
  const t = q.use(idempotencyKeyTable);
  const where = and(eq(t.company_id, scope.company_id), lte(t.expires_at, iso(now)));
  return deleteBatch(q, t, t.id, { where, limit });
}
