import { and, asc, count, desc, eq, gte, inArray, isNull, lt, lte, not, sql } from "drizzle-orm";
import type { Decimal } from "../../core/money.ts";
import type { Slice } from "../../core/pagination.ts";
import { iso, type IsoInstant } from "../../core/time.ts";
import { stamped } from "../../store/columns.ts";
import { filterOnly, idIn, companyOwned } from "../../store/expressions.ts";
import { insertRows } from "../../store/insert_rows.ts";
import type { ReadTx, Reads, Tx } from "../../store/store.ts";
import { updateRows } from "../../store/update_rows.ts";
import type { Frequency } from "../products/model.ts";
import { recordEvents } from "../../webhooks/events/queries.ts";
import { mandateOrderTable } from "../orders/tables.ts";
import { mandateTable } from "../mandates/tables.ts";
import type { MandatePayment, PaymentAttempt, PaymentStatus } from "./model.ts";
import {
  COUNTED_STATUSES,
  type DebitedMandate,
  FAILED_STATUSES,
  OPEN_STATUSES,
  paymentEvent,
  type PaymentOutcome,
  type PlannedPayment,
} from "./rules.ts";
import { mandatePaymentTable } from "./tables.ts";
import type { ConnectorName } from "../scheme/connector.ts";
import type { DebitPeriod } from "../schedule.ts";

function paymentColumns(q: Reads) {
  const t = q.use(mandatePaymentTable);
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
  { q, scope }: ReadTx,
  { status, mandate_id, from, to }: PaymentFilter,
  { limit, offset }: Slice,
): Promise<{ rows: MandatePayment[]; total: number }> {
  const t = q.use(mandatePaymentTable);
  const where = and(
    companyOwned(t, scope),
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

export async function findPayment({ q, scope }: ReadTx, id: number): Promise<MandatePayment | undefined> {
  const t = q.use(mandatePaymentTable);
  const [row] = await q
    .select(paymentColumns(q))
    .from(t)
    .where(and(companyOwned(t, scope), eq(t.id, id)));
  return row && toPayment(row);
}

/** The attempts of a payment, the first one first. */
export async function listAttempts({ q, scope }: ReadTx, payment_id: number): Promise<PaymentAttempt[]> {
  const t = q.use(mandateOrderTable);
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
    .where(and(companyOwned(t, scope), eq(t.payment_id, payment_id)))
    .orderBy(asc(t.attempt_no));
}

// What is due.

/** A payment still to be written. */
export interface NewPayment {
  mandate_id: number;
  period_key: string | null;
  due_date: string;
  debit_date: string;
  frequency: Frequency;
  amount: Decimal;
  description: string | null;
  status: "scheduled" | "skipped";
  next_attempt_at: IsoInstant | null;
}

/** Writes payments, but for periods that have one, and returns those that were written, by id. */
export async function insertPayments(
  { q, scope: { company_id }, now }: Tx,
  payments: readonly NewPayment[],
): Promise<MandatePayment[]> {
  const t = q.use(mandatePaymentTable);
  const rows = await insertRows(
    q,
    t,
    payments.map((payment) => ({ ...payment, company_id, attempt_count: 0, ...stamped(now) })),
    { returning: paymentColumns(q), on_conflict_skip: [t.mandate_id, t.period_key] },
  );
  return rows.map(toPayment).toSorted((a, b) => a.id - b.id);
}

// What is submitted, and what became of it.

/** A payment with what its mandate allows. */
export interface PaymentWithMandate extends MandatePayment, Pick<PlannedPayment, "debit_date" | "frequency"> {
  readonly mandate: DebitedMandate & {
    readonly id: number;
    readonly connector: ConnectorName;
    /** What each collection takes now; null where it is debited by hand only. */
    readonly bankscheme_txn_amount: Decimal | null;
  };
}

/** Payments with their mandates, by id. */
export async function listWithMandates(
  { q, scope }: ReadTx,
  ids: readonly number[],
): Promise<PaymentWithMandate[]> {
  const t = q.use(mandatePaymentTable);
  const mandates = q.use(mandateTable);
  const { id, connector, status, frequency, max_amount, max_no_debit } = mandates;
  const { effective_date, expiry_date, bankscheme_txn_amount } = mandates;
  const rows = await q
    .select({
      payment: { ...paymentColumns(q), debit_date: t.debit_date, frequency: t.frequency },
      mandate: {
        id,
        connector,
        status,
        frequency,
        max_amount,
        max_no_debit,
        effective_date,
        expiry_date,
        bankscheme_txn_amount,
      },
    })
    .from(t)
    .innerJoin(mandates, eq(mandates.id, t.mandate_id))
    .where(and(idIn(t.id, ids), filterOnly(companyOwned(t, scope))))
    .orderBy(asc(t.id));
  return rows.map(({ payment, mandate }) => ({ ...payment, currency: "MYR", mandate }));
}

/**
 * How many debits of a frequency mandates have in a period of it, made or under way; `planned` counts those that wait
 * for their day too, and those in `except` do not count.
 */
export async function countDebits(
  { q, scope }: ReadTx,
  mandate_ids: readonly number[],
  { from, to, frequency }: DebitPeriod & { frequency: Frequency },
  { planned = false, except = [] }: { planned?: boolean; except?: readonly number[] } = {},
): Promise<Map<number, number>> {
  const t = q.use(mandatePaymentTable);
  const statuses = planned ? [...COUNTED_STATUSES, "scheduled" as const] : COUNTED_STATUSES;
  const rows = await q
    .select({ mandate_id: t.mandate_id, debits: count() })
    .from(t)
    .where(
      and(
        idIn(t.mandate_id, mandate_ids),
        gte(t.debit_date, from.toString()),
        lt(t.debit_date, to.toString()),
        filterOnly(
          and(
            companyOwned(t, scope),
            eq(t.frequency, frequency),
            inArray(t.status, [...statuses]),
            except.length === 0 ? undefined : not(idIn(t.id, except)),
          ),
        ),
      ),
    )
    .groupBy(t.mandate_id);
  return new Map(rows.map(({ mandate_id, debits }) => [mandate_id, debits]));
}

/** Marks those payments as submitted on a day that still wait, each with its next attempt; returns them by id. */
export async function submitWaitingPayments(
  { q, scope, now }: Tx,
  ids: readonly number[],
  { debit_date, from }: { debit_date: string; from: readonly PaymentStatus[] },
): Promise<MandatePayment[]> {
  if (ids.length === 0) return [];
  const t = q.use(mandatePaymentTable);
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
    .where(and(idIn(t.id, ids), filterOnly(and(companyOwned(t, scope), inArray(t.status, [...from])))))
    .returning(paymentColumns(q));
  return rows.map(toPayment).toSorted((a, b) => a.id - b.id);
}

/** Says on which day payments are debited that went out on another one than was planned. */
export async function setDebitDate(
  { q, scope }: Tx,
  ids: readonly number[],
  debit_date: string,
): Promise<void> {
  if (ids.length === 0) return;
  const t = q.use(mandatePaymentTable);
  await q
    .update(t)
    .set({ debit_date })
    .where(and(idIn(t.id, ids), filterOnly(companyOwned(t, scope))));
}

/** What happens to a payment, beside its state. */
export type PaymentChange = Partial<
  Pick<
    MandatePayment,
    "next_attempt_at" | "order_no" | "scheme_txn_id" | "response_code" | "response_message" | "paid_at"
  >
> & { status: PaymentStatus; forgiven_at?: IsoInstant | null };

/** Changes a payment that still stands where it was read; else returns nothing. */
export async function movePayment(
  tx: Tx,
  payment: Pick<MandatePayment, "id" | "status">,
  change: PaymentChange,
): Promise<MandatePayment | undefined> {
  const [moved] = await movePayments(tx, [{ payment, change }]);
  return moved;
}

/** A payment as it was read, and what is to happen to it. */
export interface PaymentMove {
  readonly payment: Pick<MandatePayment, "id" | "status">;
  readonly change: PaymentChange;
}

/** Changes the payments that still stand where they were read, and returns them, by id. */
export async function movePayments(
  { q, scope, now }: Tx,
  moves: readonly PaymentMove[],
): Promise<MandatePayment[]> {
  const t = q.use(mandatePaymentTable);
  const returning = paymentColumns(q);
  const moved: MandatePayment[] = [];
  const alike = Map.groupBy(
    moves,
    ({ payment, change }) => `${payment.status} ${Object.keys(change).join()}`,
  );
  for (const batch of alike.values()) {
    const [first] = batch;
    if (!first) continue;
    const rows = batch.map(({ payment: { id }, change }) => ({ id, ...change, updated_at: iso(now) }));
    const where = and(companyOwned(t, scope), eq(t.status, first.payment.status));
    moved.push(...(await updateRows(q, t, rows, { where, returning })).map(toPayment));
  }
  return moved.toSorted((a, b) => a.id - b.id);
}

/** Cancels the payments of a mandate that still wait, because it is no longer in force, and tells of them. */
export async function cancelOpenPayments(tx: Tx, mandate_id: number): Promise<void> {
  const t = tx.q.use(mandatePaymentTable);
  const response_message = "The mandate is no longer in force";
  const rows = await tx.q
    .update(t)
    .set({ status: "cancelled", next_attempt_at: null, response_message, updated_at: iso(tx.now) })
    .where(
      and(companyOwned(t, tx.scope), eq(t.mandate_id, mandate_id), inArray(t.status, [...OPEN_STATUSES])),
    )
    .returning(paymentColumns(tx.q));
  const cancelled = rows.map(toPayment).toSorted((a, b) => a.id - b.id);
  await recordEvents(tx, cancelled.map(paymentEvent));
}

// What counts against mandates.

/** The payments of mandates that were paid, or failed for good and were not forgiven. */
export async function listOutcomes(
  { q, scope }: ReadTx,
  mandate_ids: readonly number[],
): Promise<PaymentOutcome[]> {
  const t = q.use(mandatePaymentTable);
  const { id, mandate_id, debit_date, status } = t;
  return q
    .select({ id, mandate_id, debit_date, status })
    .from(t)
    .where(
      and(
        idIn(t.mandate_id, mandate_ids),
        filterOnly(
          and(companyOwned(t, scope), inArray(t.status, ["paid", ...FAILED_STATUSES]), isNull(t.forgiven_at)),
        ),
      ),
    );
}

/** Forgives what failed of a mandate. */
export async function forgiveFailures({ q, scope, now }: Tx, mandate_id: number): Promise<void> {
  const t = q.use(mandatePaymentTable);
  const failed = and(inArray(t.status, [...FAILED_STATUSES]), isNull(t.forgiven_at));
  await q
    .update(t)
    .set({ forgiven_at: iso(now) })
    .where(and(companyOwned(t, scope), eq(t.mandate_id, mandate_id), failed));
}
