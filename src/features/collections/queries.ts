import { and, asc, desc, eq, gt, inArray, isNotNull, isNull, lt, ne, type SQL } from "drizzle-orm";
import type { Scope } from "../../core/access.ts";
import type { Slice } from "../../core/page.ts";
import { type IsoInstant, iso } from "../../core/time.ts";
import type { Decimal } from "../../core/money.ts";
import { stamped } from "../../store/columns.ts";
import { besides, isAmong, ofCompany } from "../../store/expressions.ts";
import { only } from "../../store/rows.ts";
import type { Queries, Reads } from "../../store/store.ts";
import type { MandateOrder } from "../mandate_orders/queries.ts";
import { listDuePayments } from "../mandate_payments/queries.ts";
import { OPEN_STATUSES } from "../mandate_payments/rules.ts";
import type { CollectedMandate } from "../mandate_payments/rules.ts";
import { CONNECTORS } from "../mandates/model.ts";
import type { CollectionLine } from "../mandates/schemes/collection_file.ts";
import type { CollectionRun } from "./model.ts";

/** Errors: conflict while another run of the company goes on. */
export async function insertRun(
  q: Queries,
  { company_id }: Scope,
  now: Temporal.Instant,
  run: Pick<CollectionRun, "date" | "requested_by" | "counts" | "error">,
): Promise<CollectionRun> {
  const begun = { status: "running" as const, finished_at: null };
  const rows = await q
    .insert(q.tables.collection_runs)
    .values({ ...run, ...begun, company_id, ...stamped(now) })
    .returning();
  return only(rows);
}

/** Writes how far a run is, or how it ended; returns whether it was still running. */
export async function updateRun(
  q: Queries,
  { id, status, counts, error, finished_at, updated_at }: CollectionRun,
): Promise<boolean> {
  const { collection_runs: t } = q.tables;
  const rows = await q
    .update(t)
    .set({ status, counts, error, finished_at, updated_at })
    .where(and(eq(t.id, id), eq(t.status, "running")))
    .returning({ id: t.id });
  return rows.length > 0;
}

/** Ends the company's runs that say they are running. Whoever calls it holds the lock of runs: nobody runs them. */
export async function interruptRuns(q: Queries, scope: Scope, now: Temporal.Instant): Promise<void> {
  const { collection_runs: t } = q.tables;
  await q
    .update(t)
    .set({ status: "interrupted", finished_at: iso(now), updated_at: iso(now) })
    .where(and(ofCompany(t, scope), eq(t.status, "running")));
}

/** Runs, newest first, and how many there are in all. */
export async function listRuns(
  q: Reads,
  scope: Scope,
  { limit, offset }: Slice,
): Promise<{ rows: CollectionRun[]; total: number }> {
  const { collection_runs: t } = q.tables;
  const where = ofCompany(t, scope);
  const rows = await q.select().from(t).where(where).orderBy(desc(t.id)).limit(limit).offset(offset);
  return { rows, total: await q.$count(t, where) };
}

export async function findRun(q: Reads, scope: Scope, id: number): Promise<CollectionRun | undefined> {
  const { collection_runs: t } = q.tables;
  const [row] = await q
    .select()
    .from(t)
    .where(and(ofCompany(t, scope), eq(t.id, id)));
  return row;
}

/** A mandate to collect. */
export interface DueMandate extends Omit<CollectedMandate, "next_day"> {
  readonly id: number;
  readonly next_collection_at: IsoInstant;
  readonly amount: Decimal;
}

/** Active mandates that are collected by `before`, the longest due first. */
export async function listDueMandates(
  q: Reads,
  scope: Scope,
  before: IsoInstant,
  limit: number,
): Promise<DueMandate[]> {
  const { mandates: t } = q.tables;
  const { id, frequency, anchor_date, expiry_date, next_collection_at, bankscheme_txn_amount } = t;
  const rows = await q
    .select({ id, frequency, anchor_date, expiry_date, next_collection_at, amount: bankscheme_txn_amount })
    .from(t)
    .where(
      and(
        ofCompany(t, scope),
        eq(t.status, "active"),
        lt(next_collection_at, before),
        isNotNull(bankscheme_txn_amount),
      ),
    )
    .orderBy(asc(next_collection_at), asc(id))
    .limit(limit);
  return rows.flatMap(({ amount, next_collection_at: next, ...row }) =>
    amount === null || next === null ? [] : [{ ...row, amount, next_collection_at: next }],
  );
}

/** Whether a run would find anything to do by `before`; mandates count only where it `collects` them. */
export async function isAnythingDue(
  q: Reads,
  scope: Scope,
  before: IsoInstant,
  collects: boolean,
): Promise<boolean> {
  if (collects && (await listDueMandates(q, scope, before, 1)).length > 0) return true;
  const where = { before, after: undefined, usable: CONNECTORS, limit: 1 };
  for (const status of OPEN_STATUSES) {
    if ((await listDuePayments(q, scope, status, where)).length > 0) return true;
  }
  const { mandate_orders: t } = q.tables;
  const orders = await q.select({ id: t.id }).from(t).where(withoutRun(q, scope)).limit(1);
  return orders.length > 0;
}

/** Says when mandates are collected next that stand as they were read, and so were collected by nobody else. */
export async function advanceMandates(
  q: Queries,
  scope: Scope,
  now: Temporal.Instant,
  ids: readonly number[],
  { was, next }: { was: IsoInstant; next: IsoInstant | null },
): Promise<number[]> {
  const { mandates: t } = q.tables;
  const rows = await q
    .update(t)
    .set({ next_collection_at: next, updated_at: iso(now) })
    .where(
      and(
        isAmong(t.id, ids),
        besides(and(ofCompany(t, scope), eq(t.status, "active"), eq(t.next_collection_at, was))),
      ),
    )
    .returning({ id: t.id });
  return rows.map(({ id }) => id);
}

/**
 * Takes the debits by hand into a run that wait for the file of one: the connectors that debit by file are told of
 * them by no other. Returns how many.
 */
export async function adoptOrders(
  q: Queries,
  scope: Scope,
  now: Temporal.Instant,
  run_id: number,
): Promise<number> {
  const { mandate_orders: t } = q.tables;
  const rows = await q
    .update(t)
    .set({ collection_run_id: run_id, updated_at: iso(now) })
    .where(withoutRun(q, scope))
    .returning({ id: t.id });
  return rows.length;
}

/** Debits that stand in no run's file yet, though the scheme takes them by file. */
function withoutRun({ tables: { mandate_orders: t } }: Reads, scope: Scope): SQL | undefined {
  return and(
    ofCompany(t, scope),
    // Those of which the scheme is still asked: what the index holds.
    isNotNull(t.next_query_at),
    isNull(t.collection_run_id),
    eq(t.kind, "debit"),
    ne(t.connector, "sandbox"),
  );
}

/** The debits of a run as lines of its file, in the order in which they were made. */
export async function listRunLines(
  q: Reads,
  scope: Scope,
  run_id: number,
  { after_id, limit }: { after_id: number; limit: number },
): Promise<(CollectionLine & { id: number })[]> {
  const { mandate_orders: t, mandates, mandate_payments: payments, emandate_customers: customers } = q.tables;
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
    .where(and(ofCompany(t, scope), eq(t.collection_run_id, run_id), gt(t.id, after_id)))
    .orderBy(asc(t.id))
    .limit(limit);
  return rows.map((row) => ({ ...row, currency: "MYR" }));
}

/** The orders of a run with these numbers: all that results need of them. */
export async function listRunOrders(
  q: Reads,
  scope: Scope,
  run_id: number,
  order_nos: readonly string[],
): Promise<Map<string, MandateOrder>> {
  const { mandate_orders: t } = q.tables;
  const rows = await q
    .select()
    .from(t)
    .where(
      and(
        inArray(t.order_no, [...order_nos]),
        besides(and(ofCompany(t, scope), eq(t.collection_run_id, run_id))),
      ),
    );
  return new Map(rows.map((order) => [order.order_no, order]));
}
