import { and, asc, eq, lte } from "drizzle-orm";
import { iso } from "../../core/time.ts";
import { filterOnly, idIn, companyOwned } from "../../store/expressions.ts";
import type { ReadTx, Reads, Tx } from "../../store/store.ts";
import { selectRows } from "../../store/select_rows.ts";
import { changeRows } from "../../store/update_rows.ts";
import { raiseFlags } from "../flags/queries.ts";
import type { SchemeResult } from "../scheme/connector.ts";
import type { MandateOrder } from "../orders/queries.ts";
import { mandateOrderTable } from "../orders/tables.ts";

/** The companies with orders that are due for a status query; for the job, which has no scope. */
export async function listCompaniesWithDueOrders(q: Reads, now: Temporal.Instant): Promise<number[]> {
  const t = q.use(mandateOrderTable);
  const rows = await q
    .selectDistinct({ company_id: t.company_id })
    .from(t)
    .where(lte(t.next_query_at, iso(now)));
  return rows.map(({ company_id }) => company_id);
}

/** Orders that are due for a status query, the longest due first. */
export async function listDueOrders({ q, scope, now }: ReadTx, limit: number): Promise<number[]> {
  const t = q.use(mandateOrderTable);
  const rows = await selectRows(q, t, {
    columns: { id: t.id },
    where: and(companyOwned(t, scope), lte(t.next_query_at, iso(now))),
    order: asc(t.next_query_at),
    limit,
  });
  return rows.map(({ id }) => id);
}

/** Leases due orders until `until`, but for those that another instance leased meanwhile; returns their ids. */
export async function leaseOrders(
  { q, scope, now }: Tx,
  ids: readonly number[],
  until: Temporal.Instant,
): Promise<number[]> {
  const t = q.use(mandateOrderTable);
  const rows = await changeRows(q, t, {
    set: { next_query_at: iso(until) },
    where: and(idIn(t.id, ids), filterOnly(and(companyOwned(t, scope), lte(t.next_query_at, iso(now))))),
    returning: { id: t.id },
  });
  return rows.map(({ id }) => id);
}

/** An order without a new result, the time of its next status query, and the response to this one. */
export interface RescheduledQuery {
  readonly order: Pick<MandateOrder, "id" | "mandate_id" | "payment_id" | "status" | "awaits">;
  readonly next: Temporal.Instant | null;
  readonly response: Pick<SchemeResult, "code" | "message">;
}

/**
 * Records responses without news and the next status queries. An order without a next one is flagged, unless it only
 * awaits settlement: its money has moved.
 */
export async function rescheduleStatusQueries(tx: Tx, postponed: readonly RescheduledQuery[]): Promise<void> {
  const t = tx.q.use(mandateOrderTable);
  const alike = Map.groupBy(postponed, ({ order: { status, awaits }, next, response }) =>
    JSON.stringify([status, awaits, next, response.code, response.message]),
  );
  for (const batch of alike.values()) {
    const [first] = batch;
    if (!first?.order.awaits) continue;
    const { next, response } = first;
    const { status, awaits } = first.order;
    const is_first = awaits === "authorization" || awaits === "confirmation" || awaits === "payment";
    const ids = batch.map((one) => one.order.id);
    await tx.q
      .update(t)
      .set({
        ...(status === "submitted" ? { status: "pending" } : {}),
        ...(is_first ? { response_code: response.code, response_message: response.message } : {}),
        next_query_at: next && iso(next),
        ...(next === null && awaits !== "settlement" ? { flagged_at: iso(tx.now) } : {}),
        updated_at: iso(tx.now),
      })
      .where(and(idIn(t.id, ids), filterOnly(and(companyOwned(t, tx.scope), eq(t.awaits, awaits)))));
  }
  const given_up = postponed.filter(
    ({ order: { awaits }, next }) => next === null && awaits !== null && awaits !== "settlement",
  );
  const flags = given_up.map(({ order, response }) => ({ order, reason: "no_answer" as const, response }));
  await raiseFlags(tx, flags);
}
