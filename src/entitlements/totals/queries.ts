import { and, asc, eq, gt, isNull, lte, or } from "drizzle-orm";
import { addOnTable } from "../../billing/add_ons/tables.ts";
import type { Entitlement } from "../../billing/features/entitlement_model.ts";
import { subscriptionEntitlementTable } from "../../billing/features/tables.ts";
import { billingModelTable } from "../../billing/billing_models/tables.ts";
import { subscriptionAddOnTable } from "../../billing/subscription_add_ons/tables.ts";
import { subscriptionTable } from "../../billing/subscriptions/tables.ts";
import { iso } from "../../core/time.ts";
import { filterOnly, idIn, ofCompany } from "../../store/expressions.ts";
import { selectRows } from "../../store/select_rows.ts";
import type { ReadTx } from "../../store/store.ts";
import type { EntitledSubscription } from "../grants/queries.ts";
import type { BookedGrants } from "../grants/rules.ts";
import { listSpendLimitsIn, type StoredSpendLimit } from "../spend_limits/queries.ts";

/**
 * What a company grants: its billing models' entitlements by their id; subscriptions' own, those of add-ons that they have
 * booked, and their spend limits, by theirs.
 */
export interface CompanyGrants {
  readonly models: ReadonlyMap<number, Entitlement[]>;
  readonly own: ReadonlyMap<number, Entitlement[][]>;
  readonly booked: ReadonlyMap<number, BookedGrants[]>;
  readonly spend_limits: ReadonlyMap<number, StoredSpendLimit[]>;
}

/** Of all subscriptions, or of these. */
export async function readGrants(tx: ReadTx, ids?: readonly number[]): Promise<CompanyGrants> {
  const { q, scope, now } = tx;
  const { company_id } = scope;
  const models = q.use(billingModelTable);
  const own = q.use(subscriptionEntitlementTable);
  const granting = await selectRows(q, models, {
    columns: { id: models.id, entitlements: models.entitlements },
    where: eq(models.company_id, company_id),
  });
  const rows = await selectRows(q, own, {
    columns: { subscription_id: own.subscription_id, entitlements: own.entitlements },
    where: ofCompany(own, company_id, own.subscription_id, ids),
    order: asc(own.id),
  });
  const bookings = q.use(subscriptionAddOnTable);
  const add_ons = q.use(addOnTable);
  const booked = await selectRows(q, bookings, {
    columns: {
      subscription_id: bookings.subscription_id,
      quantity: bookings.quantity,
      entitlements: add_ons.entitlements,
    },
    joins: [[add_ons, eq(add_ons.id, bookings.add_on_id)]],
    where: and(
      ofCompany(bookings, company_id, bookings.subscription_id, ids),
      lte(bookings.from, iso(now)),
      or(isNull(bookings.until), gt(bookings.until, iso(now))),
    ),
    order: asc(bookings.id),
  });
  const by_subscription = new Map<number, Entitlement[][]>();
  for (const { subscription_id, entitlements } of rows)
    by_subscription.set(subscription_id, [...(by_subscription.get(subscription_id) ?? []), entitlements]);
  return {
    models: new Map(
      granting.flatMap(({ id, entitlements }) => (entitlements.length > 0 ? [[id, entitlements]] : [])),
    ),
    own: by_subscription,
    booked: Map.groupBy(
      booked.filter(({ entitlements }) => entitlements.length > 0),
      ({ subscription_id }) => subscription_id,
    ),
    spend_limits: Map.groupBy(await listSpendLimitsIn(tx, ids), ({ subscription_id }) => subscription_id),
  };
}

/** A subscription as limits and alerts see it. */
export interface ListedSubscription extends EntitledSubscription {
  readonly product_id: number;
  readonly billing_model_id: number;
  readonly currency: string;
}

interface ListedPage {
  readonly after_id: number;
  readonly limit: number;
  /** Only these. */
  readonly ids: readonly number[] | undefined;
  readonly ended_after: Temporal.Instant;
  /** Those without a grant too. */
  readonly everything: boolean;
}

/** A page of the subscriptions that have these grants or spend limits, and have not ended by then, by id. */
export async function listEntitledSubscriptions(
  { q, scope }: ReadTx,
  { models, own, booked, spend_limits }: CompanyGrants,
  { after_id, limit, ids, ended_after, everything }: ListedPage,
): Promise<ListedSubscription[]> {
  const t = q.use(subscriptionTable);
  const { currency } = q.use(billingModelTable);
  const { id, client_id, product_id, started_at, ends_at, billing_anchor_day, billing_model_id } = t;
  const granted = or(
    idIn(t.billing_model_id, [...models.keys()]),
    idIn(t.id, [...own.keys(), ...booked.keys(), ...spend_limits.keys()]),
  );
  const rows = await selectRows(q, t, {
    columns: {
      id,
      client_id,
      product_id,
      started_at,
      ends_at,
      billing_anchor_day,
      billing_model_id,
      currency,
    },
    joins: [[q.use(billingModelTable), eq(q.use(billingModelTable).id, t.billing_model_id)]],
    where: and(
      ofCompany(t, scope.company_id, t.id, ids),
      filterOnly(
        and(or(isNull(t.ends_at), gt(t.ends_at, iso(ended_after))), everything ? undefined : granted),
      ),
      ids === undefined ? gt(t.id, after_id) : undefined,
    ),
    order: asc(t.id),
    limit,
  });
  return rows.map((row) => ({
    ...row,
    billing_model: { entitlements: models.get(row.billing_model_id) ?? [] },
  }));
}
