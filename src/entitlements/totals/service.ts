import type { Context } from "../../app/context.ts";
import { operation } from "../../app/operation.ts";
import { readTx } from "../../app/transaction.ts";
import { findMeters } from "../../billing/meters/queries.ts";
import { listZones } from "../../billing/subscriptions/queries.ts";
import { scopeOf } from "../../core/access.ts";
import { Nothing } from "../../core/schema.ts";
import { compareTotals } from "../../usage_store/compare_totals.ts";
import { type SubscriptionLimit, watchOf } from "../checks/limit_totals.ts";
import { listFeaturesByCode } from "../grants/queries.ts";
import { grantedOf } from "../grants/rules.ts";
import { LIMITS } from "../limits.ts";
import { listEntitledSubscriptions, readGrants } from "./queries.ts";

/**
 * Keeps totals of every limit of the company from now on, and of no other: after a start before the first checks ask, and
 * as limits come and go.
 */
export const watchLimits = operation({
  name: "watch_limits",
  permission: "entitlements:read",
  input: Nothing,
  output: Nothing,
  async run(ctx) {
    const { company_id } = scopeOf(ctx.actor);
    const zones = await listZones(readTx(ctx));
    // What a check opens meanwhile stays.
    const before = ctx.limits.watchedKeys(company_id);
    const keys = new Set<string>();
    for await (const limits of limitsOf(ctx)) {
      if (ctx.background.is_stopping) return {};
      const watches = limits.flatMap((limit) => watchOf(company_id, zones, limit, ctx.now) ?? []);
      ctx.limits.totalsOf(watches);
      for (const { key } of watches) keys.add(key);
    }
    ctx.limits.forget(before.filter((key) => !keys.has(key)));
    return {};
  },
});

/** Forgets totals of past windows, and compares those of every limit with the stored events. Errors: throws where any is different. */
export const checkLimits = operation({
  name: "check_limits",
  permission: "entitlements:read",
  input: Nothing,
  output: Nothing,
  async run(ctx) {
    const { company_id } = scopeOf(ctx.actor);
    const now_ms = ctx.now.epochMilliseconds;
    // Nobody asks for windows that are past, and hours would fill the memory.
    ctx.usage.running_totals.forgetBefore(ctx.now.subtract({ hours: 24 }).epochMilliseconds);
    const zones = await listZones(readTx(ctx));
    for await (const limits of limitsOf(ctx)) {
      if (ctx.background.is_stopping) return {};
      const watches = limits.flatMap((limit) => watchOf(company_id, zones, limit, ctx.now) ?? []);
      const totals = [...new Set(ctx.limits.totalsOf(watches))];
      const { different } = await compareTotals(ctx.usage, totals, now_ms, ctx.config.usage_query_timeout_ms);
      if (different.length > 0)
        throw new Error(
          `${different.length} totals of limits are not those of the stored events, of subscription ${different[0]?.watch.subscription_id} first`,
        );
    }
    return {};
  },
});

/** The limits of the company's subscriptions, in batches. */
async function* limitsOf(ctx: Context): AsyncGenerator<SubscriptionLimit[]> {
  const tx = readTx(ctx);
  const grants = await readGrants(tx);
  const entitlements = [...grants.models.values(), ...[...grants.own.values()].flat()].flat();
  if (entitlements.length === 0) return;
  const codes = [...new Set(entitlements.map(({ feature }) => feature))];
  const features = new Map((await listFeaturesByCode(tx, codes)).map((feature) => [feature.code, feature]));
  const meters = await findMeters(
    tx,
    [...features.values()].flatMap(({ meter_id }) => meter_id ?? []),
  );
  const limit = LIMITS.watch_batch;
  for (let after_id = 0; ; ) {
    const page = await listEntitledSubscriptions(tx, grants, { after_id, limit });
    yield page.flatMap((subscription) =>
      grantedOf(subscription.billing_model.entitlements, grants.own.get(subscription.id) ?? []).flatMap(
        (entitlement) => {
          const feature = features.get(entitlement.feature);
          if (feature?.kind !== "limit" || !entitlement.enabled) return [];
          const meter = feature.meter_id === null ? null : (meters.get(feature.meter_id) ?? null);
          return [{ subscription, feature, meter, entitlement }];
        },
      ),
    );
    if (page.length < limit) return;
    after_id = page.at(-1)?.id ?? 0;
  }
}
