import { and, asc, eq, gte, inArray, lte, ne, or, type SQL, sql } from "drizzle-orm";
import type { Slice } from "../../core/pagination.ts";
import { type IsoInstant, iso } from "../../core/time.ts";
import { stamped } from "../../store/columns.ts";
import { insertRow } from "../../store/insert_rows.ts";
import { exactlyOne } from "../../store/exactly_one.ts";
import { filterOnly, idIn } from "../../store/expressions.ts";
import { columnsOf, findRow, listRows } from "../../store/list_rows.ts";
import type { ReadTx, Reads, Tx } from "../../store/store.ts";
import { countRows, selectRows } from "../../store/select_rows.ts";
import { BillingModelChange } from "./model.ts";
import { billingModelChangeTable } from "./tables.ts";

export const changeColumns = (q: Reads) => columnsOf(q.use(billingModelChangeTable), BillingModelChange);

/** All changes of a subscription by effective time, and how many there are. */
export function listChanges(tx: ReadTx, subscription_id: number, slice: Slice) {
  const t = tx.q.use(billingModelChangeTable);
  const where = ofSubscription(tx, subscription_id);
  const order = sql`${asc(t.effective_at)}, ${asc(t.id)}`;
  return listRows(tx.q, t, { columns: changeColumns(tx.q), where, order, slice });
}

/** The changes of a subscription that are not cancelled, by effective time. */
export async function listTimelineChanges(
  tx: ReadTx,
  subscription_id: number,
): Promise<BillingModelChange[]> {
  const t = tx.q.use(billingModelChangeTable);
  const rows = await selectRows(tx.q, t, {
    columns: changeColumns(tx.q),
    where: and(ofSubscription(tx, subscription_id), ne(t.status, "cancelled")),
    order: asc(t.effective_at),
  });
  return rows;
}

/** A change of a subscription, whatever its status. */
export function findChange(
  tx: ReadTx,
  subscription_id: number,
  id: number,
): Promise<BillingModelChange | undefined> {
  const t = tx.q.use(billingModelChangeTable);
  return findRow(tx.q, t, {
    columns: changeColumns(tx.q),
    where: and(ofSubscription(tx, subscription_id), eq(t.id, id)),
  });
}

/** A step of a timeline. */
export type AppliedChange = Pick<
  BillingModelChange,
  "subscription_id" | "old_billing_model_id" | "new_billing_model_id" | "effective_at"
>;

/** The applied changes of subscriptions by effective time, with `due_by` also those scheduled until then. */
export async function listAppliedChanges(
  tx: ReadTx,
  subscription_ids: readonly number[],
  due_by?: IsoInstant,
): Promise<AppliedChange[]> {
  const t = tx.q.use(billingModelChangeTable);
  const { subscription_id, old_billing_model_id, new_billing_model_id, effective_at } = t;
  const is_due = due_by === undefined ? undefined : and(eq(t.status, "scheduled"), lte(effective_at, due_by));
  const counts = and(inCompany(tx), or(eq(t.status, "applied"), is_due));
  const rows = await selectRows(tx.q, t, {
    columns: { subscription_id, old_billing_model_id, new_billing_model_id, effective_at },
    where: and(idIn(subscription_id, subscription_ids), filterOnly(counts)),
    order: asc(effective_at),
  });
  return rows;
}

/** The next scheduled change of a subscription, and the earliest time of its next attempt after a failure. */
export async function findNextChange(
  tx: ReadTx,
  subscription_id: number,
): Promise<(BillingModelChange & { next_attempt_at: IsoInstant | null }) | undefined> {
  const t = tx.q.use(billingModelChangeTable);
  const row = await findRow(tx.q, t, {
    columns: { ...changeColumns(tx.q), next_attempt_at: t.next_attempt_at },
    where: and(ofSubscription(tx, subscription_id), eq(t.status, "scheduled")),
    order: asc(t.effective_at),
    limit: 1,
  });
  return row;
}

/** How many scheduled changes lead to a billing model. */
export function countScheduledChangesTo(tx: ReadTx, billing_model_id: number): Promise<number> {
  const t = tx.q.use(billingModelChangeTable);
  const where = and(inCompany(tx), eq(t.new_billing_model_id, billing_model_id), eq(t.status, "scheduled"));
  return countRows(tx.q, t, where);
}

/** Whether any change, a cancelled one too, names the billing model. */
export async function isUsedByChange(tx: ReadTx, billing_model_id: number): Promise<boolean> {
  const t = tx.q.use(billingModelChangeTable);
  const is_named = or(
    eq(t.old_billing_model_id, billing_model_id),
    eq(t.new_billing_model_id, billing_model_id),
  );
  const found = await selectRows(tx.q, t, {
    columns: { id: t.id },
    where: and(inCompany(tx), is_named),
    limit: 1,
  });
  return found.length > 0;
}

/** A change to insert. */
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
  /** Where `effective_at` means the end of a billing period: an instant of it. */
  after_period_at?: IsoInstant | undefined;
};

/** Errors: invalid for an instant at which another change takes effect. */
export async function insertChange({ q, scope, now }: Tx, change: NewChange): Promise<BillingModelChange> {
  const row = {
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
  };
  return insertRow(q, q.use(billingModelChangeTable), row, changeColumns(q));
}

/** Marks a change as applied if it is still scheduled; else returns nothing. */
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

/** Marks those of the changes that are applied as voided; returns them by id. */
export async function voidAppliedChanges(tx: Tx, ids: readonly number[]): Promise<BillingModelChange[]> {
  const t = tx.q.use(billingModelChangeTable);
  const rows = await tx.q
    .update(t)
    .set({ status: "cancelled", cancelled_at: iso(tx.now), voided_at: iso(tx.now), updated_at: iso(tx.now) })
    .where(and(inCompany(tx), inArray(t.id, [...ids]), eq(t.status, "applied")))
    .returning(changeColumns(tx.q));
  return rows.toSorted((a, b) => a.id - b.id);
}

/** Links a change to the adjustments that it caused. */
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

/** Records a failed attempt to apply a scheduled change. */
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

/** Updates a change unless it is cancelled; then returns nothing. */
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

/** Updates the model that each change takes over from. */
export async function updateOldModels(
  tx: Tx,
  relinked: readonly { id: number; old_billing_model_id: number }[],
): Promise<void> {
  for (const { id, old_billing_model_id } of relinked) await updateChange(tx, id, { old_billing_model_id });
}

/** Cancels those changes of a subscription that are still scheduled, by ids or from an instant on. */
export async function cancelScheduledChanges(
  tx: Tx,
  subscription_id: number,
  which: { ids: readonly number[] } | { from: IsoInstant },
): Promise<BillingModelChange[]> {
  const t = tx.q.use(billingModelChangeTable);
  const is_meant = "ids" in which ? inArray(t.id, [...which.ids]) : gte(t.effective_at, which.from);
  const rows = await tx.q
    .update(t)
    .set({ status: "cancelled", cancelled_at: iso(tx.now), next_attempt_at: null, updated_at: iso(tx.now) })
    .where(and(ofSubscription(tx, subscription_id), eq(t.status, "scheduled"), is_meant))
    .returning(changeColumns(tx.q));
  return rows.toSorted((a, b) => a.id - b.id);
}

function inCompany({ q, scope }: ReadTx): SQL {
  return eq(q.use(billingModelChangeTable).company_id, scope.company_id);
}

/** The changes of a subscription; callers have checked that it is in scope. */
function ofSubscription(tx: ReadTx, subscription_id: number): SQL | undefined {
  return and(inCompany(tx), eq(tx.q.use(billingModelChangeTable).subscription_id, subscription_id));
}
