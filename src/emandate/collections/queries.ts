import {
  and,
  asc,
  desc,
  eq,
  gt,
  inArray,
  isNotNull,
  isNull,
  lt,
  notInArray,
  or,
  type SQL,
  sql,
} from "drizzle-orm";
import type { Decimal } from "../../core/money.ts";
import type { Slice } from "../../core/pagination.ts";
import { iso, type IsoInstant } from "../../core/time.ts";
import { stamped } from "../../store/columns.ts";
import { filterOnly, idIn, companyOwned } from "../../store/expressions.ts";
import { exactlyOne } from "../../store/exactly_one.ts";
import type { Queries, ReadTx, Reads, Tx } from "../../store/store.ts";
import { updateRows } from "../../store/update_rows.ts";
import { emandateCustomerTable } from "../customers/tables.ts";
import type { MandateOrder } from "../orders/queries.ts";
import { nextQueryAt } from "../orders/rules.ts";
import { mandateOrderTable } from "../orders/tables.ts";
import { listDuePayments } from "../payments/open_queries.ts";
import type { DueMandate } from "../payments/plan_payments.ts";
import { OPEN_STATUSES } from "../payments/rules.ts";
import { mandatePaymentTable } from "../payments/tables.ts";
import type { MandateStatus } from "../mandates/model.ts";
import type { CollectionLine } from "../scheme/collection_file.ts";
import { mandateTable } from "../mandates/tables.ts";
import type { CollectionRun } from "./model.ts";
import { collectionRunTable } from "./tables.ts";
import { type ConnectorName, CONNECTORS } from "../scheme/connector.ts";

/** Errors: conflict while another run of the company goes on. */
export async function insertRun(
  { q, scope: { company_id }, now }: Tx,
  run: Pick<CollectionRun, "connector" | "date" | "requested_by" | "counts" | "error">,
): Promise<CollectionRun> {
  const begun = { status: "running" as const, finished_at: null };
  const rows = await q
    .insert(q.use(collectionRunTable))
    .values({ ...run, ...begun, company_id, ...stamped(now) })
    .returning();
  return exactlyOne(rows);
}

/** Writes how far a run is, or how it ended; returns whether it was still running. */
export async function updateRun(
  q: Queries,
  { id, status, counts, error, finished_at, updated_at }: CollectionRun,
): Promise<boolean> {
  const t = q.use(collectionRunTable);
  const rows = await q
    .update(t)
    .set({ status, counts, error, finished_at, updated_at })
    .where(and(eq(t.id, id), eq(t.status, "running")))
    .returning({ id: t.id });
  return rows.length > 0;
}

/** Ends the company's runs that say they are running. Whoever calls it holds the lock of runs: nobody runs them. */
export async function interruptRuns({ q, scope, now }: Tx): Promise<void> {
  const t = q.use(collectionRunTable);
  await q
    .update(t)
    .set({ status: "interrupted", finished_at: iso(now), updated_at: iso(now) })
    .where(and(companyOwned(t, scope), eq(t.status, "running")));
}

/** Runs, newest first, and how many there are in all. */
export async function listRuns(
  { q, scope }: ReadTx,
  { limit, offset }: Slice,
): Promise<{ rows: CollectionRun[]; total: number }> {
  const t = q.use(collectionRunTable);
  const where = companyOwned(t, scope);
  const rows = await q.select().from(t).where(where).orderBy(desc(t.id)).limit(limit).offset(offset);
  return { rows, total: await q.$count(t, where) };
}

export async function findRun({ q, scope }: ReadTx, id: number): Promise<CollectionRun | undefined> {
  const t = q.use(collectionRunTable);
  const [row] = await q
    .select()
    .from(t)
    .where(and(companyOwned(t, scope), eq(t.id, id)));
  return row;
}

/** Active mandates that are debited by one of these and collected by `before`, the longest due first. */
export async function listDueMandates(
  { q, scope }: ReadTx,
  { before, connectors, limit }: { before: IsoInstant; connectors: readonly ConnectorName[]; limit: number },
): Promise<DueMandate[]> {
  const t = q.use(mandateTable);
  const { id, frequency, anchor_date, expiry_date, next_collection_at, bankscheme_txn_amount } = t;
  const rows = await q
    .select({ id, frequency, anchor_date, expiry_date, next_collection_at, amount: bankscheme_txn_amount })
    .from(t)
    .where(
      and(
        companyOwned(t, scope),
        eq(t.status, "active"),
        lt(next_collection_at, before),
        isNotNull(bankscheme_txn_amount),
        inArray(t.connector, [...connectors]),
      ),
    )
    .orderBy(asc(next_collection_at), asc(id))
    .limit(limit);
  return rows.flatMap(({ amount, next_collection_at: next, ...row }) =>
    amount === null || next === null ? [] : [{ ...row, amount, next_collection_at: next }],
  );
}

/** Whether a run would find anything to do by `before`; mandates count only where it `collects` them. */
export async function isAnythingDue(tx: ReadTx, before: IsoInstant, collects: boolean): Promise<boolean> {
  const due = { before, connectors: CONNECTORS, limit: 1 };
  if (collects && (await listDueMandates(tx, due)).length > 0) return true;
  const where = { before, after: undefined, usable: CONNECTORS, collects, limit: 1 };
  for (const status of OPEN_STATUSES) {
    if ((await listDuePayments(tx, status, where)).length > 0) return true;
  }
  return (await listUnfiled(tx, { after_id: 0, limit: 1 })).length > 0;
}

/** Says when mandates are collected next that stand as they were read, and so were collected by nobody else. */
export async function advanceMandates(
  { q, scope, now }: Tx,
  ids: readonly number[],
  { was, next }: { was: IsoInstant; next: IsoInstant | null },
): Promise<number[]> {
  const t = q.use(mandateTable);
  const rows = await q
    .update(t)
    .set({ next_collection_at: next, updated_at: iso(now) })
    .where(
      and(
        idIn(t.id, ids),
        filterOnly(and(companyOwned(t, scope), eq(t.status, "active"), eq(t.next_collection_at, was))),
      ),
    )
    .returning({ id: t.id });
  return rows.map(({ id }) => id);
}

/** A debit that stands in no file. */
export interface UnfiledOrder extends Pick<MandateOrder, "id" | "awaits" | "connector"> {
  readonly payment_id: number;
  /** Whether no run has made it. */
  readonly is_by_hand: boolean;
  readonly submitted_at: IsoInstant;
}

/**
 * Debits that the scheme takes by file and that stand in the file of no run: those made by hand since the last one,
 * and those of runs that were interrupted, whose file nobody gets. By id, from `after_id` on.
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
    // A mandate that rests may be debited again; then its debit goes out.
    .innerJoin(mandates, and(eq(mandates.id, t.mandate_id), notInArray(mandates.status, [...RESTING])))
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

const RESTING = ["suspended", "pending_termination"] as const satisfies MandateStatus[];

/** As the index has it, so that it is used. */
function awaitsFile(q: Reads): SQL | undefined {
  const t = q.use(mandateOrderTable);
  return and(sql`${t.awaits} = 'payment'`, sql`${t.connector} = 'fpx'`);
}

/** Lets debits of which no bank has heard take other amounts, with their payments. */
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

/** Writes debits into the file of a run: what they await counts from then on. */
export async function fileOrders(
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

/** The debits of a run as lines of its file, those of one connector, in the order in which they were made. */
export async function listRunLines(
  { q, scope }: ReadTx,
  { id: run_id, connector }: Pick<CollectionRun, "id" | "connector">,
  { after_id, limit }: { after_id: number; limit: number },
): Promise<(CollectionLine & { id: number })[]> {
  const t = q.use(mandateOrderTable);
  const mandates = q.use(mandateTable);
  const payments = q.use(mandatePaymentTable);
  const customers = q.use(emandateCustomerTable);
  const rows = await q
    .select({
      id: t.id,
      order_no: t.order_no,
      mandate_reference: mandates.reference,
      scheme_reference: mandates.scheme_reference,
      customer_name: customers.name,
      bank_code: mandates.bank_code,
      amount: t.amount,
      due_date: payments.due_date,
      description: payments.description,
    })
    .from(t)
    .innerJoin(mandates, eq(mandates.id, t.mandate_id))
    .innerJoin(payments, eq(payments.id, t.payment_id))
    .innerJoin(customers, eq(customers.id, mandates.customer_id))
    .where(
      and(
        companyOwned(t, scope),
        eq(t.collection_run_id, run_id),
        filterOnly(eq(t.connector, connector)),
        gt(t.id, after_id),
      ),
    )
    .orderBy(asc(t.id))
    .limit(limit);
  return rows.map((row) => ({ ...row, currency: "MYR" }));
}
