import { and, eq, type SQL } from "drizzle-orm";
import { listOf } from "../store/expressions.ts";
import type { ReadTx } from "../store/store.ts";
import { findRow } from "../store/list_rows.ts";
import { subscriptionTable } from "../billing/subscriptions/tables.ts";

/** The condition of the subscriptions in the scope: of a company, or of one of its clients. */
export function subscriptionInScope({ q, scope }: ReadTx): SQL | undefined {
  const subscriptions = q.use(subscriptionTable);
  return and(
    eq(subscriptions.company_id, scope.company_id),
    scope.client_id === undefined ? undefined : eq(subscriptions.client_id, scope.client_id),
  );
}

/** The external ids of all subscriptions in the scope, by id. */
export async function listExternalIds(tx: ReadTx): Promise<Map<number, string>> {
  const t = tx.q.use(subscriptionTable);
  const row = await findRow(tx.q, t, {
    columns: { ids: listOf(t.id), external_ids: listOf(t.external_subscription_id) },
    where: subscriptionInScope(tx),
  });
  const external_ids = row?.external_ids ?? [];
  return new Map((row?.ids ?? []).map((id, i) => [id, external_ids[i] ?? ""]));
}
