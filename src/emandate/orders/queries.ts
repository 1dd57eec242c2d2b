import { and, asc, desc, eq, getTableColumns, inArray, isNull, lt, type SQL, sql } from "drizzle-orm";
import type { Decimal } from "../../core/money.ts";
import { iso, type IsoInstant } from "../../core/time.ts";
import { stamped } from "../../store/columns.ts";
import { countUpTo } from "../../store/count_up_to.ts";
import { filterOnly, idIn, companyOwned } from "../../store/expressions.ts";
import { findRow, matching } from "../../store/list_rows.ts";
import { insertRows } from "../../store/insert_rows.ts";
import type { ReadTx, Reads, Tx } from "../../store/store.ts";
import { updateRows } from "../../store/update_rows.ts";
import { selectRows } from "../../store/select_rows.ts";
import type { ConnectorName, OrderAwaits, OrderKind } from "../scheme/connector.ts";
import type { Amendment } from "./model.ts";
import { FIRST_AWAITED, nextQueryAt } from "./rules.ts";
import { mandateOrderTable } from "./tables.ts";

/** An order as it is stored. */
export type MandateOrder = ReturnType<typeof mandateOrderTable>["$inferSelect"];

/** An order to be sent. */
export interface NewOrder {
  mandate_id: number;
  connector: ConnectorName;
  kind: OrderKind;
  amount: Decimal;
  /** Unique in the whole deployment; generated where it is left out. */
  order_no?: string;
  /** Of a debit: its payment, the number of the attempt, and the collection run, if any. */
  payment_id?: number;
  attempt_no?: number;
  collection_run_id?: number | null;
  /** The terms that an amendment asks for. */
  amendment?: Amendment | null;
}

/** A new order number: unique, at most 40 letters and digits. */
function newOrderNo(): string {
  return `MH${Bun.randomUUIDv7().replaceAll("-", "").toUpperCase()}`;
}

/**
 * Inserts orders before they are sent (write-ahead): after a crash their outcome is polled, and they are never sent
 * again.
 */
export async function insertOrders(
  { q, scope: { company_id }, now }: Tx,
  orders: readonly NewOrder[],
): Promise<MandateOrder[]> {
  const t = q.use(mandateOrderTable);
  const at = iso(now);
  const common = {
    company_id,
    status: "submitted" as const,
    awaits_since: at,
    submitted_at: at,
    queries: 0,
    ...stamped(now),
  };
  const first_query = new Map<ConnectorName, IsoInstant | null>();
  for (const { connector } of orders) {
    if (first_query.has(connector)) continue;
    const next = nextQueryAt(connector, now, now);
    first_query.set(connector, next && iso(next));
  }
  const rows = orders.map((order) => {
    const { payment_id = null, attempt_no = 1, collection_run_id = null, amendment = null } = order;
    return {
      ...order,
      ...common,
      amendment,
      payment_id,
      attempt_no,
      collection_run_id,
      order_no: order.order_no ?? newOrderNo(),
      awaits: FIRST_AWAITED[order.kind],
      next_query_at: first_query.get(order.connector) ?? null,
    };
  });
  return insertRows(q, t, rows, { returning: getTableColumns(t) });
}

export async function findOrder(tx: ReadTx, id: number): Promise<MandateOrder | undefined> {
  const [order] = await listOrders(tx, [id]);
  return order;
}

/** Orders by their ids, the oldest first. */
export async function listOrders({ q, scope }: ReadTx, ids: readonly number[]): Promise<MandateOrder[]> {
  const t = q.use(mandateOrderTable);
  return selectRows(q, t, {
    columns: getTableColumns(t),
    where: and(idIn(t.id, ids), filterOnly(companyOwned(t, scope))),
    order: asc(t.id),
  });
}

/** The orders of payments, which are their attempts, the first ones first. */
export async function listOrdersOfPayments(
  { q, scope }: ReadTx,
  payment_ids: readonly number[],
): Promise<MandateOrder[]> {
  if (payment_ids.length === 0) return [];
  const t = q.use(mandateOrderTable);
  return selectRows(q, t, {
    columns: getTableColumns(t),
    where: and(idIn(t.payment_id, payment_ids), filterOnly(companyOwned(t, scope))),
    order: asc(t.id),
  });
}

/** The last order about a mandate itself, or about a payment of it. */
export async function findLastOrder(
  { q, scope }: ReadTx,
  subject: { mandate_id: number } | { payment_id: number },
): Promise<MandateOrder | undefined> {
  const t = q.use(mandateOrderTable);
  const of_mandate = "mandate_id" in subject ? isNull(t.payment_id) : undefined;
  const order = await findRow(q, t, {
    columns: getTableColumns(t),
    where: and(companyOwned(t, scope), matching(t, subject), of_mandate),
    order: desc(t.id),
    limit: 1,
  });
  return order;
}

/** How many orders were sent before an instant and have no result yet, counted up to a bound; for metrics. */
export async function countUnanswered(q: Reads, before: Temporal.Instant, bound: number): Promise<number> {
  const t = q.use(mandateOrderTable);
  return countUpTo(q, t, {
    // As in the index.
    where: and(sql`awaits IN ('payment', 'confirmation')`, lt(t.submitted_at, iso(before))),
    order: t.submitted_at,
    bound,
  });
}

/** Orders about mandates themselves, by their numbers. */
export function listMandateOrders(
  tx: ReadTx,
  order_nos: readonly string[],
): Promise<Map<string, MandateOrder>> {
  return listByNumber(tx, order_nos, isNull(tx.q.use(mandateOrderTable).payment_id));
}

/** Debits by their order numbers; only those of one collection run where it is given. */
export function listDebitOrders(
  tx: ReadTx,
  order_nos: readonly string[],
  collection_run_id?: number,
): Promise<Map<string, MandateOrder>> {
  return listByNumber(
    tx,
    order_nos,
    matching(tx.q.use(mandateOrderTable), { kind: "debit", collection_run_id }),
  );
}

async function listByNumber(
  { q, scope }: ReadTx,
  order_nos: readonly string[],
  condition: SQL | undefined,
): Promise<Map<string, MandateOrder>> {
  const t = q.use(mandateOrderTable);
  const rows = await selectRows(q, t, {
    columns: getTableColumns(t),
    where: and(inArray(t.order_no, [...order_nos]), filterOnly(and(companyOwned(t, scope), condition))),
  });
  return new Map(rows.map((order) => [order.order_no, order]));
}

/** The fields of an order that a result changes. */
export type OrderChange = Partial<
  Pick<MandateOrder, "status" | "response_code" | "response_message" | "scheme_txn_id" | "corrected_code">
> & {
  /** The step that it awaits next; null completes the order. */
  awaits?: OrderAwaits | null;
};

/** An order as it was read, and the change to make. */
export interface OrderMove {
  readonly order: Pick<MandateOrder, "id" | "awaits" | "connector">;
  readonly change: OrderChange;
}

/** Changes one order by compare-and-set, as `updateOrders` does; returns whether it still stood as read. */
export async function updateOrder(tx: Tx, order: OrderMove["order"], change: OrderChange): Promise<boolean> {
  return (await updateOrders(tx, [{ order, change }])).has(order.id);
}

/**
 * Changes orders by compare-and-set on the step that they await, and returns the ids of those changed. A new step is
 * polled from the beginning; an order that awaits nothing is complete.
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
  const polling =
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
  return { id, ...change, ...polling, updated_at: iso(now) };
}

/** Closes as failed the open orders of a mandate itself, of one kind where it is given; its payments' orders stay. */
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
        matching(t, { kind }),
        inArray(t.status, ["submitted", "pending"]),
      ),
    );
}

/** An order by its number, whichever company it is of: callbacks arrive without a scope. */
export async function findOrderByNumber(q: Reads, order_no: string): Promise<MandateOrder | undefined> {
  const t = q.use(mandateOrderTable);
  const order = await findRow(q, t, { columns: getTableColumns(t), where: eq(t.order_no, order_no) });
  return order;
}
