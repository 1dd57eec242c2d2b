import { and, asc, eq, gt, isNull, or } from "drizzle-orm";
import type { Entitlement } from "../../billing/features/entitlement_model.ts";
import { subscriptionEntitlementTable } from "../../billing/features/tables.ts";
import { billingModelTable } from "../../billing/billing_models/tables.ts";
import { subscriptionTable } from "../../billing/subscriptions/tables.ts";
import { iso } from "../../core/time.ts";
import { idIn } from "../../store/expressions.ts";
import { selectRows } from "../../store/select_rows.ts";
import type { ReadTx } from "../../store/store.ts";
import type { EntitledSubscription } from "../grants/queries.ts";

/** What a company grants: its billing models' entitlements by their id, and subscriptions' own by theirs. */
export interface CompanyGrants {
  readonly models: ReadonlyMap<number, Entitlement[]>;
  readonly own: ReadonlyMap<number, Entitlement[][]>;
}

export async function readGrants({ q, scope: { company_id } }: ReadTx): Promise<CompanyGrants> {
  const models = q.use(billingModelTable);
  const own = q.use(subscriptionEntitlementTable);
  const granting = await selectRows(q, models, {
    columns: { id: models.id, entitlements: models.entitlements },
    where: eq(models.company_id, company_id),
  });
  const rows = await selectRows(q, own, {
    columns: { subscription_id: own.subscription_id, entitlements: own.entitlements },
    where: eq(own.company_id, company_id),
    order: asc(own.id),
  });
  const by_subscription = new Map<number, Entitlement[][]>();
  for (const { subscription_id, entitlements } of rows)
    by_subscription.set(subscription_id, [...(by_subscription.get(subscription_id) ?? []), entitlements]);
  return {
    models: new Map(
      granting.flatMap(({ id, entitlements }) => (entitlements.length > 0 ? [[id, entitlements]] : [])),
    ),
    own: by_subscription,
  };
}

/** A page of the subscriptions to which these grants are, that have not ended, by id. */
export async function listEntitledSubscriptions(
  { q, scope, now }: ReadTx,
  { models, own }: CompanyGrants,
  { after_id, limit }: { after_id: number; limit: number },
): Promise<EntitledSubscription[]> {
  const t = q.use(subscriptionTable);
  const { id, client_id, started_at, ends_at, billing_anchor_day, billing_model_id } = t;
  const rows = await selectRows(q, t, {
    columns: { id, client_id, started_at, ends_at, billing_anchor_day, billing_model_id },
    where: and(
      eq(t.company_id, scope.company_id),
      gt(t.id, after_id),
      or(isNull(t.ends_at), gt(t.ends_at, iso(now))),
      or(idIn(t.billing_model_id, [...models.keys()]), idIn(t.id, [...own.keys()])),
    ),
    order: asc(t.id),
    limit,
  });
  return rows.map(({ billing_model_id: model_id, ...row }) => ({
    ...row,
    billing_model: { entitlements: models.get(model_id) ?? [] },
  }));
}
