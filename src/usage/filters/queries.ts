import { and, eq, not, or, type SQL } from "drizzle-orm";
import { containing, contains, idIn, listOf, textIn } from "../../store/expressions.ts";
import { findRow } from "../../store/list_rows.ts";
import { selectRows } from "../../store/select_rows.ts";
import type { ReadTx, Reads } from "../../store/store.ts";
import { billingModelTable } from "../../billing/billing_models/tables.ts";
import { productTable } from "../../billing/products/tables.ts";
import { subscriptionTable } from "../../billing/subscriptions/tables.ts";
import { clientTable } from "../../tenancy/clients/tables.ts";
import { subscriptionInScope } from "../queries.ts";
import type { RecordField } from "./model.ts";

/** What a subscription belongs to. */
export type Owner = Exclude<RecordField, "subscription">;

/** A condition on subscriptions: by ids of what they belong to, by their own external ids, by a part of a name, all or none. */
export type SubscriptionCondition =
  | { field: Owner; ids: readonly number[]; is_not: boolean }
  | { field: "subscription"; external_ids: readonly string[]; is_not: boolean }
  | { field: "subscription"; parts: readonly string[] }
  | { all: boolean };

/** The table of what a subscription belongs to. */
export const ownerTable = (q: Reads, owner: Owner) =>
  ({ client: q.use(clientTable), product: q.use(productTable), billing_model: q.use(billingModelTable) })[
    owner
  ];

const columnOf = (q: Reads, owner: Owner) => {
  const { client_id, product_id, billing_model_id } = q.use(subscriptionTable);
  return { client: client_id, product: product_id, billing_model: billing_model_id }[owner];
};

/** The subscriptions in the scope that meet all conditions, and the ids of what they belong to, in the same order. */
export async function listSubscriptions(
  tx: ReadTx,
  conditions: readonly SubscriptionCondition[],
  owners: readonly Owner[],
): Promise<{ ids: number[]; owners: number[][] }> {
  const t = tx.q.use(subscriptionTable);
  const [first = "client", second = "client"] = owners;
  const row = await findRow(tx.q, t, {
    columns: {
      ids: listOf(t.id),
      first: listOf(columnOf(tx.q, first)),
      second: listOf(columnOf(tx.q, second)),
    },
    where: and(subscriptionInScope(tx), ...conditions.map((condition) => conditionSql(tx.q, condition))),
  });
  const lists = [row?.first ?? [], row?.second ?? []];
  return { ids: row?.ids ?? [], owners: lists.slice(0, owners.length) };
}

function conditionSql(q: Reads, condition: SubscriptionCondition): SQL | undefined {
  const t = q.use(subscriptionTable);
  if ("all" in condition) return condition.all ? undefined : idIn(t.id, []);
  if ("parts" in condition)
    return or(
      ...condition.parts.flatMap((part) => [
        contains(t.name, part),
        contains(t.external_subscription_id, part),
      ]),
    );
  const found =
    "ids" in condition
      ? idIn(columnOf(q, condition.field), condition.ids)
      : textIn(t.external_subscription_id, condition.external_ids);
  return condition.is_not ? not(found) : found;
}

/** The ids of clients, products or billing models whose name has any of the parts. */
export async function listIdsByName(
  { q, scope }: ReadTx,
  owner: Owner,
  parts: readonly string[],
): Promise<number[]> {
  const t = ownerTable(q, owner);
  const rows = await selectRows(q, t, {
    columns: { ids: listOf(t.id) },
    where: and(eq(t.company_id, scope.company_id), or(...parts.map((part) => containing(t.name, part)))),
  });
  return rows[0]?.ids ?? [];
}

/** Those of the ids that are billing models in the scope: for a client user, those that its subscriptions have. */
export async function listKnownModelIds(tx: ReadTx, ids: readonly number[]): Promise<number[]> {
  const { q, scope } = tx;
  if (scope.client_id !== undefined) {
    const t = q.use(subscriptionTable);
    const own = await selectRows(q, t, {
      columns: { ids: listOf(t.billing_model_id) },
      where: and(subscriptionInScope(tx), idIn(t.billing_model_id, ids)),
    });
    return own[0]?.ids ?? [];
  }
  const t = q.use(billingModelTable);
  const rows = await selectRows(q, t, {
    columns: { ids: listOf(t.id) },
    where: and(eq(t.company_id, scope.company_id), idIn(t.id, ids)),
  });
  return rows[0]?.ids ?? [];
}

/** Those of the ids that are clients in the scope, deleted ones too: their usage stays on record. */
export async function listKnownClientIds({ q, scope }: ReadTx, ids: readonly number[]): Promise<number[]> {
  const t = q.use(clientTable);
  const own = scope.client_id === undefined ? undefined : eq(t.id, scope.client_id);
  const rows = await selectRows(q, t, {
    columns: { id: t.id },
    where: and(eq(t.company_id, scope.company_id), own, idIn(t.id, ids)),
  });
  return rows.map(({ id }) => id);
}

/** Those of the ids that are products in the scope: for a client user, the products that it has or had. */
export async function listKnownProductIds(tx: ReadTx, ids: readonly number[]): Promise<number[]> {
  const { q, scope } = tx;
  const products = q.use(productTable);
  const subscriptions = q.use(subscriptionTable);
  if (scope.client_id === undefined) {
    const rows = await selectRows(q, products, {
      columns: { id: products.id },
      where: and(eq(products.company_id, scope.company_id), idIn(products.id, ids)),
    });
    return rows.map(({ id }) => id);
  }
  const rows = await q
    .selectDistinct({ id: subscriptions.product_id })
    .from(subscriptions)
    .where(and(subscriptionInScope(tx), idIn(subscriptions.product_id, ids)));
  return rows.map(({ id }) => id);
}
