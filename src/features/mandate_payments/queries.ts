import { and, asc, count, desc, eq, gt, gte, inArray, lt, lte, or, sql } from "drizzle-orm";
import type { Scope } from "../../core/access.ts";
import type { Decimal } from "../../core/money.ts";
import type { Slice } from "../../core/page.ts";
import { type IsoInstant, iso } from "../../core/time.ts";
import { stamped } from "../../store/columns.ts";
import { insertRows } from "../../store/insert_rows.ts";
import { besides, isAmong, ofCompany } from "../../store/expressions.ts";
import type { Queries, Reads } from "../../store/store.ts";
import { updateRows } from "../../store/update_rows.ts";
import { recordEvents } from "../events/queries.ts";
import type { ConnectorName } from "../mandates/model.ts";
import type { DebitPeriod } from "../mandates/rules.ts";
import type { MandatePayment, PaymentAttempt, PaymentStatus } from "./model.ts";
import {
  COUNTED_STATUSES,
  type DebitedMandate,
  OPEN_STATUSES,
  paymentEvent,
  type PlannedPayment,
} from "./rules.ts";

function paymentColumns({ tables: { mandate_payments: t } }: Reads) {
  const { id, mandate_id, period_key, due_date, amount, description, status, attempt_count } = t;
  const { next_attempt_at, order_no, scheme_txn_id, response_code, response_message, paid_at } = t;
  const { created_at, updated_at } = t;
  return {
    id,
    mandate_id,
    period_key,
    due_date,
    amount,
    description,
    status,
    attempt_count,
    next_attempt_at,
    order_no,
    scheme_txn_id,
    response_code,
    response_message,
    paid_at,
    created_at,
    updated_at,
  };
}

function toPayment(row: Omit<MandatePayment, "currency">): MandatePayment {
  return { ...row, currency: "MYR" };
}

/** Which payments are meant; every field given narrows further. Days are those on which they are due. */
export interface PaymentFilter {
  status?: PaymentStatus;
  mandate_id?: number;
  from?: string;
  to?: string;
}

/** Payments, newest first, and how many there are in all. */
export async function listPayments(
  q: Reads,
  scope: Scope,
  { status, mandate_id, from, to }: PaymentFilter,
  { limit, offset }: Slice,
): Promise<{ rows: MandatePayment[]; total: number }> {
  const { mandate_payments: t } = q.tables;
  const where = and(
    ofCompany(t, scope),
    status === undefined ? undefined : eq(t.status, status),
    mandate_id === undefined ? undefined : eq(t.mandate_id, mandate_id),
    from === undefined ? undefined : gte(t.due_date, from),
    to === undefined ? undefined : lte(t.due_date, to),
  );
  const rows = await q
    .select(paymentColumns(q))
    .from(t)
    .where(where)
    .orderBy(desc(t.id))
    .limit(limit)
    .offset(offset);
  return { rows: rows.map(toPayment), total: await q.$count(t, where) };
}

export async function findPayment(q: Reads, scope: Scope, id: number): Promise<MandatePayment | undefined> {
  const { mandate_payments: t } = q.tables;
  const [row] = await q
    .select(paymentColumns(q))
    .from(t)
    .where(and(ofCompany(t, scope), eq(t.id, id)));
  return row && toPayment(row);
}

/** The attempts of a payment, the first one first. */
export async function listAttempts(q: Reads, scope: Scope, payment_id: number): Promise<PaymentAttempt[]> {
  const { mandate_orders: t } = q.tables;
  const { attempt_no, order_no, submitted_at, response_code, response_message, completed_at, flagged_at } = t;
  return q
    .select({
      attempt_no,
      order_no,
      submitted_at,
      response_code,
      response_message,
      completed_at,
      flagged_at,
    })
    .from(t)
    .where(and(ofCompany(t, scope), eq(t.payment_id, payment_id)))
    .orderBy(asc(t.attempt_no));
}

// What is due.

/** A payment still to be written. */
export interface NewPayment {
  mandate_id: number;
  period_key: string | null;
  due_date: string;
  debit_date: string;
  amount: Decimal;
  description: string | null;
  status: "scheduled" | "skipped";
  next_attempt_at: IsoInstant | null;
}

/** Writes payments, but for periods that have one, and returns those that were written, by id. */
export async function insertPayments(
  q: Queries,
  { company_id }: Scope,
  now: Temporal.Instant,
  payments: readonly NewPayment[],
): Promise<MandatePayment[]> {
  const { mandate_payments: t } = q.tables;
  const rows = await insertRows(
    q,
    t,
    payments.map((payment) => ({ ...payment, company_id, attempt_count: 0, ...stamped(now) })),
    { returning: paymentColumns(q), unless: [t.mandate_id, t.period_key] },
  );
  return rows.map(toPayment).toSorted((a, b) => a.id - b.id);
}

/** Where a list of due payments goes on. */
export interface DueCursor {
  readonly next_attempt_at: IsoInstant;
  readonly id: number;
}

/** Which due payments are meant. */
export interface DuePage {
  readonly before: IsoInstant;
  readonly after: DueCursor | undefined;
  /** Only those of mandates that are debited by one of these. */
  readonly usable: readonly ConnectorName[];
  readonly limit: number;
}

/** Payments of active mandates that wait in one of the open states and are due by `before`, the longest due first. */
export async function listDuePayments(
  q: Reads,
  scope: Scope,
  status: (typeof OPEN_STATUSES)[number],
  { before, after, usable, limit }: DuePage,
): Promise<DueCursor[]> {
  const { mandate_payments: t, mandates } = q.tables;
  const rows = await q
    .select({ id: t.id, next_attempt_at: t.next_attempt_at })
    .from(t)
    .innerJoin(mandates, and(eq(mandates.id, t.mandate_id), eq(mandates.status, "active")))
    .where(
      and(
        ofCompany(t, scope),
        eq(t.status, status),
        lt(t.next_attempt_at, before),
        inArray(mandates.connector, [...usable]),
        after &&
          or(
            gt(t.next_attempt_at, after.next_attempt_at),
            and(eq(t.next_attempt_at, after.next_attempt_at), gt(t.id, after.id)),
          ),
      ),
    )
    .orderBy(asc(t.next_attempt_at), asc(t.id))
    .limit(limit);
  return rows.flatMap(({ id, next_attempt_at }) =>
    next_attempt_at === null ? [] : [{ id, next_attempt_at }],
  );
}

// What is submitted, and what became of it.

/** A payment with what its mandate allows. */
export interface PaymentWithMandate extends MandatePayment, Pick<PlannedPayment, "debit_date"> {
  readonly mandate: DebitedMandate & {
    readonly id: number;
    readonly connector: ConnectorName;
    /** Payments that failed for good since the last that was paid. */
    readonly failed_payments: number;
  };
}

/** Payments with their mandates, by id. */
export async function listWithMandates(
  q: Reads,
  scope: Scope,
  ids: readonly number[],
): Promise<PaymentWithMandate[]> {
  const { mandate_payments: t, mandates } = q.tables;
  const { id, connector, status, frequency, max_amount, max_no_debit } = mandates;
  const { effective_date, expiry_date, failed_payments } = mandates;
  const rows = await q
    .select({
      payment: { ...paymentColumns(q), debit_date: t.debit_date },
      mandate: {
        id,
        connector,
        status,
        frequency,
        max_amount,
        max_no_debit,
        effective_date,
        expiry_date,
        failed_payments,
      },
    })
    .from(t)
    .innerJoin(mandates, eq(mandates.id, t.mandate_id))
    .where(and(isAmong(t.id, ids), besides(ofCompany(t, scope))))
    .orderBy(asc(t.id));
  return rows.map(({ payment, mandate }) => ({ ...payment, currency: "MYR", mandate }));
}

/** How many debits mandates have in a period, made or under way; `planned` counts those that wait for their day too. */
export async function countDebits(
  q: Reads,
  scope: Scope,
  mandate_ids: readonly number[],
  { from, to }: DebitPeriod,
  { planned = false }: { planned?: boolean } = {},
): Promise<Map<number, number>> {
  const { mandate_payments: t } = q.tables;
  const statuses = planned ? [...COUNTED_STATUSES, "scheduled" as const] : COUNTED_STATUSES;
  const rows = await q
    .select({ mandate_id: t.mandate_id, debits: count() })
    .from(t)
    .where(
      and(
        isAmong(t.mandate_id, mandate_ids),
        gte(t.debit_date, from.toString()),
        lt(t.debit_date, to.toString()),
        besides(and(ofCompany(t, scope), inArray(t.status, [...statuses]))),
      ),
    )
    .groupBy(t.mandate_id);
  return new Map(rows.map(({ mandate_id, debits }) => [mandate_id, debits]));
}

/** Marks those payments as submitted on a day that still wait, each with its next attempt; returns them by id. */
export async function submitOpenPayments(
  q: Queries,
  scope: Scope,
  now: Temporal.Instant,
  ids: readonly number[],
  debit_date: string,
): Promise<MandatePayment[]> {
  if (ids.length === 0) return [];
  const { mandate_payments: t } = q.tables;
  const rows = await q
    .update(t)
    .set({
      status: "submitted",
      debit_date,
      attempt_count: sql`${t.attempt_count} + 1`,
      // As `debitOrderNo` has it.
      order_no: sql`'D' || ${t.id} || '-' || (${t.attempt_count} + 1)`,
      next_attempt_at: null,
      updated_at: iso(now),
    })
    .where(and(isAmong(t.id, ids), besides(and(ofCompany(t, scope), inArray(t.status, [...OPEN_STATUSES])))))
    .returning(paymentColumns(q));
  return rows.map(toPayment).toSorted((a, b) => a.id - b.id);
}

/** What happens to a payment, beside its state. */
export type PaymentChange = Partial<
  Pick<
    MandatePayment,
    "next_attempt_at" | "order_no" | "scheme_txn_id" | "response_code" | "response_message" | "paid_at"
  >
> & { status: PaymentStatus };

/** Changes a payment that still stands where it was read; else returns nothing. */
export async function movePayment(
  q: Queries,
  scope: Scope,
  now: Temporal.Instant,
  payment: Pick<MandatePayment, "id" | "status">,
  change: PaymentChange,
): Promise<MandatePayment | undefined> {
  const [moved] = await movePayments(q, scope, now, [{ payment, change }]);
  return moved;
}

/** A payment as it was read, and what is to happen to it. */
export interface PaymentMove {
  readonly payment: Pick<MandatePayment, "id" | "status">;
  readonly change: PaymentChange;
}

/** Changes the payments that still stand where they were read, and returns them, by id. */
export async function movePayments(
  q: Queries,
  scope: Scope,
  now: Temporal.Instant,
  moves: readonly PaymentMove[],
): Promise<MandatePayment[]> {
  const { mandate_payments: t } = q.tables;
  const returning = paymentColumns(q);
  const moved: MandatePayment[] = [];
  const alike = Map.groupBy(
    moves,
    ({ payment, change }) => `${payment.status} ${Object.keys(change).join()}`,
  );
  for (const some of alike.values()) {
    const [first] = some;
    if (!first) continue;
    const rows = some.map(({ payment: { id }, change }) => ({ id, ...change, updated_at: iso(now) }));
    const where = and(ofCompany(t, scope), eq(t.status, first.payment.status));
    moved.push(...(await updateRows(q, t, rows, { where, returning })).map(toPayment));
  }
  return moved.toSorted((a, b) => a.id - b.id);
}

/** Cancels the payments of a mandate that still wait, because it is no longer in force, and tells of them. */
export async function cancelOpenPayments(
  q: Queries,
  scope: Scope,
  now: Temporal.Instant,
  mandate_id: number,
): Promise<void> {
  const { mandate_payments: t } = q.tables;
  const response_message = "The mandate is no longer in force";
  const rows = await q
    .update(t)
    .set({ status: "cancelled", next_attempt_at: null, response_message, updated_at: iso(now) })
    .where(and(ofCompany(t, scope), eq(t.mandate_id, mandate_id), inArray(t.status, [...OPEN_STATUSES])))
    .returning(paymentColumns(q));
  const cancelled = rows.map(toPayment).toSorted((a, b) => a.id - b.id);
  await recordEvents(q, scope, now, cancelled.map(paymentEvent));
}

/** Counts one more payment of each of the mandates that failed for good. */
export async function countFailedPayments(
  q: Queries,
  scope: Scope,
  now: Temporal.Instant,
  mandate_ids: readonly number[],
): Promise<MandateFailures[]> {
  if (mandate_ids.length === 0) return [];
  const { mandates: t } = q.tables;
  return q
    .update(t)
    .set({ failed_payments: sql`${t.failed_payments} + 1`, updated_at: iso(now) })
    .where(and(isAmong(t.id, mandate_ids), besides(ofCompany(t, scope))))
    .returning({ id: t.id, status: t.status, failed_payments: t.failed_payments });
}

/** A mandate, and how many of its payments failed for good since the last that was paid. */
export type MandateFailures = Pick<PaymentWithMandate["mandate"], "id" | "status" | "failed_payments">;

/** Forgets the failed payments of mandates: one was paid. */
export async function forgetFailedPayments(
  q: Queries,
  scope: Scope,
  now: Temporal.Instant,
  mandate_ids: readonly number[],
): Promise<void> {
  if (mandate_ids.length === 0) return;
  const { mandates: t } = q.tables;
  await q
    .update(t)
    .set({ failed_payments: 0, updated_at: iso(now) })
    .where(and(isAmong(t.id, mandate_ids), besides(ofCompany(t, scope))));
}
