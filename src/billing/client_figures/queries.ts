import { and, asc, count, eq, max } from "drizzle-orm";
import { clientTable } from "../../tenancy/clients/tables.ts";
import { filterOnly, idIn } from "../../store/expressions.ts";
import { rowsById } from "../../store/list_rows.ts";
import { selectRows } from "../../store/select_rows.ts";
import type { ReadTx } from "../../store/store.ts";
import { billingRecordTable } from "../records/tables.ts";
import { isRunning } from "../running_bills/queries.ts";
import { subscriptionTable } from "../subscriptions/tables.ts";

/** Those of the clients that the company has, in the order of their ids. */
export async function listKnown({ q, scope }: ReadTx, ids: readonly number[]): Promise<number[]> {
  const t = q.use(clientTable);
  const rows = await selectRows(q, t, {
    columns: { id: t.id },
    where: and(idIn(t.id, ids), filterOnly(eq(t.company_id, scope.company_id))),
    order: asc(t.id),
  });
  return rows.map(({ id }) => id);
}

/** The client of each of their subscriptions. */
export async function mapSubscriptions(
  { q, scope }: ReadTx,
  client_ids: readonly number[],
): Promise<Map<number, number>> {
  const t = q.use(subscriptionTable);
  const rows = await selectRows(q, t, {
    columns: { id: t.id, client_id: t.client_id },
    where: and(eq(t.company_id, scope.company_id), idIn(t.client_id, client_ids)),
  });
  return new Map(rows.map(({ id, client_id }) => [id, client_id]));
}

/** How many of their subscriptions run. */
export async function countActive(tx: ReadTx, client_ids: readonly number[]): Promise<Map<number, number>> {
  const t = tx.q.use(subscriptionTable);
  const rows = await tx.q
    .select({ client_id: t.client_id, count: count() })
    .from(t)
    .where(and(isRunning(tx), idIn(t.client_id, client_ids)))
    .groupBy(t.client_id);
  return new Map(rows.map((row) => [row.client_id, row.count]));
}

/** The bill of each that was written last. */
export async function listLastBills(tx: ReadTx, client_ids: readonly number[]) {
  const t = tx.q.use(billingRecordTable);
  const subscriptions = tx.q.use(subscriptionTable);
  const last = await tx.q
    .select({ client_id: subscriptions.client_id, id: max(t.id) })
    .from(t)
    .innerJoin(subscriptions, eq(subscriptions.id, t.subscription_id))
    .where(and(eq(subscriptions.company_id, tx.scope.company_id), idIn(subscriptions.client_id, client_ids)))
    .groupBy(subscriptions.client_id);
  const { id, kind, currency, totalCharges, billingStartAt, billingEndAt, created_at } = t;
  const columns = { id, kind, currency, totalCharges, billingStartAt, billingEndAt, created_at };
  const bills = await rowsById(
    tx.q,
    t,
    columns,
    last.flatMap((row) => row.id ?? []),
  );
  return new Map(last.map((row) => [row.client_id, bills.get(row.id ?? 0) ?? null]));
}
