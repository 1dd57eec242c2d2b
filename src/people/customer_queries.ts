import { and, asc, eq, inArray, isNotNull, notInArray, sql } from "drizzle-orm";
import type { PgColumn } from "drizzle-orm/pg-core";
import { iso } from "../core/time.ts";
import { emandateCustomerTable } from "../emandate/customers/tables.ts";
import { mandateFlagTable } from "../emandate/flags/tables.ts";
import { FINAL_STATUSES } from "../emandate/mandates/model.ts";
import { updateMandate } from "../emandate/mandates/queries.ts";
import { MANDATE_EVENTS } from "../emandate/mandates/rules.ts";
import { mandateEventTable, mandateTable } from "../emandate/mandates/tables.ts";
import { recordMandateEvent } from "../emandate/mandates/transition.ts";
import { closeMandateOrders } from "../emandate/orders/queries.ts";
import { mandateOrderTable } from "../emandate/orders/tables.ts";
import { mandatePaymentTable } from "../emandate/payments/tables.ts";
import { findRow, matching } from "../store/list_rows.ts";
import { countRows, selectRows } from "../store/select_rows.ts";
import type { ReadTx } from "../store/store.ts";
import { blankEntries, change, type ErasureTx, NOBODY, type SubjectRules } from "./subject_queries.ts";
import { NO_TRACES, tracesOf } from "./traces.ts";

/** Customers of mandates. Mandates, payments and orders keep amounts, ids and dates. */
export const CUSTOMER: SubjectRules = {
  async look(tx, id) {
    if (!(await findCustomer(tx, id))) return undefined;
    const { q } = tx;
    const [mandates, payments, orders] = [
      q.use(mandateTable),
      q.use(mandatePaymentTable),
      q.use(mandateOrderTable),
    ];
    const ids = mandatesOf(tx, id);
    return {
      records: {
        emandate_customers: 1,
        mandates: await countRows(q, mandates, eq(mandates.customer_id, id)),
        mandate_payments: await countRows(q, payments, inArray(payments.mandate_id, ids)),
        mandate_orders: await countRows(q, orders, inArray(orders.mandate_id, ids)),
      },
      blocked: await blockOf(tx, id),
      kept: null,
    };
  },

  async erase(tx, id) {
    const customer = await findCustomer(tx, id);
    if (!customer) return { records: 0, traces: NO_TRACES };
    const { name, email, phone, ic_number } = customer;
    await cancelFailed(tx, id);
    const traces = tracesOf({ name, email, phone, numbers: [ic_number] });
    return { records: await eraseRecords(tx, id), traces };
  },
};

/** The ids of customers with an email. */
export async function listCustomersByEmail({ q, scope }: ReadTx, email: string): Promise<number[]> {
  const t = q.use(emandateCustomerTable);
  const where = matching(t, { company_id: scope.company_id, email });
  return (await selectRows(q, t, { columns: { id: t.id }, where })).map(({ id }) => id);
}

function findCustomer({ q, scope }: ReadTx, id: number) {
  const t = q.use(emandateCustomerTable);
  const { name, email, phone, ic_number } = t;
  const where = matching(t, { company_id: scope.company_id, id });
  return findRow(q, t, { columns: { id: t.id, name, email, phone, ic_number }, where });
}

/** A mandate that may still be debited, or a debit without a result. A failed mandate is cancelled with the erasure. */
async function blockOf({ q, scope }: ReadTx, id: number): Promise<string | null> {
  const t = q.use(mandateTable);
  const own = matching(t, { company_id: scope.company_id, customer_id: id });
  const mandate = await findRow(q, t, {
    columns: { id: t.id, status: t.status },
    where: and(own, notInArray(t.status, [...FINAL_STATUSES, "failed"])),
    order: asc(t.id),
    limit: 1,
  });
  if (mandate) return `mandate ${mandate.id} is ${mandate.status.replaceAll("_", " ")}: end it first`;
  const orders = q.use(mandateOrderTable);
  const order = await findRow(q, orders, {
    columns: { payment_id: orders.payment_id },
    where: and(
      eq(orders.company_id, scope.company_id),
      inArray(orders.mandate_id, mandatesOf({ q }, id)),
      isNotNull(orders.payment_id),
      inArray(orders.status, ["submitted", "pending"]),
    ),
    limit: 1,
  });
  return order ? `the bank has not answered for payment ${order.payment_id}` : null;
}

function mandatesOf({ q }: Pick<ReadTx, "q">, customer_id: number) {
  const t = q.use(mandateTable);
  return q.select({ id: t.id }).from(t).where(eq(t.customer_id, customer_id));
}

/** A customer who is nobody authorizes no mandate. */
async function cancelFailed(tx: ErasureTx, customer_id: number): Promise<void> {
  const t = tx.q.use(mandateTable);
  const failed = matching(t, { company_id: tx.scope.company_id, customer_id, status: "failed" });
  for (const { id } of await selectRows(tx.q, t, { columns: { id: t.id }, where: failed })) {
    const cancelled = await updateMandate(tx, { id, status: "failed" }, { status: "cancelled" });
    await closeMandateOrders(tx, id);
    if (cancelled) await recordMandateEvent(tx, cancelled, MANDATE_EVENTS.cancel);
  }
}

async function eraseRecords(tx: ErasureTx, id: number): Promise<number> {
  const { q } = tx;
  const updated_at = iso(tx.now);
  const customers = q.use(emandateCustomerTable);
  const mandates = q.use(mandateTable);
  const events = q.use(mandateEventTable);
  const payments = q.use(mandatePaymentTable);
  const orders = q.use(mandateOrderTable);
  const flags = q.use(mandateFlagTable);
  const ids = mandatesOf(tx, id);
  const of = (column: PgColumn) => inArray(column, ids);
  const idsOf = (table: typeof payments | typeof flags) =>
    q.select({ id: table.id }).from(table).where(of(table.mandate_id));
  const email = sql`'erased-' || ${customers.id} || '@erased.invalid'`;
  const changed = [
    await change(
      tx,
      customers,
      { name: NOBODY, email, phone: null, ic_number: null, updated_at },
      eq(customers.id, id),
    ),
    await change(
      tx,
      mandates,
      { bank_account_last4: null, authorization_url: null, status_reason: null, updated_at },
      eq(mandates.customer_id, id),
    ),
    await change(tx, events, { reason: null }, and(of(events.mandate_id), isNotNull(events.reason))),
    await change(
      tx,
      payments,
      { description: null, response_message: null, updated_at },
      of(payments.mandate_id),
    ),
    await change(tx, orders, { response_message: null, updated_at }, of(orders.mandate_id)),
    await change(tx, flags, { message: null, note: null, updated_at }, of(flags.mandate_id)),
    await blankEntries(tx, "emandate_customer", [id]),
    await blankEntries(tx, "mandate", sql`${ids}`),
    await blankEntries(tx, "mandate_payment", sql`${idsOf(payments)}`),
    await blankEntries(tx, "mandate_flag", sql`${idsOf(flags)}`),
  ];
  return changed.reduce((sum, rows) => sum + rows, 0);
}
