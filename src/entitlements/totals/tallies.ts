import type { Context } from "../../app/context.ts";
import { readTx } from "../../app/transaction.ts";
import type { Entitlement } from "../../billing/features/entitlement_model.ts";
import type { Feature } from "../../billing/features/model.ts";
import type { Meter } from "../../billing/meters/model.ts";
import { findMeters } from "../../billing/meters/queries.ts";
import { listRecordedBounds } from "../../billing/records/queries.ts";
import type { Alert } from "../alerts/model.ts";
import { listAllAlerts } from "../alerts/queries.ts";
import { isInScope } from "../alerts/rules.ts";
import type { SubscriptionLimit } from "../checks/limit_totals.ts";
import { aroundNow, listFeaturesByCode } from "../grants/queries.ts";
import { grantedOf } from "../grants/rules.ts";
import { LIMITS } from "../limits.ts";
import type { StoredSpendLimit } from "../spend_limits/queries.ts";
import {
  type CompanyGrants,
  listEntitledSubscriptions,
  type ListedSubscription,
  readGrants,
} from "./queries.ts";

/** What is counted of a subscription in windows of time: a limit, or the use that alerts are on. */
export interface Tally extends SubscriptionLimit {
  readonly feature: Pick<Feature, "id" | "code">;
  /** Those whose thresholds it is held against. */
  readonly alerts: readonly Alert[];
  /** Whether it is a limit of the subscription, which is told of when it is reached. */
  readonly is_limit: boolean;
}

/** A subscription with what is counted of it. */
export interface TalliedSubscription {
  readonly subscription: ListedSubscription;
  readonly tallies: readonly Tally[];
  /** The alerts on what it comes to, and the limits of that. */
  readonly spend_alerts: readonly Alert[];
  readonly spend_limits: readonly StoredSpendLimit[];
}

/** Whose tallies are read: those of given subscriptions, else of all after an id. */
interface Chosen {
  readonly ids?: readonly number[];
  readonly after_id?: number;
  /** Those that have ended since are counted too. Default: now. */
  readonly ended_after?: Temporal.Instant;
  /** How many in a batch. Default: as many as totals are opened of at once. */
  readonly limit?: number;
}

/** What subscriptions with limits or alerts are counted by, and held against, in batches, by id. */
export async function* talliedOf(
  ctx: Context,
  { ids, after_id: first_after = 0, ended_after = ctx.now, limit = LIMITS.watch_batch }: Chosen = {},
): AsyncGenerator<TalliedSubscription[]> {
  const tx = readTx(ctx);
  const alerts = await listAllAlerts(tx);
  const grants = await readGrants(tx, ids);
  const booked = [...grants.booked.values()].flat().map(({ entitlements: granted }) => granted);
  const entitlements = [...grants.models.values(), ...[...grants.own.values()].flat(), ...booked].flat();
  if (entitlements.length === 0 && alerts.length === 0 && grants.spend_limits.size === 0) return;
  const codes = [...entitlements, ...alerts].flatMap(({ feature }) => feature ?? []);
  const features = new Map(
    (await listFeaturesByCode(tx, [...new Set(codes)])).map((feature) => [feature.code, feature]),
  );
  const counted_by = [...features.values(), ...alerts].flatMap(({ meter_id }) => meter_id ?? []);
  const known = { alerts, grants, features, meters: await findMeters(tx, counted_by) };
  const everything = alerts.some(({ on }) => on !== "limit");
  let after_id = first_after;
  for (let rest = ids; ; rest = rest?.slice(limit)) {
    const of_batch = rest?.slice(0, limit);
    const page = await listEntitledSubscriptions(tx, grants, {
      after_id,
      limit,
      ids: of_batch,
      ended_after,
      everything,
    });
    const of_page = page.map(({ id }) => id);
    const recorded = await listRecordedBounds(tx, of_page, aroundNow(ctx.now));
    yield page.map((subscription) => tally(subscription, known, recorded.get(subscription.id) ?? []));
    if (rest === undefined ? page.length < limit : rest.length <= limit) return;
    if (rest === undefined) after_id = page.at(-1)?.id ?? 0;
  }
}

interface Known {
  readonly alerts: readonly Alert[];
  readonly grants: CompanyGrants;
  readonly features: ReadonlyMap<string, Feature>;
  readonly meters: ReadonlyMap<number, Meter>;
}

function tally(
  subscription: ListedSubscription,
  { alerts, grants, features, meters }: Known,
  recorded: SubscriptionLimit["recorded"],
): TalliedSubscription {
  const own = grants.own.get(subscription.id) ?? [];
  const booked = grants.booked.get(subscription.id) ?? [];
  const its_alerts = alerts.filter((alert) => isInScope(alert, subscription));
  const meterOf = (id: number | null) => (id === null ? null : (meters.get(id) ?? null));
  const limits = grantedOf(subscription.billing_model.entitlements, own, booked).flatMap(
    (entitlement): Tally[] => {
      const feature = features.get(entitlement.feature);
      if (feature?.kind !== "limit" || !entitlement.enabled) return [];
      const on_it = its_alerts.filter((alert) => alert.on === "limit" && alert.feature === feature.code);
      const meter = meterOf(feature.meter_id);
      return [{ subscription, feature, meter, entitlement, recorded, alerts: on_it, is_limit: true }];
    },
  );
  const uses = its_alerts.flatMap((alert): Tally[] => {
    if (alert.on !== "usage") return [];
    const feature = alert.feature === null ? undefined : features.get(alert.feature);
    const meter = meterOf(feature?.meter_id ?? alert.meter_id);
    const counted = { id: feature?.id ?? 0, code: feature?.code ?? "" };
    return [
      { subscription, feature: counted, meter, entitlement: USE, recorded, alerts: [alert], is_limit: false },
    ];
  });
  return {
    subscription,
    tallies: [...limits, ...uses],
    spend_alerts: its_alerts.filter(({ on }) => on === "spend" || on === "forecast"),
    spend_limits: grants.spend_limits.get(subscription.id) ?? [],
  };
}

/** The use of a billing period, without a bound. */
const USE: Entitlement = {
  feature: "",
  enabled: true,
  limit: null,
  window: "month",
  hard: false,
  per: null,
  value: null,
};
