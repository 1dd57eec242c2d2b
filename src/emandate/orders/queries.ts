import { and, asc, desc, eq, inArray, isNull } from "drizzle-orm";
import type { Decimal } from "../../core/money.ts";
import { instant, iso, type IsoInstant } from "../../core/time.ts";
import { stamped } from "../../store/columns.ts";
import { filterOnly, idIn, companyOwned } from "../../store/expressions.ts";
import { insertRows } from "../../store/insert_rows.ts";
import type { ReadTx, Reads, Tx } from "../../store/store.ts";
import { updateRows } from "../../store/update_rows.ts";
import { emandateCustomerTable } from "../customers/tables.ts";
import { modeOf } from "../products/rules.ts";
import { mandatePaymentTable } from "../payments/tables.ts";
import type { ConnectorName, OrderAwaits, OrderKind, SchemeOrder } from "../scheme/connector.ts";
import { mandateTable } from "../mandates/tables.ts";
import type { Amendment, OrderStatus } from "./model.ts";
import { FIRST_AWAITED, nextQueryAt } from "./rules.ts";
import { mandateOrderTable } from "./tables.ts";

/** Something that the scheme was asked, as it stands. */
export interface MandateOrder {
  id: number;
  company_id: number;
  mandate_id: number;
  payment_id: number | null;
  connector: ConnectorName;
  kind: OrderKind;
  order_no: string;
  attempt_no: number;
  amount: Decimal;
  status: OrderStatus;
  awaits: OrderAwaits | null;
  awaits_since: IsoInstant;
  response_code: string | null;
  response_message: string | null;
  scheme_txn_id: string | null;
  submitted_at: IsoInstant;
  completed_at: IsoInstant | null;
  corrected_code: string | null;
  /** What an amendment asks for. */
  amendment: Amendment | null;
}

function orderColumns(q: Reads) {
  const t = q.use(mandateOrderTable);
  const { id, company_id, mandate_id, payment_id, connector, kind, order_no, attempt_no, amount } = t;
  const { status, awaits, awaits_since, response_code, response_message, scheme_txn_id } = t;
  const { submitted_at, completed_at, corrected_code, amendment } = t;
  return {
    id,
    company_id,
    mandate_id,
    payment_id,
    connector,
    kind,
    order_no,
    attempt_no,
    amount,
    status,
    awaits,
    awaits_since,
    response_code,
    response_message,
    scheme_txn_id,
    submitted_at,
    completed_at,
    corrected_code,
    amendment,
  };
}

/** What the scheme is to be asked. */
export interface NewOrder {
  mandate_id: number;
  connector: ConnectorName;
  kind: OrderKind;
  amount: Decimal;
  /** A number that no other order has; one is made up where there is none. */
  order_no?: string;
  /** Of a debit: the payment, which of its attempts this is, and the run that makes it, if one does. */
  payment_id?: number;
  attempt_no?: number;
  collection_run_id?: number | null;
  /** Of an amendment: what it asks for. */
  amendment?: Amendment | null;
}

/** An order's number, which no other order has: at most 40 letters and digits. */
function newOrderNo(): string {
  return `MH${Bun.randomUUIDv7().replaceAll("-", "").toUpperCase()}`;
}

/** Writes down orders, before the scheme is asked: whatever breaks then, it is asked what became of them. */
export async function insertOrders(
  { q, scope: { company_id }, now }: Tx,
  orders: readonly NewOrder[],
): Promise<MandateOrder[]> {
  const rows = orders.map((order) => {
    const { payment_id = null, attempt_no = 1, collection_run_id = null, amendment = null } = order;
    const next = nextQueryAt(order.connector, now, now);
    return {
      ...order,
      amendment,
      company_id,
      payment_id,
      attempt_no,
      collection_run_id,
      order_no: order.order_no ?? newOrderNo(),
      status: "submitted" as const,
      awaits: FIRST_AWAITED[order.kind],
      awaits_since: iso(now),
      submitted_at: iso(now),
      next_query_at: next && iso(next),
      queries: 0,
      ...stamped(now),
    };
  });
  return insertRows(q, q.use(mandateOrderTable), rows, { returning: orderColumns(q) });
}

export async function findOrder(tx: ReadTx, id: number): Promise<MandateOrder | undefined> {
  const [order] = await listOrders(tx, [id]);
  return order;
}

/** Orders by their ids, the oldest first. */
export async function listOrders({ q, scope }: ReadTx, ids: readonly number[]): Promise<MandateOrder[]> {
  const t = q.use(mandateOrderTable);
  return q
    .select(orderColumns(q))
    .from(t)
    .where(and(idIn(t.id, ids), filterOnly(companyOwned(t, scope))))
    .orderBy(asc(t.id));
}

/** The last order about a mandate itself, or about a payment of it. */
export async function findLastOrder(
  { q, scope }: ReadTx,
  subject: { mandate_id: number } | { payment_id: number },
): Promise<MandateOrder | undefined> {
  const t = q.use(mandateOrderTable);
  const condition =
    "payment_id" in subject
      ? eq(t.payment_id, subject.payment_id)
      : and(eq(t.mandate_id, subject.mandate_id), isNull(t.payment_id));
  const [order] = await q
    .select(orderColumns(q))
    .from(t)
    .where(and(companyOwned(t, scope), condition))
    .orderBy(desc(t.id))
    .limit(1);
  return order;
}

/** Orders about mandates themselves, by their numbers. */
export async function listMandateOrders(
  { q, scope }: ReadTx,
  order_nos: readonly string[],
): Promise<Map<string, MandateOrder>> {
  const t = q.use(mandateOrderTable);
  const rows = await q
    .select(orderColumns(q))
    .from(t)
    .where(
      and(inArray(t.order_no, [...order_nos]), filterOnly(and(companyOwned(t, scope), isNull(t.payment_id)))),
    );
  return new Map(rows.map((order) => [order.order_no, order]));
}

/** The debits with these numbers, of one run where one is named: all that results need of them. */
export async function listDebitOrders(
  { q, scope }: ReadTx,
  order_nos: readonly string[],
  run_id?: number,
): Promise<Map<string, MandateOrder>> {
  const t = q.use(mandateOrderTable);
  const of_run = run_id === undefined ? undefined : eq(t.collection_run_id, run_id);
  const rows = await q
    .select()
    .from(t)
    .where(
      and(
        inArray(t.order_no, [...order_nos]),
        filterOnly(and(companyOwned(t, scope), eq(t.kind, "debit"), of_run)),
      ),
    );
  return new Map(rows.map((order) => [order.order_no, order]));
}

/** What an answer changes of an order. */
export type OrderChange = Partial<
  Pick<MandateOrder, "status" | "response_code" | "response_message" | "scheme_txn_id" | "corrected_code">
> & {
  /** What it awaits from now on; null completes it. */
  awaits?: OrderAwaits | null;
};

/** An order as it was read, and what is to happen to it. */
export interface OrderMove {
  readonly order: Pick<MandateOrder, "id" | "awaits" | "connector">;
  readonly change: OrderChange;
}

/** Changes an order that still awaits what it did when it was read; returns whether it does. */
export async function updateOrder(tx: Tx, order: OrderMove["order"], change: OrderChange): Promise<boolean> {
  return (await updateOrders(tx, [{ order, change }])).has(order.id);
}

/**
 * Changes the orders that still await what they did when they were read, and returns which. What one awaits anew is
 * asked for from the beginning; an order that awaits nothing is complete.
 */
export async function updateOrders({ q, scope, now }: Tx, moves: readonly OrderMove[]): Promise<Set<number>> {
  const t = q.use(mandateOrderTable);
  const changed = new Set<number>();
  const rows = moves.map(({ order, change }) => ({ was: order.awaits, row: changedRow(now, order, change) }));
  const alike = Map.groupBy(rows, ({ was, row }) => `${was} ${Object.keys(row).join()}`);
  for (const batch of alike.values()) {
    const [first] = batch;
    if (!first) continue;
    const { was } = first;
    const where = and(companyOwned(t, scope), was === null ? isNull(t.awaits) : eq(t.awaits, was));
    const written = await updateRows(
      q,
      t,
      batch.map(({ row }) => row),
      { where, returning: { id: t.id } },
    );
    for (const { id } of written) changed.add(id);
  }
  return changed;
}

function changedRow(
  now: Temporal.Instant,
  { id, connector }: OrderMove["order"],
  { awaits, ...change }: OrderChange,
) {
  const next = awaits ? nextQueryAt(connector, now, now) : null;
  const asking =
    awaits === undefined
      ? {}
      : {
          awaits,
          next_query_at: next && iso(next),
          flagged_at: null,
          ...(awaits === null
            ? { completed_at: iso(now) }
            : { awaits_since: iso(now), queries: 0, completed_at: null }),
        };
  return { id, ...change, ...asking, updated_at: iso(now) };
}

/** Gives up what is still awaited of a mandate itself, which has ended, or of its orders of one kind. */
export async function closeMandateOrders(
  { q, scope, now }: Tx,
  mandate_id: number,
  kind?: OrderKind,
): Promise<void> {
  const t = q.use(mandateOrderTable);
  const at = iso(now);
  await q
    .update(t)
    .set({ status: "failed", awaits: null, next_query_at: null, completed_at: at, updated_at: at })
    .where(
      and(
        companyOwned(t, scope),
        eq(t.mandate_id, mandate_id),
        isNull(t.payment_id),
        kind && eq(t.kind, kind),
        inArray(t.status, ["submitted", "pending"]),
      ),
    );
}

/** Orders as a connector needs them, by id. */
export async function listSchemeOrders(
  { q, scope }: ReadTx,
  ids: readonly number[],
): Promise<{ order: MandateOrder; request: SchemeOrder }[]> {
  const t = q.use(mandateOrderTable);
  const mandates = q.use(mandateTable);
  const customers = q.use(emandateCustomerTable);
  const payments = q.use(mandatePaymentTable);
  const rows = await q
    .select({
      order: orderColumns(q),
      mandate: {
        reference: mandates.reference,
        scheme_reference: mandates.scheme_reference,
        customer_name: customers.name,
        customer_email: customers.email,
        customer_ic_number: customers.ic_number,
        bank_code: mandates.bank_code,
        max_amount: mandates.max_amount,
        max_no_debit: mandates.max_no_debit,
        effective_date: mandates.effective_date,
        expiry_date: mandates.expiry_date,
      },
      frequency: mandates.frequency,
      description: payments.description,
    })
    .from(t)
    .innerJoin(mandates, eq(mandates.id, t.mandate_id))
    .innerJoin(customers, eq(customers.id, mandates.customer_id))
    .leftJoin(payments, eq(payments.id, t.payment_id))
    .where(and(idIn(t.id, ids), filterOnly(companyOwned(t, scope))))
    .orderBy(asc(t.id));
  return rows.map(({ order, mandate, frequency, description }) => {
    const { order_no, kind, awaits, amount, submitted_at } = order;
    // A change is asked for in the words that it would have.
    const wanted = order.amendment ?? {};
    return {
      order,
      request: {
        order_no,
        kind,
        awaits,
        amount,
        submitted_at: instant(submitted_at),
        description,
        mandate: {
          ...mandate,
          max_amount: wanted.amount ?? mandate.max_amount,
          frequency_mode: modeOf(wanted.frequency ?? frequency),
          expiry_date: wanted.expiry_date ?? mandate.expiry_date,
        },
      },
    };
  });
}

// What acts for nobody has no scope: the door that the scheme calls at.

/** Whose order has this number. */
export async function findOrderByNumber(q: Reads, order_no: string): Promise<MandateOrder | undefined> {
  const t = q.use(mandateOrderTable);
  const [order] = await q.select(orderColumns(q)).from(t).where(eq(t.order_no, order_no));
  return order;
}
