import { and, asc, count, eq, isNotNull, lt, or, type SQL } from "drizzle-orm";
import type { PgColumn, PgTable } from "drizzle-orm/pg-core";
import { billingModelTable } from "../../billing/billing_models/tables.ts";
import { alertTable } from "../../billing/features/alert_tables.ts";
import { featureTable } from "../../billing/features/tables.ts";
import { productTable } from "../../billing/products/tables.ts";
import { subscriptionTable } from "../../billing/subscriptions/tables.ts";
import type { Slice } from "../../core/pagination.ts";
import { iso } from "../../core/time.ts";
import { stamped } from "../../store/columns.ts";
import { deleteBatch } from "../../store/delete_batch.ts";
import { companyOwned, filterOnly, idIn } from "../../store/expressions.ts";
import { insertRow } from "../../store/insert_rows.ts";
import { findRow, listRows, orderOf } from "../../store/list_rows.ts";
import { oncePerDialect } from "../../store/once_per_dialect.ts";
import { selectRows } from "../../store/select_rows.ts";
import type { ReadTx, Reads, Tx } from "../../store/store.ts";
import { changeRows } from "../../store/update_rows.ts";
import { clientTable } from "../../tenancy/clients/tables.ts";
import { spendLimitTable } from "../spend_limits/tables.ts";
import type { Alert } from "./model.ts";
import { alertFiringTable } from "./tables.ts";

const alertColumns = oncePerDialect((q) => {
  const { id, name, on, meter_id, currency, scope, thresholds, company_id, created_at, updated_at } =
    q.use(alertTable);
  const feature = q.use(featureTable).code;
  return { id, name, on, meter_id, feature, currency, scope, thresholds, company_id, created_at, updated_at };
});

/** The parts of a query that reads alerts. */
function alertsIn(tx: ReadTx) {
  const t = tx.q.use(alertTable);
  const features = tx.q.use(featureTable);
  return {
    table: t,
    columns: alertColumns(tx.q),
    left_joins: [[features, eq(features.id, t.feature_id)]] as const,
    where: isActive(tx),
  };
}

function isActive({ q, scope }: ReadTx): SQL | undefined {
  const t = q.use(alertTable);
  return and(companyOwned(t, scope), eq(t.status, "active"));
}

/** Alerts by id, and how many there are in all. */
export function listAlerts(
  tx: ReadTx,
  { sort }: { sort?: string },
  slice: Slice,
): Promise<{ rows: Alert[]; total: number }> {
  const { table, ...query } = alertsIn(tx);
  return listRows(tx.q, table, { ...query, order: orderOf(table, sort), slice });
}

/** All alerts of the company, by id. */
export function listAllAlerts(tx: ReadTx): Promise<Alert[]> {
  const { table, ...query } = alertsIn(tx);
  return selectRows(tx.q, table, { ...query, order: asc(query.columns.id) });
}

export function findAlert(tx: ReadTx, id: number): Promise<Alert | undefined> {
  const { table, where, ...query } = alertsIn(tx);
  return findRow(tx.q, table, { ...query, where: and(where, eq(query.columns.id, id)) });
}

export async function countAlerts(tx: ReadTx): Promise<number> {
  const rows = await tx.q.select({ rows: count() }).from(tx.q.use(alertTable)).where(isActive(tx));
  return rows[0]?.rows ?? 0;
}

/** What an alert says; `feature_id` is of its feature. */
export type AlertFields = Pick<Alert, "name" | "on" | "meter_id" | "currency" | "scope" | "thresholds"> & {
  feature_id: number | null;
};

/** Returns the id. */
export async function insertAlert({ q, scope, now }: Tx, fields: AlertFields): Promise<number> {
  const t = q.use(alertTable);
  const row = { ...fields, company_id: scope.company_id, status: "active" as const, ...stamped(now) };
  return (await insertRow(q, t, row, { id: t.id })).id;
}

/** Marks an alert as deleted, and lets go of what it names. Returns whether there was one. */
export function deleteAlert(tx: Tx, id: number): Promise<boolean> {
  return updateAlert(tx, id, { status: "deleted", meter_id: null, feature_id: null });
}

/** Returns whether there was one. */
export async function updateAlert(
  tx: Tx,
  id: number,
  change: AlertFields | { status: "deleted"; meter_id: null; feature_id: null },
): Promise<boolean> {
  const t = tx.q.use(alertTable);
  const rows = await changeRows(tx.q, t, {
    set: { ...change, updated_at: iso(tx.now) },
    where: and(isActive(tx), eq(t.id, id)),
    returning: { id: t.id },
  });
  return rows.length === 1;
}

const NAMED = {
  client_ids: clientTable,
  product_ids: productTable,
  billing_model_ids: billingModelTable,
  subscription_ids: subscriptionTable,
} as const;

/** Which of the ids of a list of a scope are of the company, deleted ones too. */
export async function existingIn(
  { q, scope }: ReadTx,
  list: keyof typeof NAMED,
  ids: readonly number[],
): Promise<Set<number>> {
  const t: PgTable & { id: PgColumn; company_id: PgColumn } = q.use<
    PgTable & { id: PgColumn; company_id: PgColumn }
  >(NAMED[list]);
  const where = and(idIn(t.id, ids), filterOnly(eq(t.company_id, scope.company_id)));
  return new Set((await selectRows(q, t, { columns: { id: t.id }, where })).map(({ id }) => Number(id)));
}

/** The companies of which something may be told: those with alerts, features that limits are of, or spend limits. */
export async function listCompaniesWithAlerts(q: Reads): Promise<number[]> {
  const t = q.use(alertTable);
  const features = q.use(featureTable);
  const spend_limits = q.use(spendLimitTable);
  const rows = await q
    .selectDistinct({ company_id: t.company_id })
    .from(t)
    .where(eq(t.status, "active"))
    .union(
      q.selectDistinct({ company_id: features.company_id }).from(features).where(eq(features.kind, "limit")),
    )
    .union(q.selectDistinct({ company_id: spend_limits.company_id }).from(spend_limits));
  return rows.map(({ company_id }) => company_id);
}

/** Deletes what was told of deleted alerts and of windows that ended by `until`, and then such alerts. Returns how much. */
export async function deleteOldFirings(tx: Tx, until: Temporal.Instant, limit: number): Promise<number> {
  const { q, scope } = tx;
  const t = q.use(alertFiringTable);
  const alerts = q.use(alertTable);
  const deleted = await selectRows(q, alerts, {
    columns: { id: alerts.id },
    where: and(eq(alerts.company_id, scope.company_id), eq(alerts.status, "deleted")),
    order: asc(alerts.id),
    limit,
  });
  const ids = deleted.map(({ id }) => id);
  const is_past = and(isNotNull(t.window_end), lt(t.window_end, iso(until)));
  const firings = await deleteBatch(q, t, t.id, {
    where: and(eq(t.company_id, scope.company_id), or(is_past, idIn(t.alert_id, ids))),
    order: [asc(t.id)],
    limit,
  });
  if (firings === limit) return firings;
  return firings + (await deleteBatch(q, alerts, alerts.id, { where: idIn(alerts.id, ids), limit }));
}
