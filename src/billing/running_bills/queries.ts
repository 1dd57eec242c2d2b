import { and, asc, count, eq, gt, isNotNull, isNull, lt, lte, min, or, type SQL, sql } from "drizzle-orm";
import type { Amounts, Decimal } from "../../core/money.ts";
import { iso, type IsoInstant } from "../../core/time.ts";
import { amountsOf, idIn } from "../../store/expressions.ts";
import { insertRows } from "../../store/insert_rows.ts";
import { countRows } from "../../store/select_rows.ts";
import type { ReadTx, Reads, Tx } from "../../store/store.ts";
import { subscriptionTable } from "../subscriptions/tables.ts";
import type { RunningGroup } from "./model.ts";
import { runningBillTable } from "./tables.ts";

/** What is kept of a subscription. */
export interface KeptBill {
  readonly subscription_id: number;
  readonly currency: string;
  readonly amount: Decimal | null;
  readonly from: IsoInstant;
  readonly to: IsoInstant;
  readonly usage_until: IsoInstant;
  readonly usage_seq: number;
}

/** A subscription to look at. */
export interface DueBill {
  readonly id: number;
  /** What its bill is known to count, where usage alone may have made it out of date; else it is rated anyway. */
  readonly known: Pick<KeptBill, "from" | "to" | "usage_until" | "usage_seq"> | null;
}

/**
 * Subscriptions that run and whose bill is missing, of a period that has ended, older than a change of theirs, rated
 * before `stale`, or without the company's events up to `seq`; the longest waiting first.
 */
export async function listDueBills(
  { q, scope, now }: ReadTx,
  { seq, stale, limit }: { seq: number; stale: Temporal.Instant; limit: number },
): Promise<DueBill[]> {
  const t = q.use(runningBillTable);
  const subscriptions = q.use(subscriptionTable);
  const is_changed = gt(subscriptions.updated_at, t.rated_at);
  const is_due = or(isNull(t.id), lte(t.to, iso(now)), lt(t.rated_at, iso(stale)), is_changed);
  const rows = await q
    .select({
      id: subscriptions.id,
      is_due: sql<number>`CASE WHEN ${is_due} THEN 1 ELSE 0 END`.mapWith(Number),
      from: t.from,
      to: t.to,
      usage_until: t.usage_until,
      usage_seq: t.usage_seq,
    })
    .from(subscriptions)
    .leftJoin(t, eq(t.subscription_id, subscriptions.id))
    .where(and(isRunning({ q, scope, now }), or(is_due, lt(t.usage_seq, seq))))
    .orderBy(sql`CASE WHEN ${t.rated_at} IS NULL THEN 0 ELSE 1 END`, asc(t.rated_at), asc(subscriptions.id))
    .limit(limit);
  return rows.map(({ id, is_due: must, from, to, usage_until, usage_seq }) => {
    const is_missing = from === null || to === null || usage_until === null || usage_seq === null;
    return { id, known: must === 1 || is_missing ? null : { from, to, usage_until, usage_seq } };
  });
}

/** Writes what was rated, in place of what was known. */
export async function saveBills({ q, scope, now }: Tx, bills: readonly KeptBill[]): Promise<void> {
  const t = q.use(runningBillTable);
  await q.delete(t).where(and(eq(t.company_id, scope.company_id), idIn(t.subscription_id, bills.map(idOf))));
  const rows = bills.map((bill) => ({ ...bill, company_id: scope.company_id, rated_at: iso(now) }));
  await insertRows(q, t, rows, { returning: { id: t.id }, on_conflict_skip: [t.subscription_id] });
}

const idOf = ({ subscription_id }: KeptBill) => subscription_id;

/** Notes that bills without usage since are as of now. */
export async function confirmBills(
  { q, scope, now }: Tx,
  ids: readonly number[],
  usage_seq: number,
): Promise<void> {
  const t = q.use(runningBillTable);
  await q
    .update(t)
    .set({ usage_seq, usage_until: iso(now), rated_at: iso(now) })
    .where(and(eq(t.company_id, scope.company_id), idIn(t.subscription_id, ids), lt(t.usage_seq, usage_seq)));
}

/** Deletes the bills of subscriptions that have ended. */
export async function deleteEnded({ q, scope, now }: Tx): Promise<void> {
  const t = q.use(runningBillTable);
  const subscriptions = q.use(subscriptionTable);
  const ended = q
    .select({ id: subscriptions.id })
    .from(subscriptions)
    .where(and(eq(subscriptions.company_id, scope.company_id), lte(subscriptions.ends_at, iso(now))));
  await q.delete(t).where(and(eq(t.company_id, scope.company_id), sql`${t.subscription_id} IN ${ended}`));
}

/** What running periods come to, of one group. */
export interface Running {
  readonly key: number;
  readonly currency: string;
  readonly amounts: Amounts;
  readonly subscriptions: number;
  readonly as_of: IsoInstant | null;
}

/** The amounts of running periods, by currency and group; `ids`: of these groups only. */
export async function listRunning(
  tx: ReadTx,
  group_by: RunningGroup,
  ids?: readonly number[],
): Promise<Running[]> {
  const t = tx.q.use(runningBillTable);
  const subscriptions = tx.q.use(subscriptionTable);
  const keys = {
    client: subscriptions.client_id,
    product: subscriptions.product_id,
    subscription: subscriptions.id,
  };
  const key = keys[group_by];
  const sums = { amounts: amountsOf(t.amount), subscriptions: count(), as_of: min(t.rated_at) };
  return tx.q
    .select({ key, currency: t.currency, ...sums })
    .from(t)
    .innerJoin(subscriptions, eq(subscriptions.id, t.subscription_id))
    .where(
      and(
        isRunning(tx),
        gt(t.to, iso(tx.now)),
        isNotNull(t.amount),
        ids === undefined ? undefined : idIn(key, ids),
      ),
    )
    .groupBy(key, t.currency);
}

/** How many of the company's subscriptions run. */
export function countRunning(tx: ReadTx): Promise<number> {
  return countRows(tx.q, tx.q.use(subscriptionTable), isRunning(tx));
}

/** The companies with subscriptions that run. */
export async function listCompaniesWithRunning(q: Reads, now: Temporal.Instant): Promise<number[]> {
  const t = q.use(subscriptionTable);
  const rows = await q.selectDistinct({ company_id: t.company_id }).from(t).where(runs(q, now));
  return rows.map(({ company_id }) => company_id);
}

/** The company's subscriptions that run. */
export function isRunning({ q, scope, now }: ReadTx): SQL | undefined {
  return and(eq(q.use(subscriptionTable).company_id, scope.company_id), runs(q, now));
}

function runs(q: Reads, now: Temporal.Instant): SQL | undefined {
  const { started_at, ends_at } = q.use(subscriptionTable);
  return and(lte(started_at, iso(now)), or(isNull(ends_at), gt(ends_at, iso(now))));
}
