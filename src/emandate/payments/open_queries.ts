import { and, asc, eq, gt, inArray, isNotNull, isNull, lt, or, sql } from "drizzle-orm";
import type { Decimal } from "../../core/money.ts";
import { iso, type IsoInstant } from "../../core/time.ts";
import { companyOwned, filterOnly, idIn } from "../../store/expressions.ts";
import type { ReadTx, Tx } from "../../store/store.ts";
import { countRows, selectRows } from "../../store/select_rows.ts";
import { changeRows } from "../../store/update_rows.ts";
import type { ConnectorName } from "../scheme/connector.ts";
import { mandateTable } from "../mandates/tables.ts";
import type { MandatePayment, PaymentStatus } from "./model.ts";
import { paymentColumns, toPayments } from "./queries.ts";
import { OPEN_STATUSES } from "./rules.ts";
import { mandatePaymentTable } from "./tables.ts";

// Payments that wait for their time, or for their next attempt.

/** Position of the last payment of a page in a list of due payments. */
export interface DueCursor {
  readonly next_attempt_at: IsoInstant;
  readonly id: number;
}

/** One page of due payments. */
export interface DuePage {
  readonly before: IsoInstant;
  readonly after: DueCursor | undefined;
  /** Only payments of mandates with one of these connectors. */
  readonly usable: readonly ConnectorName[];
  /** Whether collections not yet tried are included; debits by hand and further attempts always are. */
  readonly collects: boolean;
  readonly limit: number;
}

/** Payments of active mandates in one open state that are due by `before`, the longest due first. */
export async function listDuePayments(
  { q, scope }: ReadTx,
  status: (typeof OPEN_STATUSES)[number],
  { before, after, usable, collects, limit }: DuePage,
): Promise<DueCursor[]> {
  const t = q.use(mandatePaymentTable);
  const mandates = q.use(mandateTable);
  const rows = await selectRows(q, t, {
    columns: { id: t.id, next_attempt_at: t.next_attempt_at },
    joins: [[mandates, and(eq(mandates.id, t.mandate_id), eq(mandates.status, "active"))]],
    where: and(
      companyOwned(t, scope),
      eq(t.status, status),
      lt(t.next_attempt_at, before),
      inArray(mandates.connector, [...usable]),
      collects ? undefined : or(isNull(t.period_key), gt(t.attempt_count, 0)),
      after &&
        or(
          gt(t.next_attempt_at, after.next_attempt_at),
          and(eq(t.next_attempt_at, after.next_attempt_at), gt(t.id, after.id)),
        ),
    ),
    order: [asc(t.next_attempt_at), asc(t.id)],
    limit,
  });
  return rows.flatMap(({ id, next_attempt_at }) =>
    next_attempt_at === null ? [] : [{ id, next_attempt_at }],
  );
}

/** The ids of a mandate's open payments, in order. */
export async function listOpenPayments(tx: ReadTx, mandate_id: number): Promise<number[]> {
  const t = tx.q.use(mandatePaymentTable);
  const rows = await selectRows(tx.q, t, {
    columns: { id: t.id },
    where: openPayments(tx, mandate_id),
    order: asc(t.id),
  });
  return rows.map(({ id }) => id);
}

/** The number of a mandate's open collections. */
export async function countOpenCollections(tx: ReadTx, mandate_id: number): Promise<number> {
  return countRows(tx.q, tx.q.use(mandatePaymentTable), openCollections(tx, mandate_id));
}

/** Sets the amount of a mandate's open collections. */
export async function updateOpenAmounts(tx: Tx, mandate_id: number, amount: Decimal): Promise<void> {
  await tx.q
    .update(tx.q.use(mandatePaymentTable))
    .set({ amount, updated_at: iso(tx.now) })
    .where(openCollections(tx, mandate_id));
}

/** Cancels the open payments of a mandate that is no longer in force and returns them, by id. */
export async function cancelOpenPayments(tx: Tx, mandate_id: number): Promise<MandatePayment[]> {
  const response_message = "The mandate is no longer in force";
  const rows = await tx.q
    .update(tx.q.use(mandatePaymentTable))
    .set({ status: "cancelled", next_attempt_at: null, response_message, updated_at: iso(tx.now) })
    .where(openPayments(tx, mandate_id))
    .returning(paymentColumns(tx.q));
  return toPayments(rows);
}

function openPayments({ q, scope }: ReadTx, mandate_id: number) {
  const t = q.use(mandatePaymentTable);
  return and(companyOwned(t, scope), eq(t.mandate_id, mandate_id), inArray(t.status, [...OPEN_STATUSES]));
}

/** Without debits by hand, which keep the amount that was requested. */
function openCollections(tx: ReadTx, mandate_id: number) {
  return and(openPayments(tx, mandate_id), isNotNull(tx.q.use(mandatePaymentTable).period_key));
}

/** Marks payments still in one of the states `from` as submitted, each with its next attempt; returns them by id. */
export async function submitOpenPayments(
  { q, scope, now }: Tx,
  ids: readonly number[],
  { debit_date, from }: { debit_date: string; from: readonly PaymentStatus[] },
): Promise<MandatePayment[]> {
  if (ids.length === 0) return [];
  const t = q.use(mandatePaymentTable);
  const rows = await changeRows(q, t, {
    set: {
      status: "submitted",
      debit_date,
      attempt_count: sql`${t.attempt_count} + 1`,
      // As `debitOrderNo` has it.
      order_no: sql`'D' || ${t.id} || '-' || (${t.attempt_count} + 1)`,
      next_attempt_at: null,
      updated_at: iso(now),
    },
    where: and(idIn(t.id, ids), filterOnly(and(companyOwned(t, scope), inArray(t.status, [...from])))),
    returning: paymentColumns(q),
  });
  return toPayments(rows);
}
