import { and, asc, eq, gt, isNotNull, isNull, not, or, type SQL, sql } from "drizzle-orm";
import type { Slice } from "../../core/pagination.ts";
import { iso, type IsoInstant } from "../../core/time.ts";
import { stamped } from "../../store/columns.ts";
import { insertRow } from "../../store/insert_rows.ts";
import { containing, filterOnly, idIn, idListed } from "../../store/expressions.ts";
import { columnsOf, findRow, listRows, matching, orderOf, rowsById } from "../../store/list_rows.ts";
import { keptSelect } from "../../store/kept_select.ts";
import { oncePerDialect } from "../../store/once_per_dialect.ts";
import type { RowOf } from "../../store/row_of.ts";
import { countRows, selectRows } from "../../store/select_rows.ts";
import type { ReadTx, Reads, Tx } from "../../store/store.ts";
import { billingModelColumns, toBillingModel } from "../billing_models/queries.ts";
import { billingModelTable } from "../billing_models/tables.ts";
import { clientColumns } from "../../tenancy/clients/queries.ts";
import { clientTable } from "../../tenancy/clients/tables.ts";
import { productColumns } from "../products/queries.ts";
import { productTable } from "../products/tables.ts";
import type { SubscriptionDetail } from "./detail.ts";
import { StoredSubscription, type Subscription } from "./model.ts";
import { withStatus } from "./rules.ts";
import { subscriptionTable } from "./tables.ts";

/** A filter of subscriptions; every field given narrows further. */
export interface SubscriptionFilter {
  /** Such as "7,8". */
  ids?: string;
  client_id?: number;
  product_id?: number;
  billing_model_id?: number;
  status?: Subscription["status"];
  /** A part of the name or of the external id. */
  search?: string;
}

/** The stored columns of a subscription; `withStatus` adds the status. */
export const subscriptionColumns = (q: Reads) => columnsOf(q.use(subscriptionTable), StoredSubscription);

const selectOfClient = keptSelect((q) => {
  const t = q.use(subscriptionTable);
  const { placeholder } = sql;
  const where = and(eq(t.company_id, placeholder("company_id")), eq(t.client_id, placeholder("client_id")));
  return { table: t, columns: subscriptionColumns(q), where, order: asc(t.id) };
});

/** A client's subscriptions by id, without their relations; a client user sees those of no other. */
export async function listSubscriptionsOf(
  { q, scope, now }: ReadTx,
  client_id: number,
): Promise<Subscription[]> {
  if (scope.client_id !== undefined && scope.client_id !== client_id) return [];
  const rows = await selectOfClient(q, { company_id: scope.company_id, client_id });
  return rows.map((row) => withStatus(row, now));
}

/** Subscriptions with their relations by id, and how many there are in all. */
export async function listSubscriptionDetails(
  tx: ReadTx,
  { sort, ...filter }: SubscriptionFilter & { sort?: string },
  slice: Slice,
): Promise<{ rows: SubscriptionDetail[]; total: number }> {
  const t = tx.q.use(subscriptionTable);
  const where = and(inScope(tx), matches(tx, filter));
  const columns = subscriptionColumns(tx.q);
  const { rows, total } = await listRows(tx.q, t, { columns, where, order: orderOf(t, sort), slice });
  return { rows: await withRelations(tx, rows), total };
}

/** Those of the subscriptions that there are, and when each started. */
export async function listSubscriptionStarts(
  { q, scope }: ReadTx,
  ids: readonly number[],
): Promise<{ id: number; started_at: IsoInstant }[]> {
  const t = q.use(subscriptionTable);
  const where = and(idIn(t.id, ids), filterOnly(eq(t.company_id, scope.company_id)));
  return selectRows(q, t, { columns: { id: t.id, started_at: t.started_at }, where, order: asc(t.id) });
}

export async function findSubscription(tx: ReadTx, id: number): Promise<SubscriptionDetail | undefined> {
  const t = tx.q.use(subscriptionTable);
  const row = await findRow(tx.q, t, { ...details(tx.q), where: and(inScope(tx), eq(t.id, id)) });
  return row && toDetail(row, tx.now);
}

/** The id of the subscription that its sender knows by this one. */
export async function findIdByExternalId(tx: ReadTx, external: string): Promise<number | undefined> {
  const t = tx.q.use(subscriptionTable);
  const where = and(inScope(tx), eq(t.external_subscription_id, external));
  return (await findRow(tx.q, t, { columns: { id: t.id }, where }))?.id;
}

/** How many matching subscriptions are active. */
export function countActiveSubscriptions(tx: ReadTx, filter: SubscriptionFilter): Promise<number> {
  const where = and(inScope(tx), matches(tx, { ...filter, status: "active" }));
  return countRows(tx.q, tx.q.use(subscriptionTable), where);
}

/** Whether any subscription, ended or not, uses the billing model. */
export async function isBillingModelUsed(tx: ReadTx, billing_model_id: number): Promise<boolean> {
  const subscriptions = tx.q.use(subscriptionTable);
  const used = await findRow(tx.q, subscriptions, {
    columns: { id: subscriptions.id },
    where: and(inScope(tx), eq(subscriptions.billing_model_id, billing_model_id)),
    limit: 1,
  });
  return used !== undefined;
}

/** Inserts a subscription and returns its id. Errors: invalid for an external id already in use. */
export async function insertSubscription(
  { q, scope, now }: Tx,
  subscription: Omit<StoredSubscription, "id" | "company_id" | "ends_at" | "created_at" | "updated_at">,
): Promise<number> {
  const t = q.use(subscriptionTable);
  const row = { ...subscription, company_id: scope.company_id, ends_at: null, ...stamped(now) };
  return (await insertRow(q, t, row, { id: t.id })).id;
}

/** Updates a subscription; returns whether there is one. */
export async function updateSubscription(
  tx: Tx,
  id: number,
  change: {
    name?: string;
    ends_at?: IsoInstant;
    last_period_at?: IsoInstant | null;
    billing_model_id?: number;
  },
): Promise<boolean> {
  const subscriptions = tx.q.use(subscriptionTable);
  const rows = await tx.q
    .update(subscriptions)
    .set({ ...change, updated_at: iso(tx.now) })
    .where(and(inScope(tx), eq(subscriptions.id, id)))
    .returning({ id: subscriptions.id });
  return rows.length > 0;
}

/** Subscriptions that will end with a billing period, and an instant of that period. */
export async function listPeriodEnds(tx: ReadTx): Promise<(Subscription & { last_period_at: IsoInstant })[]> {
  const t = tx.q.use(subscriptionTable);
  const rows = await selectRows(tx.q, t, {
    columns: { ...subscriptionColumns(tx.q), last_period_at: t.last_period_at },
    where: and(inScope(tx), isNotNull(t.last_period_at), gt(t.ends_at, iso(tx.now))),
    order: asc(t.id),
  });
  return rows.flatMap(({ last_period_at, ...row }) =>
    last_period_at === null ? [] : [{ ...withStatus(row, tx.now), last_period_at }],
  );
}

/** The companies with subscriptions that will end with a billing period. */
export async function listCompaniesWithPeriodEnds(q: Reads, now: Temporal.Instant): Promise<number[]> {
  const t = q.use(subscriptionTable);
  const rows = await q
    .selectDistinct({ company_id: t.company_id })
    .from(t)
    .where(and(isNotNull(t.last_period_at), gt(t.ends_at, iso(now))));
  return rows.map(({ company_id }) => company_id);
}

export { listZones } from "../../tenancy/companies/queries.ts";

/** Subscriptions with their relations. */
const details = oncePerDialect((q) => {
  const { client_id, product_id, billing_model_id } = q.use(subscriptionTable);
  const clients = q.use(clientTable);
  const products = q.use(productTable);
  const billing_models = q.use(billingModelTable);
  return {
    columns: {
      ...subscriptionColumns(q),
      client: clientColumns(q),
      product: productColumns(q),
      billing_model: billingModelColumns(q),
    },
    joins: [
      [clients, eq(clients.id, client_id)],
      [products, eq(products.id, product_id)],
      [billing_models, eq(billing_models.id, billing_model_id)],
    ] as const,
  };
});

/** Adds their relations to subscriptions: many share a few, which are read once. Decision 0152. */
async function withRelations(
  { q, now }: ReadTx,
  rows: readonly StoredSubscription[],
): Promise<SubscriptionDetail[]> {
  const [clients, products, models] = await Promise.all([
    rowsById(q, q.use(clientTable), clientColumns(q), idsOf(rows, "client_id")),
    rowsById(q, q.use(productTable), productColumns(q), idsOf(rows, "product_id")),
    rowsById(q, q.use(billingModelTable), billingModelColumns(q), idsOf(rows, "billing_model_id")),
  ]);
  const billing_models = new Map([...models].map(([id, model]) => [id, toBillingModel(model)]));
  return rows.map((row) => {
    const client = clients.get(row.client_id);
    const product = products.get(row.product_id);
    const billing_model = billing_models.get(row.billing_model_id);
    if (client && product && billing_model)
      return { ...withStatus(row, now), client, product, billing_model };
    throw new Error(`Cannot read subscription ${row.id}: it refers to what is not there`);
  });
}

const idsOf = (
  rows: readonly StoredSubscription[],
  name: "client_id" | "product_id" | "billing_model_id",
): number[] => rows.map((row) => row[name]);

function toDetail(
  row: RowOf<ReturnType<typeof details>["columns"]>,
  now: Temporal.Instant,
): SubscriptionDetail {
  return { ...withStatus(row, now), billing_model: toBillingModel(row.billing_model) };
}

function matches(tx: ReadTx, { ids, status, search, ...equal }: SubscriptionFilter): SQL | undefined {
  const t = tx.q.use(subscriptionTable);
  return and(
    idListed(t.id, ids),
    matching(t, equal),
    status === undefined ? undefined : hasStatus(tx, status),
    or(containing(t.name, search), containing(t.external_subscription_id, search)),
  );
}

/** The same rule as `statusAt`. */
function hasStatus({ q, now }: ReadTx, status: Subscription["status"]): SQL | undefined {
  const { started_at, ends_at } = q.use(subscriptionTable);
  const active = or(isNull(ends_at), and(gt(ends_at, iso(now)), gt(ends_at, started_at)));
  return status === "active" || active === undefined ? active : not(active);
}

function inScope({ q, scope }: ReadTx): SQL | undefined {
  const subscriptions = q.use(subscriptionTable);
  return and(
    eq(subscriptions.company_id, scope.company_id),
    scope.client_id === undefined ? undefined : eq(subscriptions.client_id, scope.client_id),
  );
}
