import { and, asc, desc, eq, gt, inArray, lte, type SQL, sum } from "drizzle-orm";
import type { Slice } from "../../core/pagination.ts";
import { iso, type IsoInstant } from "../../core/time.ts";
import { stamped } from "../../store/columns.ts";
import { exactlyOne } from "../../store/exactly_one.ts";
import type { ReadTx, Reads, Tx } from "../../store/store.ts";
import { subscriptionTable } from "../subscriptions/tables.ts";
import type { UnbilledUsage } from "./model.ts";
import { unbilledUsageCheckTable, unbilledUsageTable } from "./tables.ts";

/** Usage that no bill counts, still to be written down. */
export type NewUnbilled = Omit<UnbilledUsage, "id" | "company_id" | "created_at" | "updated_at">;

/** Usage that no bill counts, the latest found first, and how much there is in all. */
export async function listUnbilled(
  { q, scope }: ReadTx,
  { subscription_id }: { subscription_id?: number },
  { limit, offset }: Slice,
): Promise<{ rows: UnbilledUsage[]; total: number }> {
  const t = q.use(unbilledUsageTable);
  const where = and(
    eq(t.company_id, scope.company_id),
    subscription_id === undefined ? undefined : eq(t.subscription_id, subscription_id),
  );
  const rows = await q.select().from(t).where(where).orderBy(desc(t.id)).limit(limit).offset(offset);
  return { rows, total: await q.$count(t, where) };
}

/** The events of all companies that no bill counts, as far as they were found. */
export async function countUnbilledEvents(q: Reads): Promise<number> {
  const t = q.use(unbilledUsageTable);
  const [row] = await q.select({ events: sum(t.event_count) }).from(t);
  return Number(row?.events ?? 0);
}

/** Writes down what was found; returns null where the same is on record. */
export async function saveUnbilled(tx: Tx, found: NewUnbilled): Promise<UnbilledUsage | null> {
  const t = tx.q.use(unbilledUsageTable);
  const [existing] = await tx.q.select().from(t).where(isPlace(tx, found));
  if (!existing) {
    const row = { ...found, company_id: tx.scope.company_id, ...stamped(tx.now) };
    return exactlyOne(await tx.q.insert(t).values(row).returning());
  }
  const { units, event_count } = found;
  if (existing.units === units && existing.event_count === event_count) return null;
  const changed = { units, event_count, updated_at: iso(tx.now) };
  return exactlyOne(await tx.q.update(t).set(changed).where(eq(t.id, existing.id)).returning());
}

function isPlace({ q, scope }: ReadTx, { subscription_id, reason, from }: NewUnbilled): SQL | undefined {
  const t = q.use(unbilledUsageTable);
  return and(
    eq(t.company_id, scope.company_id),
    eq(t.subscription_id, subscription_id),
    eq(t.reason, reason),
    eq(t.from, from),
  );
}

/** Forgets the late usage of periods that were billed again: every event stored by then is counted. */
export async function deleteBilled(
  { q, scope }: Tx,
  records: readonly { subscription_id: number; billingStartAt: IsoInstant }[],
): Promise<void> {
  if (records.length === 0) return;
  const t = q.use(unbilledUsageTable);
  const rows = await q
    .select({ id: t.id, subscription_id: t.subscription_id, from: t.from })
    .from(t)
    .where(
      and(
        eq(t.company_id, scope.company_id),
        inArray(t.subscription_id, [...new Set(records.map(({ subscription_id }) => subscription_id))]),
        eq(t.reason, "late"),
      ),
    );
  const billed = new Set(records.map((record) => `${record.subscription_id} ${record.billingStartAt}`));
  const ids = rows.filter((row) => billed.has(`${row.subscription_id} ${row.from}`)).map(({ id }) => id);
  if (ids.length > 0) await q.delete(t).where(inArray(t.id, ids));
}

/** The company's subscriptions by id, after the one where the batch before ended. */
export async function listSubscriptionIds(
  { q, scope }: ReadTx,
  { after_id, limit }: { after_id: number; limit: number },
): Promise<number[]> {
  const t = q.use(subscriptionTable);
  const rows = await q
    .select({ id: t.id })
    .from(t)
    .where(and(eq(t.company_id, scope.company_id), gt(t.id, after_id)))
    .orderBy(asc(t.id))
    .limit(limit);
  return rows.map(({ id }) => id);
}

/** Those of the subscriptions that ended by `now`, and when. */
export async function listEnded(
  { q, scope, now }: ReadTx,
  ids: readonly number[],
): Promise<{ id: number; ends_at: IsoInstant }[]> {
  const t = q.use(subscriptionTable);
  const rows = await q
    .select({ id: t.id, ends_at: t.ends_at })
    .from(t)
    .where(and(eq(t.company_id, scope.company_id), inArray(t.id, [...ids]), lte(t.ends_at, iso(now))))
    .orderBy(asc(t.id));
  return rows.flatMap(({ id, ends_at }) => (ends_at === null ? [] : [{ id, ends_at }]));
}

/** Up to which event the company's usage was looked through for what no bill counts; null: never. */
export async function findChecked({ q, scope }: ReadTx): Promise<number | null> {
  const t = q.use(unbilledUsageCheckTable);
  const [row] = await q.select().from(t).where(eq(t.company_id, scope.company_id));
  return row?.usage_seq ?? null;
}

export async function setChecked({ q, scope }: Tx, usage_seq: number): Promise<void> {
  const t = q.use(unbilledUsageCheckTable);
  await q
    .insert(t)
    .values({ company_id: scope.company_id, usage_seq })
    .onConflictDoUpdate({ target: t.company_id, set: { usage_seq } });
}
