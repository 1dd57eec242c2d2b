import { and, asc, eq, gt, isNull, lt, lte, or, sql } from "drizzle-orm";
import { addOnTable } from "../../billing/add_ons/tables.ts";
import type { Entitlement } from "../../billing/features/entitlement_model.ts";
import { Feature } from "../../billing/features/model.ts";
import { featureTable, subscriptionEntitlementTable } from "../../billing/features/tables.ts";
import { billingModelTable } from "../../billing/billing_models/tables.ts";
import { billingRecordTable } from "../../billing/records/tables.ts";
import { subscriptionAddOnTable } from "../../billing/subscription_add_ons/tables.ts";
import { subscriptionTable } from "../../billing/subscriptions/tables.ts";
import type { Bounds } from "../../core/periods.ts";
import { instant, iso, type IsoInstant } from "../../core/time.ts";
import { stamped } from "../../store/columns.ts";
import { textIn } from "../../store/expressions.ts";
import { keptSelect } from "../../store/kept_select.ts";
import { columnsOf, findRow, matching } from "../../store/list_rows.ts";
import { oncePerDialect } from "../../store/once_per_dialect.ts";
import { selectRows } from "../../store/select_rows.ts";
import type { ReadTx, Tx } from "../../store/store.ts";
import type { BookedGrants } from "./rules.ts";

/** A subscription as limits see it, with what its billing model grants. */
export interface EntitledSubscription {
  id: number;
  client_id: number;
  started_at: IsoInstant;
  ends_at: IsoInstant | null;
  billing_anchor_day: number;
  billing_model: { entitlements: Entitlement[] };
}

export const entitledColumns = oncePerDialect((q) => {
  const { id, client_id, started_at, ends_at, billing_anchor_day } = q.use(subscriptionTable);
  const { entitlements } = q.use(billingModelTable);
  return { id, client_id, started_at, ends_at, billing_anchor_day, billing_model: { entitlements } };
});

/** A subscription that the caller may see. */
export async function findEntitled(
  { q, scope }: ReadTx,
  id: number,
): Promise<EntitledSubscription | undefined> {
  const t = q.use(subscriptionTable);
  const models = q.use(billingModelTable);
  const { company_id, client_id } = scope;
  return findRow(q, t, {
    columns: entitledColumns(q),
    joins: [[models, eq(models.id, t.billing_model_id)]],
    where: and(eq(t.id, id), matching(t, { company_id, client_id })),
  });
}

const selectFeature = keptSelect((q) => {
  const t = q.use(featureTable);
  const where = and(eq(t.company_id, sql.placeholder("company_id")), eq(t.code, sql.placeholder("code")));
  return { table: t, columns: columnsOf(t, Feature), where };
});

/** The company's feature with a code. */
export async function findFeatureByCode(
  { q, scope: { company_id } }: ReadTx,
  code: string,
): Promise<Feature | undefined> {
  const [feature] = await selectFeature(q, { company_id, code });
  return feature;
}

/** The company's features of these codes, by id. */
export async function listFeaturesByCode({ q, scope }: ReadTx, codes: readonly string[]): Promise<Feature[]> {
  const t = q.use(featureTable);
  const where = and(eq(t.company_id, scope.company_id), textIn(t.code, codes));
  return selectRows(q, t, { columns: columnsOf(t, Feature), where, order: asc(t.id) });
}

const selectOwn = keptSelect((q) => {
  const t = q.use(subscriptionEntitlementTable);
  return {
    table: t,
    columns: { entitlements: t.entitlements },
    where: eq(t.subscription_id, sql.placeholder("subscription_id")),
    order: asc(t.id),
  };
});

/** What a subscription has of its own, by feature. */
export async function listOwn({ q }: ReadTx, subscription_id: number): Promise<Entitlement[][]> {
  const rows = await selectOwn(q, { subscription_id });
  return rows.map(({ entitlements }) => entitlements);
}

const selectBooked = keptSelect((q) => {
  const t = q.use(subscriptionAddOnTable);
  const add_ons = q.use(addOnTable);
  return {
    table: t,
    columns: { quantity: t.quantity, entitlements: add_ons.entitlements },
    joins: [[add_ons, eq(add_ons.id, t.add_on_id)]],
    where: and(
      eq(t.subscription_id, sql.placeholder("subscription_id")),
      lte(t.from, sql.placeholder("at")),
      or(isNull(t.until), gt(t.until, sql.placeholder("at"))),
    ),
    order: asc(t.id),
  };
});

/** What a subscription's add-ons grant that are booked now. */
export async function listBookedGrants({ q, now }: ReadTx, subscription_id: number): Promise<BookedGrants[]> {
  const rows = await selectBooked(q, { subscription_id, at: iso(now) });
  return rows.filter(({ entitlements }) => entitlements.length > 0);
}

/** The time around now whose billing periods cut the windows that checks ask for. */
export function aroundNow(now: Temporal.Instant): Bounds {
  return { from: now.subtract(AROUND), to: now.add(AROUND) };
}

/** Longer than any month. */
const AROUND = Temporal.Duration.from({ hours: 35 * 24 });

const selectRecorded = keptSelect((q) => {
  const t = q.use(billingRecordTable);
  return {
    table: t,
    columns: { from: t.billingStartAt, to: t.billingEndAt },
    where: and(
      eq(t.subscription_id, sql.placeholder("subscription_id")),
      eq(t.sequence, 0),
      gt(t.billingEndAt, sql.placeholder("from")),
      lt(t.billingStartAt, sql.placeholder("to")),
    ),
    order: asc(t.billingStartAt),
  };
});

/** The bounds on record of a subscription's billing periods around now, ascending. */
export async function listRecordedAround({ q, now }: ReadTx, subscription_id: number): Promise<Bounds[]> {
  const { from, to } = aroundNow(now);
  const rows = await selectRecorded(q, { subscription_id, from: iso(from), to: iso(to) });
  return rows.map((row) => ({ from: instant(row.from), to: instant(row.to) }));
}

/** Writes a subscription's own entitlements to a feature, in place of those before. */
export async function saveOwn(
  { q, scope, now }: Tx,
  place: { subscription_id: number; feature_id: number },
  entitlements: Entitlement[],
): Promise<void> {
  const t = q.use(subscriptionEntitlementTable);
  await q
    .insert(t)
    .values({ ...place, company_id: scope.company_id, entitlements, ...stamped(now) })
    .onConflictDoUpdate({
      target: [t.subscription_id, t.feature_id],
      set: { entitlements, updated_at: iso(now) },
    });
}

/** Deletes a subscription's own entitlements to a feature; returns whether there were any. */
export async function deleteOwn(
  { q, scope }: Tx,
  { subscription_id, feature_id }: { subscription_id: number; feature_id: number },
): Promise<boolean> {
  const t = q.use(subscriptionEntitlementTable);
  const rows = await q
    .delete(t)
    .where(
      and(
        eq(t.company_id, scope.company_id),
        eq(t.subscription_id, subscription_id),
        eq(t.feature_id, feature_id),
      ),
    )
    .returning({ id: t.id });
  return rows.length > 0;
}
