import { and, eq, getTableColumns, lt } from "drizzle-orm";
import { iso } from "../../core/time.ts";
import { stamped } from "../../store/columns.ts";
import { lastKey, raiseKey } from "../../store/key_sequences.ts";
import type { Queries, Reads } from "../../store/store.ts";
import { findRow } from "../../store/list_rows.ts";
import { companyTable } from "../../tenancy/companies/tables.ts";
import { subscriptionTable } from "../../billing/subscriptions/tables.ts";
import type { LastKeys } from "../../usage_store/identity.ts";
import { usageLinkTable } from "./tables.ts";

/** The database's record of its usage store. */
export async function findLink(q: Reads) {
  const link = await findRow(q, q.use(usageLinkTable), { columns: getTableColumns(q.use(usageLinkTable)) });
  return link;
}

/** Names the database, unless it has a name. */
export async function insertLink(q: Queries, now: Temporal.Instant, database_id: string): Promise<void> {
  const unknown = { store_id: null, opening_number: 0, opening_id: null, last_seq: 0, place: null };
  await q
    .insert(q.use(usageLinkTable))
    .values({ id: 1, database_id, ...unknown, ...stamped(now) })
    .onConflictDoNothing();
}

/** Makes the database another one, whose usage store is still to come and has events up to a number. */
export async function resetLink(
  q: Queries,
  now: Temporal.Instant,
  { database_id, last_seq }: { database_id: string; last_seq: number },
): Promise<void> {
  const t = q.use(usageLinkTable);
  await q.delete(t);
  const unknown = { store_id: null, opening_number: 0, opening_id: null, place: null };
  await q.insert(t).values({ id: 1, database_id, last_seq, ...unknown, ...stamped(now) });
}

/** Records the usage store that was opened with the database. */
export async function updateLink(
  q: Queries,
  now: Temporal.Instant,
  link: {
    store_id: string;
    opening_number: number;
    opening_id: string | null;
    last_seq: number;
    place: string;
  },
): Promise<void> {
  await q.update(q.use(usageLinkTable)).set({ ...link, updated_at: iso(now) });
}

/** Records the store's progress; returns whether this opening is still the last one. */
export async function updateProgress(
  q: Queries,
  now: Temporal.Instant,
  opening_id: string,
  last_seq: number,
): Promise<boolean> {
  const t = q.use(usageLinkTable);
  const rows = await q
    .update(t)
    .set({ last_seq, updated_at: iso(now) })
    .where(eq(t.opening_id, opening_id))
    .returning({ id: t.id });
  return rows.length > 0;
}

/** Records the progress of a store that several instances use, unless a later one is recorded. */
export async function raiseProgress(
  q: Queries,
  now: Temporal.Instant,
  store_id: string,
  last_seq: number,
): Promise<void> {
  const t = q.use(usageLinkTable);
  await q
    .update(t)
    .set({ last_seq, updated_at: iso(now) })
    .where(and(eq(t.store_id, store_id), lt(t.last_seq, last_seq)));
}

/** The highest keys that usage may be stored under. */
export async function findLastKeys(q: Reads): Promise<LastKeys> {
  const companies = q.use(companyTable);
  const subscriptions = q.use(subscriptionTable);
  return { company_id: await lastKey(q, companies), subscription_id: await lastKey(q, subscriptions) };
}

/** Raises the key sequences, so that the keys of stored usage are not used again. */
export async function raiseKeys(q: Queries, { company_id, subscription_id }: LastKeys): Promise<void> {
  await raiseKey(q, q.use(companyTable), company_id);
  await raiseKey(q, q.use(subscriptionTable), subscription_id);
}
