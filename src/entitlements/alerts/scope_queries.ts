import { and, asc, eq, gt, isNull, or, type SQL } from "drizzle-orm";
import type { AlertScope } from "../../billing/features/alert_tables.ts";
import { subscriptionTable } from "../../billing/subscriptions/tables.ts";
import { iso } from "../../core/time.ts";
import { idIn } from "../../store/expressions.ts";
import { selectRows } from "../../store/select_rows.ts";
import type { ReadTx } from "../../store/store.ts";
import { LIMITS } from "../limits.ts";

/** A page of the subscriptions that any of the scopes is of, that have not ended long ago, by id. */
export async function listSubscriptionsIn(
  { q, scope: { company_id }, now }: ReadTx,
  scopes: readonly AlertScope[],
  { after_id, limit }: { after_id: number; limit: number },
): Promise<number[]> {
  const t = q.use(subscriptionTable);
  const ofScope = (scope: AlertScope): SQL | undefined =>
    and(
      scope.client_ids && idIn(t.client_id, scope.client_ids),
      scope.product_ids && idIn(t.product_id, scope.product_ids),
      scope.billing_model_ids && idIn(t.billing_model_id, scope.billing_model_ids),
      scope.subscription_ids && idIn(t.id, scope.subscription_ids),
    );
  const all = scopes.some((scope) => Object.keys(scope).length === 0);
  const rows = await selectRows(q, t, {
    columns: { id: t.id },
    where: and(
      eq(t.company_id, company_id),
      gt(t.id, after_id),
      or(isNull(t.ends_at), gt(t.ends_at, iso(now.subtract({ milliseconds: LIMITS.alert_late_ms })))),
      all ? undefined : or(...scopes.map(ofScope)),
    ),
    order: asc(t.id),
    limit,
  });
  return rows.map(({ id }) => id);
}
