import { isDeepStrictEqual } from "node:util";
import { and, eq, exists, sql } from "drizzle-orm";
import type { PgColumn, PgTable } from "drizzle-orm/pg-core";
import { billingModelTable } from "../../billing/billing_models/tables.ts";
import { Feature } from "../../billing/features/model.ts";
import { featureTable, subscriptionEntitlementTable } from "../../billing/features/tables.ts";
import { Meter } from "../../billing/meters/model.ts";
import { meterTable } from "../../billing/meters/tables.ts";
import { subscriptionAddOnTable } from "../../billing/subscription_add_ons/tables.ts";
import { subscriptionTable } from "../../billing/subscriptions/tables.ts";
import { keptSelect } from "../../store/kept_select.ts";
import { columnsOf } from "../../store/list_rows.ts";
import type { ReadTx, Reads, Tx } from "../../store/store.ts";
import { type EntitledSubscription, entitledColumns } from "../grants/queries.ts";
import { spendLimitTable } from "../spend_limits/tables.ts";

/** What a check names; and of what else that decides there is any, as few subscriptions have. */
export interface Named {
  readonly subscription: EntitledSubscription;
  /** Undefined where the company has none of this code. */
  readonly feature: Feature | undefined;
  /** What the feature counts by; null: all usage. */
  readonly meter: Meter | null;
  readonly has_own: boolean;
  readonly has_booked: boolean;
  readonly has_spend_limits: boolean;
}

const selectNamed = keptSelect((q) => {
  const t = q.use(subscriptionTable);
  const models = q.use(billingModelTable);
  const features = q.use(featureTable);
  const meters = q.use(meterTable);
  return {
    table: t,
    columns: {
      subscription: entitledColumns(q),
      feature: columnsOf(features, Feature),
      meter: columnsOf(meters, Meter),
      has_own: anyOf(q, q.use(subscriptionEntitlementTable), t.id),
      has_booked: anyOf(q, q.use(subscriptionAddOnTable), t.id),
      has_spend_limits: anyOf(q, q.use(spendLimitTable), t.id),
    },
    joins: [[models, eq(models.id, t.billing_model_id)]],
    left_joins: [
      [features, and(eq(features.company_id, t.company_id), eq(features.code, sql.placeholder("feature")))],
      [meters, eq(meters.id, features.meter_id)],
    ],
    where: and(
      eq(t.company_id, sql.placeholder("company_id")),
      eq(t.external_subscription_id, sql.placeholder("external_id")),
    ),
  };
});

/** Whether a table has rows of a subscription. */
function anyOf(q: Reads, table: PgTable & { subscription_id: PgColumn }, id: PgColumn) {
  const rows = q.select({ one: sql`1` }).from(table).where(eq(table.subscription_id, id));
  return sql<boolean>`${exists(rows)}`.mapWith(Boolean);
}

/** Finds the company's subscription with an external id, with a feature of the company. */
export async function findNamed(
  { q, scope: { company_id } }: ReadTx,
  { external_id, feature }: { external_id: string; feature: string },
): Promise<Named | undefined> {
  const [row] = await selectNamed(q, { company_id, external_id, feature });
  if (row === undefined) return undefined;
  return {
    ...row,
    // Of a left join that finds nothing all fields are null.
    feature: row.feature.id === null ? undefined : row.feature,
    meter: row.meter.id === null ? null : row.meter,
  };
}

const selectFeature = keptSelect((q) => {
  const features = q.use(featureTable);
  const meters = q.use(meterTable);
  return {
    table: features,
    columns: { feature: columnsOf(features, Feature), meter: columnsOf(meters, Meter) },
    left_joins: [[meters, eq(meters.id, features.meter_id)]],
    where: and(
      eq(features.company_id, sql.placeholder("company_id")),
      eq(features.id, sql.placeholder("feature_id")),
    ),
  };
});

/** Whether a feature and its meter are still as they were read: in a transaction, until it is committed. */
export async function isUnchanged(
  { q, scope: { company_id } }: Tx,
  { feature, meter }: { feature: Feature; meter: Meter | null },
): Promise<boolean> {
  const [row] = await selectFeature(q, { company_id, feature_id: feature.id });
  if (row === undefined) return false;
  return isDeepStrictEqual([row.feature, row.meter.id === null ? null : row.meter], [feature, meter]);
}
