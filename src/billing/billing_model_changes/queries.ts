import { and, asc, count, eq, gte, inArray, isNotNull, lte, ne, or, type SQL, sql } from "drizzle-orm";
import type { Slice } from "../../core/pagination.ts";
import { iso, type IsoInstant } from "../../core/time.ts";
import { stamped } from "../../store/columns.ts";
import { exactlyOne } from "../../store/exactly_one.ts";
import type { ReadTx, Reads, Tx } from "../../store/store.ts";
import { subscriptionTable } from "../subscriptions/tables.ts";
import type { BillingModelChange } from "./model.ts";
import { billingModelChangeTable } from "./tables.ts";

function changeColumns(q: Reads) {
  const t = q.use(billingModelChangeTable);
  const { id, subscription_id, old_billing_model_id, new_billing_model_id, kind, status } = t;
  const { effective_at, applied_at, cancelled_at, voided_at, requested_by, credits_added } = t;
  const { adjustment_billing_record_ids, last_error, attempts, created_at, updated_at } = t;
  return {
    id,
    subscription_id,
    old_billing_model_id,
    new_billing_model_id,
    kind,
    status,
    effective_at,
    applied_at,
    cancelled_at,
    voided_at,
    requested_by,
    credits_added,
    adjustment_billing_record_ids,
    last_error,
    attempts,
    created_at,
    updated_at,
  };
}

/** All changes of a subscription in the order in which they take effect, and how many there are. */
export async function listChanges(
  tx: ReadTx,
  subscription_id: number,
  { limit, offset }: Slice,
): Promise<{ rows: BillingModelChange[]; total: number }> {
  const t = tx.q.use(billingModelChangeTable);
  const where = ofSubscription(tx, subscription_id);
  const rows = await tx.q
    .select(changeColumns(tx.q))
    .from(t)
    .where(where)
    .orderBy(asc(t.effective_at), asc(t.id))
    .limit(limit)
    .offset(offset);
  return { rows, total: await tx.q.$count(t, where) };
}

/** The changes of a subscription that are not cancelled, in the order in which they take effect. */
export async function listTimelineChanges(
  tx: ReadTx,
  subscription_id: number,
): Promise<BillingModelChange[]> {
  const t = tx.q.use(billingModelChangeTable);
  const rows = await tx.q
    .select(changeColumns(tx.q))
    .from(t)
    .where(and(ofSubscription(tx, subscription_id), ne(t.status, "cancelled")))
    .orderBy(asc(t.effective_at));
  return rows;
}

/** A change of a subscription, whatever its status. */
export async function findChange(
  tx: ReadTx,
  subscription_id: number,
  id: number,
): Promise<BillingModelChange | undefined> {
  const t = tx.q.use(billingModelChangeTable);
  const [row] = await tx.q
    .select(changeColumns(tx.q))
    .from(t)
    .where(and(ofSubscription(tx, subscription_id), eq(t.id, id)));
  return row;
}

/** A step of a timeline. */
export interface AppliedChange {
  subscription_id: number;
  old_billing_model_id: number;
  new_billing_model_id: number;
  effective_at: IsoInstant;
}

/** The applied changes of many subscriptions, in the order in which they took effect: what bills go by. */
export async function listAppliedChanges(
  { q, scope }: ReadTx,
  subscription_ids: readonly number[],
  due_by?: IsoInstant,
): Promise<AppliedChange[]> {
  const t = q.use(billingModelChangeTable);
  const { subscription_id, old_billing_model_id, new_billing_model_id, effective_at } = t;
  const rows = await q
    .select({ subscription_id, old_billing_model_id, new_billing_model_id, effective_at })
    .from(t)
    .where(
      and(
        eq(t.company_id, scope.company_id),
        inArray(t.subscription_id, [...subscription_ids]),
        or(
          eq(t.status, "applied"),
          due_by === undefined ? undefined : and(eq(t.status, "scheduled"), lte(t.effective_at, due_by)),
        ),
      ),
    )
    .orderBy(asc(t.effective_at));
  return rows;
}

/** The next change of a subscription, and when it is tried at the earliest if it has failed before. */
export async function findNextChange(
  tx: ReadTx,
  subscription_id: number,
): Promise<(BillingModelChange & { next_attempt_at: IsoInstant | null }) | undefined> {
  const t = tx.q.use(billingModelChangeTable);
  const [row] = await tx.q
    .select({ ...changeColumns(tx.q), next_attempt_at: t.next_attempt_at })
    .from(t)
    .where(and(ofSubscription(tx, subscription_id), eq(t.status, "scheduled")))
    .orderBy(asc(t.effective_at))
    .limit(1);
  return row;
}

/** How many scheduled changes turn to a billing model. */
export async function countScheduledChangesTo(
  { q, scope }: ReadTx,
  billing_model_id: number,
): Promise<number> {
  const t = q.use(billingModelChangeTable);
  const [row] = await q
    .select({ changes: count() })
    .from(t)
    .where(
      and(
        eq(t.company_id, scope.company_id),
        eq(t.new_billing_model_id, billing_model_id),
        eq(t.status, "scheduled"),
      ),
    );
  return row?.changes ?? 0;
}

/** Whether any change, a cancelled one too, names the billing model. */
export async function isUsedByChange({ q, scope }: ReadTx, billing_model_id: number): Promise<boolean> {
  const t = q.use(billingModelChangeTable);
  const named = await q
    .select({ id: t.id })
    .from(t)
    .where(
      and(
        eq(t.company_id, scope.company_id),
        or(eq(t.old_billing_model_id, billing_model_id), eq(t.new_billing_model_id, billing_model_id)),
      ),
    )
    .limit(1);
  return named.length > 0;
}

/** A change still to be written. */
export type NewChange = Pick<
  BillingModelChange,
  | "subscription_id"
  | "old_billing_model_id"
  | "new_billing_model_id"
  | "kind"
  | "status"
  | "effective_at"
  | "requested_by"
  | "credits_added"
> & {
  /** An instant of the billing period whose end is meant by `effective_at`. */
  after_period_at?: IsoInstant | undefined;
};

/** Errors: invalid for an instant at which another change takes effect. */
export async function insertChange({ q, scope, now }: Tx, change: NewChange): Promise<BillingModelChange> {
  const rows = await q
    .insert(q.use(billingModelChangeTable))
    .values({
      ...change,
      after_period_at: change.after_period_at ?? null,
      company_id: scope.company_id,
      applied_at: change.status === "applied" ? iso(now) : null,
      cancelled_at: null,
      voided_at: null,
      adjustment_billing_record_ids: [],
      last_error: null,
      attempts: 0,
      next_attempt_at: null,
      ...stamped(now),
    })
    .returning(changeColumns(q));
  return exactlyOne(rows);
}

/** Applies a change if it is still scheduled; else returns nothing. */
export async function applyScheduledChange(
  tx: Tx,
  id: number,
  old_billing_model_id: number,
): Promise<BillingModelChange | undefined> {
  const t = tx.q.use(billingModelChangeTable);
  const applied = { applied_at: iso(tx.now), last_error: null, next_attempt_at: null };
  const [row] = await tx.q
    .update(t)
    .set({ status: "applied", old_billing_model_id, ...applied, updated_at: iso(tx.now) })
    .where(and(inCompany(tx), eq(t.id, id), eq(t.status, "scheduled")))
    .returning(changeColumns(tx.q));
  return row;
}

/** Takes those of these changes that are applied out of the timeline, by their ids; returns them. */
export async function voidAppliedChanges(tx: Tx, ids: readonly number[]): Promise<BillingModelChange[]> {
  const t = tx.q.use(billingModelChangeTable);
  const rows = await tx.q
    .update(t)
    .set({ status: "cancelled", cancelled_at: iso(tx.now), voided_at: iso(tx.now), updated_at: iso(tx.now) })
    .where(and(inCompany(tx), inArray(t.id, [...ids]), eq(t.status, "applied")))
    .returning(changeColumns(tx.q));
  return rows.toSorted((a, b) => a.id - b.id);
}

/** Names the adjustments that a change has made. */
export async function setAdjustments(
  tx: Tx,
  id: number,
  adjustment_billing_record_ids: number[],
): Promise<BillingModelChange> {
  const t = tx.q.use(billingModelChangeTable);
  const rows = await tx.q
    .update(t)
    .set({ adjustment_billing_record_ids })
    .where(and(inCompany(tx), eq(t.id, id)))
    .returning(changeColumns(tx.q));
  return exactlyOne(rows);
}

/** Writes down why a scheduled change could not be applied, and when it is tried again. */
export async function recordFailure(
  tx: Tx,
  id: number,
  failure: { last_error: string; attempts: number; next_attempt_at: IsoInstant },
): Promise<void> {
  const t = tx.q.use(billingModelChangeTable);
  await tx.q
    .update(t)
    .set({ ...failure, updated_at: iso(tx.now) })
    .where(and(inCompany(tx), eq(t.id, id), eq(t.status, "scheduled")));
}

/** Changes that wait for the end of a billing period: an instant of it, and the day on which periods start. */
export async function listChangesAfterPeriods(
  tx: ReadTx,
): Promise<{ change: BillingModelChange; after_period_at: IsoInstant; billing_anchor_day: number }[]> {
  const t = tx.q.use(billingModelChangeTable);
  const subscriptions = tx.q.use(subscriptionTable);
  const { after_period_at } = t;
  const { billing_anchor_day } = subscriptions;
  const rows = await tx.q
    .select({ change: changeColumns(tx.q), after_period_at, billing_anchor_day })
    .from(t)
    .innerJoin(subscriptions, eq(subscriptions.id, t.subscription_id))
    .where(and(inCompany(tx), sql`${t.status} = 'scheduled'`, isNotNull(after_period_at)))
    .orderBy(asc(t.id));
  return rows.flatMap(({ after_period_at: at, ...row }) =>
    at === null ? [] : [{ ...row, after_period_at: at }],
  );
}

/** The companies with changes that wait for the end of a billing period. */
export async function listCompaniesWaitingForPeriods(q: Reads): Promise<number[]> {
  const t = q.use(billingModelChangeTable);
  const waiting = and(sql`${t.status} = 'scheduled'`, isNotNull(t.after_period_at));
  const rows = await q.selectDistinct({ company_id: t.company_id }).from(t).where(waiting);
  return rows.map(({ company_id }) => company_id);
}

/** Says from which model a change takes over, or when; returns nothing of one that is cancelled. */
export async function updateChange(
  tx: Tx,
  id: number,
  change: { old_billing_model_id: number } | { effective_at: IsoInstant },
): Promise<BillingModelChange | undefined> {
  const t = tx.q.use(billingModelChangeTable);
  const [row] = await tx.q
    .update(t)
    .set({ ...change, updated_at: iso(tx.now) })
    .where(and(inCompany(tx), eq(t.id, id), ne(t.status, "cancelled")))
    .returning(changeColumns(tx.q));
  return row;
}

/** Cancels those changes of a subscription that are still scheduled: by their ids, or from an instant on. */
export async function cancelScheduledChanges(
  tx: Tx,
  subscription_id: number,
  which: { ids: readonly number[] } | { from: IsoInstant },
): Promise<BillingModelChange[]> {
  const t = tx.q.use(billingModelChangeTable);
  const rows = await tx.q
    .update(t)
    .set({ status: "cancelled", cancelled_at: iso(tx.now), next_attempt_at: null, updated_at: iso(tx.now) })
    .where(
      and(
        ofSubscription(tx, subscription_id),
        eq(t.status, "scheduled"),
        "ids" in which ? inArray(t.id, [...which.ids]) : gte(t.effective_at, which.from),
      ),
    )
    .returning(changeColumns(tx.q));
  return rows.toSorted((a, b) => a.id - b.id);
}

function inCompany({ q, scope }: ReadTx): SQL {
  const t = q.use(billingModelChangeTable);
  return eq(t.company_id, scope.company_id);
}

/** Whose subscription it is has been asked before: a client user reaches only its client's. */
function ofSubscription(tx: ReadTx, subscription_id: number): SQL | undefined {
  return and(inCompany(tx), eq(tx.q.use(billingModelChangeTable).subscription_id, subscription_id));
}
