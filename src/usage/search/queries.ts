import { and } from "drizzle-orm";
import { interleave } from "../../core/chunk.ts";
import { filterOnly, idIn, listOf, textIn } from "../../store/expressions.ts";
import { oncePerDialect } from "../../store/once_per_dialect.ts";
import type { ReadTx, Reads } from "../../store/store.ts";
import { findRow } from "../../store/list_rows.ts";
import { selectRows } from "../../store/select_rows.ts";
import { clientTable } from "../../tenancy/clients/tables.ts";
import { productTable } from "../../billing/products/tables.ts";
import { subscriptionTable } from "../../billing/subscriptions/tables.ts";
import { subscriptionInScope } from "../queries.ts";

/** The subscriptions to search; every list narrows further. */
export interface SearchedSubscriptions {
  subscription_ids?: readonly number[] | undefined;
  external_subscription_ids?: readonly string[] | undefined;
  client_ids?: readonly number[] | undefined;
  product_ids?: readonly number[] | undefined;
}

/** The ids of the matching subscriptions. */
export async function listSearchedSubscriptions(
  tx: ReadTx,
  filter: SearchedSubscriptions,
): Promise<number[]> {
  const t = tx.q.use(subscriptionTable);
  const { subscription_ids, external_subscription_ids, client_ids, product_ids } = filter;
  const row = await findRow(tx.q, t, {
    columns: { ids: listOf(t.id) },
    where: and(
      subscriptionInScope(tx),
      subscription_ids && idIn(t.id, subscription_ids),
      external_subscription_ids && textIn(t.external_subscription_id, external_subscription_ids),
      client_ids && idIn(t.client_id, client_ids),
      product_ids && idIn(t.product_id, product_ids),
    ),
  });
  return row?.ids ?? [];
}

/** Those of the ids that are subscriptions in the scope. */
export function listKnownSubscriptionIds(tx: ReadTx, ids: readonly number[]): Promise<number[]> {
  return listSearchedSubscriptions(tx, { subscription_ids: ids });
}

const externalIdColumns = oncePerDialect((q) => {
  const { id, external_subscription_id } = q.use(subscriptionTable);
  return { id, external_subscription_id };
});

/** The external ids of the events on a page, by subscription id. */
export async function findExternalIds(tx: ReadTx, ids: readonly number[]): Promise<Map<number, string>> {
  const t = tx.q.use(subscriptionTable);
  const rows = await selectRows(tx.q, t, {
    columns: externalIdColumns(tx.q),
    where: and(idIn(t.id, ids), filterOnly(subscriptionInScope(tx))),
  });
  return new Map(rows.map(({ id, external_subscription_id }) => [id, external_subscription_id]));
}

/** The names of a subscription, its client and its product. */
export interface SubscriptionNames {
  id: number;
  external_subscription_id: string;
  name: string;
  client_id: number;
  client_name: string;
  product_id: number;
  product_name: string;
}

/** Subscriptions read by one statement: so many hold up the process for a few ms. */
const NAMES_AT_ONCE = 1_000;

/** The names of subscriptions, their clients and products, by subscription id. */
export async function findSubscriptionNames(
  tx: ReadTx,
  ids: readonly number[],
): Promise<Map<number, SubscriptionNames>> {
  const s = tx.q.use(subscriptionTable);
  const clients = tx.q.use(clientTable);
  const products = tx.q.use(productTable);
  const columns = {
    id: s.id,
    external_subscription_id: s.external_subscription_id,
    name: s.name,
    client_id: s.client_id,
    product_id: s.product_id,
  };
  const client_names = new Map<number, string>();
  const product_names = new Map<number, string>();
  const names = new Map<number, SubscriptionNames>();
  for await (const batch of interleave(ids, NAMES_AT_ONCE)) {
    const rows = await selectRows(tx.q, s, {
      columns,
      where: and(idIn(s.id, batch), filterOnly(subscriptionInScope(tx))),
    });
    const client_ids = rows.map(({ client_id }) => client_id);
    const product_ids = rows.map(({ product_id }) => product_id);
    await addNames(tx.q, clients, client_names, client_ids);
    await addNames(tx.q, products, product_names, product_ids);
    for (const row of rows) {
      const client_name = client_names.get(row.client_id) ?? "";
      names.set(row.id, { ...row, client_name, product_name: product_names.get(row.product_id) ?? "" });
    }
  }
  return names;
}

/** Adds the names that are missing: many subscriptions share a few clients and products. */
async function addNames(
  q: Reads,
  table: ReturnType<typeof clientTable> | ReturnType<typeof productTable>,
  names: Map<number, string>,
  ids: readonly number[],
): Promise<void> {
  const unknown = [...new Set(ids)].filter((id) => !names.has(id));
  if (unknown.length === 0) return;
  const rows = await selectRows(q, table, {
    columns: { id: table.id, name: table.name },
    where: idIn(table.id, unknown),
  });
  for (const { id, name } of rows) names.set(id, name);
}
