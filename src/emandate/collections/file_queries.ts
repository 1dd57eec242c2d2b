import { and, asc, eq, gt, inArray, isNull, notInArray, or, type SQL, sql } from "drizzle-orm";
import type { Decimal } from "../../core/money.ts";
import { iso, type IsoInstant } from "../../core/time.ts";
import { companyOwned, filterOnly, idIn } from "../../store/expressions.ts";
import type { ReadTx, Reads, Tx } from "../../store/store.ts";
import { updateRows } from "../../store/update_rows.ts";
import { selectRows } from "../../store/select_rows.ts";
import { emandateCustomerTable } from "../customers/tables.ts";
import type { MandateStatus } from "../mandates/model.ts";
import { mandateTable } from "../mandates/tables.ts";
import type { MandateOrder } from "../orders/queries.ts";
import { nextQueryAt } from "../orders/rules.ts";
import { mandateOrderTable } from "../orders/tables.ts";
import { mandatePaymentTable } from "../payments/tables.ts";
import type { CollectionLine } from "../scheme/collection_file.ts";
import type { CollectionRun } from "./model.ts";
import { collectionRunTable } from "./tables.ts";

// Debits of a scheme that takes them by file: those in no file yet, and the lines of a run's file.

/** A debit that is in no file yet. */
export interface UnfiledOrder extends Pick<MandateOrder, "id" | "awaits" | "connector"> {
  readonly payment_id: number;
  /** Whether it was made outside of a run. */
  readonly is_by_hand: boolean;
  readonly submitted_at: IsoInstant;
}

/**
 * Debits that the scheme takes by file and that are in none: those made by hand since the last run, and those of
 * interrupted runs, whose files are not given out. By id, after `after_id`.
 */
export async function listUnfiled(
  { q, scope }: ReadTx,
  { after_id, limit, ids }: { after_id: number; limit: number; ids?: readonly number[] },
): Promise<UnfiledOrder[]> {
  const t = q.use(mandateOrderTable);
  const runs = q.use(collectionRunTable);
  const mandates = q.use(mandateTable);
  const interrupted = q
    .select({ id: runs.id })
    .from(runs)
    .where(and(companyOwned(runs, scope), eq(runs.status, "interrupted")));
  const rows = await q
    .select({
      id: t.id,
      payment_id: t.payment_id,
      run_id: t.collection_run_id,
      submitted_at: t.submitted_at,
      awaits: t.awaits,
      connector: t.connector,
    })
    .from(t)
    // Debits of mandates that may become active again wait until then.
    .innerJoin(mandates, and(eq(mandates.id, t.mandate_id), notInArray(mandates.status, [...ON_HOLD])))
    .where(
      and(
        companyOwned(t, scope),
        awaitsFile(q),
        or(isNull(t.collection_run_id), inArray(t.collection_run_id, interrupted)),
        gt(t.id, after_id),
        ids && idIn(t.id, ids),
      ),
    )
    .orderBy(asc(t.id))
    .limit(limit);
  return rows.flatMap(({ payment_id, run_id, ...order }) =>
    payment_id === null ? [] : [{ ...order, payment_id, is_by_hand: run_id === null }],
  );
}

const ON_HOLD = ["suspended", "pending_termination"] as const satisfies MandateStatus[];

/** Spelled as the partial index is, so that it is used. */
function awaitsFile(q: Reads): SQL | undefined {
  const t = q.use(mandateOrderTable);
  return and(sql`${t.awaits} = 'payment'`, sql`${t.connector} = 'fpx'`);
}

/** Sets the amounts of debits that were never sent to a bank, and of their payments. */
export async function setAmounts(
  { q, scope, now }: Tx,
  debits: readonly (Pick<UnfiledOrder, "id" | "payment_id"> & { amount: Decimal })[],
): Promise<void> {
  const t = q.use(mandateOrderTable);
  const payments = q.use(mandatePaymentTable);
  const updated_at = iso(now);
  await updateRows(
    q,
    t,
    debits.map(({ id, amount }) => ({ id, amount, updated_at })),
    { where: and(companyOwned(t, scope), awaitsFile(q)), returning: { id: t.id } },
  );
  await updateRows(
    q,
    payments,
    debits.map(({ payment_id: id, amount }) => ({ id, amount, updated_at })),
    { where: companyOwned(payments, scope), returning: { id: payments.id } },
  );
}

/** Assigns debits to the file of a run, which starts their wait for a result. */
export async function assignToRun(
  { q, scope, now }: Tx,
  run_id: number,
  ids: readonly number[],
): Promise<void> {
  if (ids.length === 0) return;
  const t = q.use(mandateOrderTable);
  const at = iso(now);
  const next = nextQueryAt("fpx", now, now);
  await q
    .update(t)
    .set({
      collection_run_id: run_id,
      awaits_since: at,
      next_query_at: next && iso(next),
      flagged_at: null,
      updated_at: at,
    })
    .where(and(idIn(t.id, ids), filterOnly(and(companyOwned(t, scope), eq(t.awaits, "payment")))));
}

/** The debits of a run by its connector as lines of its file, by id. */
export async function listRunLines(
  { q, scope }: ReadTx,
  { id: run_id, connector }: Pick<CollectionRun, "id" | "connector">,
  { after_id, limit }: { after_id: number; limit: number },
): Promise<(CollectionLine & { id: number })[]> {
  const t = q.use(mandateOrderTable);
  const mandates = q.use(mandateTable);
  const payments = q.use(mandatePaymentTable);
  const customers = q.use(emandateCustomerTable);
  const rows = await selectRows(q, t, {
    columns: {
      id: t.id,
      order_no: t.order_no,
      mandate_reference: mandates.reference,
      scheme_reference: mandates.scheme_reference,
      customer_name: customers.name,
      bank_code: mandates.bank_code,
      amount: t.amount,
      due_date: payments.due_date,
      description: payments.description,
    },
    joins: [
      [mandates, eq(mandates.id, t.mandate_id)],
      [payments, eq(payments.id, t.payment_id)],
      [customers, eq(customers.id, mandates.customer_id)],
    ],
    where: and(
      companyOwned(t, scope),
      eq(t.collection_run_id, run_id),
      filterOnly(eq(t.connector, connector)),
      gt(t.id, after_id),
    ),
    order: asc(t.id),
    limit,
  });
  return rows.map((row) => ({ ...row, currency: "MYR" }));
}
