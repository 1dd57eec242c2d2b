import { and, asc, eq, gt, isNull, or, type SQL } from "drizzle-orm";
import type { Scope } from "../../core/access.ts";
import { type IsoInstant, iso } from "../../core/time.ts";
import type { Reads } from "../../store/store.ts";
import type { Subscription } from "./model.ts";

/** Which subscriptions are meant; every field given narrows further. */
export interface SubscriptionFilter {
  client_id?: number;
  product_id?: number;
  billing_model_id?: number;
}

export async function listSubscriptionsOf(
  q: Reads,
  scope: Scope,
  now: Temporal.Instant,
  filter: SubscriptionFilter,
): Promise<Subscription[]> {
  const { subscriptions } = q.tables;
  const rows = await q
    .select()
    .from(subscriptions)
    .where(and(inScope(q, scope), matches(q, filter)))
    .orderBy(asc(subscriptions.id));
  return rows.map((row) => withStatus(row, now));
}

/** How many of them are active at `now`. */
export function countActiveSubscriptions(
  q: Reads,
  scope: Scope,
  now: Temporal.Instant,
  filter: SubscriptionFilter,
): Promise<number> {
  const { subscriptions } = q.tables;
  const active = or(isNull(subscriptions.ends_at), gt(subscriptions.ends_at, iso(now)));
  return q.$count(subscriptions, and(inScope(q, scope), matches(q, filter), active)).then(Number);
}

/** A subscription is active until it ends; no job has to run for that to be true. */
export function withStatus<R extends { ends_at: IsoInstant | null }>(row: R, now: Temporal.Instant) {
  const status: Subscription["status"] = row.ends_at !== null && row.ends_at <= iso(now) ? "cancelled" : "active";
  return { ...row, status };
}

function matches({ tables: { subscriptions } }: Reads, filter: SubscriptionFilter): SQL | undefined {
  const { client_id, product_id, billing_model_id } = filter;
  return and(
    client_id === undefined ? undefined : eq(subscriptions.client_id, client_id),
    product_id === undefined ? undefined : eq(subscriptions.product_id, product_id),
    billing_model_id === undefined ? undefined : eq(subscriptions.billing_model_id, billing_model_id),
  );
}

function inScope({ tables: { subscriptions } }: Reads, scope: Scope): SQL | undefined {
  return and(
    eq(subscriptions.company_id, scope.company_id),
    scope.client_id === undefined ? undefined : eq(subscriptions.client_id, scope.client_id),
  );
}
