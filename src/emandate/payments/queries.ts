import { type Static, Type } from "@sinclair/typebox";
import { and, asc, count, eq, gt, gte, inArray, isNull, lt, lte, max, not, type SQL, sql } from "drizzle-orm";
import { nextTurn } from "../../core/chunk.ts";
import { type Decimal, sumAmounts } from "../../core/money.ts";
import type { Sums } from "../../core/schema.ts";
import type { Slice } from "../../core/pagination.ts";
import { iso, type IsoInstant } from "../../core/time.ts";
import { stamped } from "../../store/columns.ts";
import { companyOwned, filterOnly, idIn } from "../../store/expressions.ts";
import { insertRows } from "../../store/insert_rows.ts";
import { columnsOf, findRow, listRows, matching, orderOf } from "../../store/list_rows.ts";
import { oncePerDialect } from "../../store/once_per_dialect.ts";
import type { ReadTx, Reads, Tx } from "../../store/store.ts";
import { updateRows } from "../../store/update_rows.ts";
import { selectRows } from "../../store/select_rows.ts";
import { mandateTable } from "../mandates/tables.ts";
import { mandateOrderTable } from "../orders/tables.ts";
import { MandatePayment, PaymentAttempt, type PaymentStatus } from "./model.ts";
import {
  COUNTED_STATUSES,
  type DebitedMandate,
  FAILED_STATUSES,
  type PaymentOutcome,
  type PlannedPayment,
} from "./rules.ts";
import { mandatePaymentTable } from "./tables.ts";
import type { ConnectorName } from "../scheme/connector.ts";
import type { DebitPeriod, Frequency } from "../schedule.ts";

const StoredPayment = Type.Omit(MandatePayment, ["currency"]);
type StoredPayment = Static<typeof StoredPayment>;

/** The columns of a payment on the wire. */
export const paymentColumns = (q: Reads) => columnsOf(q.use(mandatePaymentTable), StoredPayment);

function toPayment(row: StoredPayment): MandatePayment {
  return { ...row, currency: "MYR" };
}

/** Payments that a statement returned, by id. */
export function toPayments(rows: StoredPayment[]): MandatePayment[] {
  return rows.map(toPayment).toSorted((a, b) => a.id - b.id);
}

/** Which payments are meant; every field given narrows further. `from` and `to` are due dates. */
export interface PaymentFilter {
  status?: PaymentStatus;
  mandate_id?: number;
  from?: string;
  to?: string;
}

/** Payments, newest first, and how many there are in all. */
export async function listPayments(
  tx: ReadTx,
  { sort = "-id", ...filter }: PaymentFilter & { sort?: string },
  slice: Slice,
): Promise<{ rows: MandatePayment[]; total: number }> {
  const { q } = tx;
  const t = q.use(mandatePaymentTable);
  const where = matches(tx, filter);
  const columns = paymentColumns(q);
  const { rows, total } = await listRows(q, t, { columns, where, order: orderOf(t, sort), slice });
  return { rows: rows.map(toPayment), total };
}

/** Payments that are added up in one go: an embedded database lets nobody else have a turn meanwhile. */
const ADDED_AT_ONCE = 20_000;

/** What all payments that match come to. */
export async function sumPayments(tx: ReadTx, filter: PaymentFilter): Promise<Sums> {
  const t = tx.q.use(mandatePaymentTable);
  let minor_units = 0n;
  let rows = 0;
  for (let after_id = 0, read = ADDED_AT_ONCE; read === ADDED_AT_ONCE; ) {
    const some = tx.q
      .select({ id: t.id, amount: t.amount })
      .from(t)
      .where(and(matches(tx, filter), gt(t.id, after_id)))
      .orderBy(asc(t.id))
      .limit(ADDED_AT_ONCE)
      .as("some");
    const amount = sql<bigint>`sum(${some.amount})`.mapWith(BigInt);
    const [sum] = await tx.q.select({ amount, rows: count(), last_id: max(some.id) }).from(some);
    if (sum === undefined || sum.last_id === null) break;
    minor_units += sum.amount;
    rows += sum.rows;
    [after_id, read] = [sum.last_id, sum.rows];
    await nextTurn();
  }
  return rows === 0
    ? []
    : [{ currency: "MYR", amount: sumAmounts([{ minor_units, large: [] }], "MYR"), rows }];
}

function matches({ q, scope }: ReadTx, { from, to, ...equal }: PaymentFilter): SQL | undefined {
  const t = q.use(mandatePaymentTable);
  return and(
    companyOwned(t, scope),
    matching(t, equal),
    from === undefined ? undefined : gte(t.due_date, from),
    to === undefined ? undefined : lte(t.due_date, to),
  );
}

export async function findPayment({ q, scope }: ReadTx, id: number): Promise<MandatePayment | undefined> {
  const t = q.use(mandatePaymentTable);
  const row = await findRow(q, t, {
    columns: paymentColumns(q),
    where: and(companyOwned(t, scope), eq(t.id, id)),
  });
  return row && toPayment(row);
}

/** The attempts of a payment, the first one first. */
export async function listAttempts({ q, scope }: ReadTx, payment_id: number): Promise<PaymentAttempt[]> {
  const t = q.use(mandateOrderTable);
  return selectRows(q, t, {
    columns: columnsOf(t, PaymentAttempt),
    where: and(companyOwned(t, scope), eq(t.payment_id, payment_id)),
    order: asc(t.attempt_no),
  });
}

/** A payment to insert. */
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

/** Inserts payments, except for periods that have one, and returns those inserted, by id. */
export async function insertPayments(
  { q, scope: { company_id }, now }: Tx,
  payments: readonly NewPayment[],
): Promise<MandatePayment[]> {
  const t = q.use(mandatePaymentTable);
  const common = { company_id, attempt_count: 0, ...stamped(now) };
  const rows = await insertRows(
    q,
    t,
    payments.map((payment) => ({ ...payment, ...common })),
    { returning: paymentColumns(q), on_conflict_skip: [t.mandate_id, t.period_key] },
  );
  return toPayments(rows);
}

/** A payment with the terms of its mandate. */
export interface PaymentWithMandate extends MandatePayment, Pick<PlannedPayment, "debit_date" | "frequency"> {
  readonly mandate: DebitedMandate & {
    readonly id: number;
    readonly connector: ConnectorName;
    /** The amount of each collection; null for a mandate debited by hand only. */
    readonly bankscheme_txn_amount: Decimal | null;
  };
}

const withMandateColumns = oncePerDialect((q) => {
  const t = q.use(mandatePaymentTable);
  const { id, connector, status, frequency, max_amount, max_no_debit, ...mandate } = q.use(mandateTable);
  const { effective_date, expiry_date, bankscheme_txn_amount } = mandate;
  const terms = { frequency, max_amount, max_no_debit, effective_date, expiry_date, bankscheme_txn_amount };
  return {
    payment: { ...paymentColumns(q), debit_date: t.debit_date, frequency: t.frequency },
    mandate: { id, connector, status, ...terms },
  };
});

/** Payments with their mandates, by id. */
export async function listWithMandates(
  { q, scope }: ReadTx,
  ids: readonly number[],
): Promise<PaymentWithMandate[]> {
  const t = q.use(mandatePaymentTable);
  const mandates = q.use(mandateTable);
  const rows = await selectRows(q, t, {
    columns: withMandateColumns(q),
    joins: [[mandates, eq(mandates.id, t.mandate_id)]],
    where: and(idIn(t.id, ids), filterOnly(companyOwned(t, scope))),
    order: asc(t.id),
  });
  return rows.map(({ payment, mandate }) => ({ ...payment, currency: "MYR", mandate }));
}

/**
 * The number of debits of each mandate in a period of a frequency, made or under way. With `planned` scheduled ones
 * count too; those in `except` do not.
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

/** Sets the debit date of payments that went out on another day than planned. */
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

/** The changed fields of a payment. */
export type PaymentChange = Partial<
  Pick<
    MandatePayment,
    "next_attempt_at" | "order_no" | "scheme_txn_id" | "response_code" | "response_message" | "paid_at"
  >
> & { status: PaymentStatus; forgiven_at?: IsoInstant | null };

/** A payment as it was read, and its change. */
export interface PaymentMove {
  readonly payment: Pick<MandatePayment, "id" | "status">;
  readonly change: PaymentChange;
}

/** Changes payments by compare-and-set on the state that was read; returns those changed, by id. */
export async function movePayments(
  { q, scope, now }: Tx,
  moves: readonly PaymentMove[],
): Promise<MandatePayment[]> {
  const t = q.use(mandatePaymentTable);
  const returning = paymentColumns(q);
  const updated_at = iso(now);
  const moved: StoredPayment[] = [];
  const alike = Map.groupBy(
    moves,
    ({ payment, change }) => `${payment.status} ${Object.keys(change).join()}`,
  );
  for (const batch of alike.values()) {
    const [first] = batch;
    if (!first) continue;
    const rows = batch.map(({ payment: { id }, change }) => ({ id, ...change, updated_at }));
    const where = and(companyOwned(t, scope), eq(t.status, first.payment.status));
    moved.push(...(await updateRows(q, t, rows, { where, returning })));
  }
  return toPayments(moved);
}

/** Payments of mandates that were paid, or failed for good and are not forgiven. */
export async function listOutcomes(
  { q, scope }: ReadTx,
  mandate_ids: readonly number[],
): Promise<PaymentOutcome[]> {
  const t = q.use(mandatePaymentTable);
  const { id, mandate_id, debit_date, status } = t;
  return selectRows(q, t, {
    columns: { id, mandate_id, debit_date, status },
    where: and(
      idIn(t.mandate_id, mandate_ids),
      filterOnly(
        and(companyOwned(t, scope), inArray(t.status, ["paid", ...FAILED_STATUSES]), isNull(t.forgiven_at)),
      ),
    ),
  });
}

/** Forgives the failed payments of a mandate: they no longer count towards its suspension. */
export async function forgiveFailures({ q, scope, now }: Tx, mandate_id: number): Promise<void> {
  const t = q.use(mandatePaymentTable);
  const failed = and(inArray(t.status, [...FAILED_STATUSES]), isNull(t.forgiven_at));
  await q
    .update(t)
    .set({ forgiven_at: iso(now) })
    .where(and(companyOwned(t, scope), eq(t.mandate_id, mandate_id), failed));
}
