import type { Context } from "../../app/context.ts";
import { readTx } from "../../app/transaction.ts";
import type { Feature } from "../../billing/features/model.ts";
import type { Meter } from "../../billing/meters/model.ts";
import { findMeter } from "../../billing/meters/queries.ts";
import { listZones } from "../../billing/subscriptions/queries.ts";
import { invalid } from "../../core/errors.ts";
import { compare, type Decimal, readDecimal, toBig } from "../../core/money.ts";
import type { ZoneTimeline } from "../../core/periods.ts";
import { instant, iso } from "../../core/time.ts";
import {
  type EntitledSubscription,
  findEntitledByExternalId,
  findFeatureByCode,
  listOwn,
} from "../grants/queries.ts";
import { grantedOf } from "../grants/rules.ts";
import { type SubscriptionLimit, totalsOf, usedAt } from "./limit_totals.ts";
import type { CheckedUsage, CheckUsage, Reason } from "./model.ts";
import { decide, type Decision, remainingOf } from "./rules.ts";

type CheckContext = Pick<Context, "limits" | "usage" | "actor" | "now" | "store">;

/** What a check asks, with the records that it names. */
export interface Question {
  readonly subscription: EntitledSubscription;
  readonly feature: Feature;
  readonly units: Decimal;
  readonly group: Readonly<Record<string, string>>;
  readonly zones: ZoneTimeline;
  readonly limits: readonly SubscriptionLimit[];
  /** Why it is refused whatever was used. */
  readonly refused: Reason | null;
}

/** Finds what a check names, and by which limits it is decided. Errors: invalid. */
export async function readQuestion(ctx: CheckContext, input: CheckUsage): Promise<Question> {
  const tx = readTx(ctx);
  const units = readUnits(input.units ?? "1");
  const [subscription, feature, zones] = await Promise.all([
    findEntitledByExternalId(tx, input.external_subscription_id),
    findFeatureByCode(tx, input.feature),
    listZones(tx),
  ]);
  if (!subscription) throw invalid("/external_subscription_id", "names no subscription of this company");
  if (!feature) throw invalid("/feature", "names no feature of this company");
  const [own, meter] = await Promise.all([
    listOwn(tx, subscription.id),
    feature.meter_id === null ? undefined : findMeter(tx, feature.meter_id),
  ]);
  const granted = grantedOf(subscription.billing_model.entitlements, own).filter(
    (entitlement) => entitlement.enabled && entitlement.feature === feature.code,
  );
  const { group = {} } = input;
  checkGroup(group, meter);
  if (input.reserve_s !== undefined && feature.kind !== "limit")
    throw invalid("/reserve_s", `must be left out: feature ${feature.code} is of kind ${feature.kind}`);
  const limits =
    feature.kind === "limit"
      ? granted.map((entitlement) => ({ subscription, feature, meter: meter ?? null, entitlement }))
      : [];
  const missing = limits.find(({ entitlement: { per } }) => per !== null && group[per] === undefined);
  if (missing) throw invalid("/group", `must name ${missing.entitlement.per}: a limit is per value of it`);
  const refused = refusalOf(subscription, granted.length > 0, ctx.now);
  return { subscription, feature, units, group, zones, limits, refused };
}

/** Decides by the totals and holds of this turn of the loop, and calls `then` in the same turn. */
export async function answer<T>(
  ctx: CheckContext,
  { limits, zones, group, units, refused }: Question,
  then: (decision: Decision) => T,
): Promise<T> {
  if (refused !== null) return then({ allowed: false, reason: refused, shown: null, certain: true });
  const totals = await totalsOf(ctx, zones, limits);
  const used = limits.map((limit, i) =>
    usedAt(
      ctx,
      limit,
      totals[i] ?? null,
      limit.entitlement.per === null ? null : (group[limit.entitlement.per] ?? null),
    ),
  );
  return then(decide(used, units, IF_UNCERTAIN));
}

/** While totals are not certain, checks refuse: a hard limit is never passed. */
const IF_UNCERTAIN = "deny";

/** A decision on the wire; with the units of a reservation that it has made. */
export function toAnswer(
  { allowed, reason, shown, certain }: Decision,
  reservation: CheckedUsage["reservation"] = null,
): CheckedUsage {
  return {
    allowed,
    reason,
    limit: shown?.limit ?? null,
    used: shown?.used ?? null,
    reserved: shown?.reserved ?? null,
    remaining: shown === null ? null : remainingOf(shown),
    resets_at:
      shown === null || shown.resets_ms === null
        ? null
        : iso(Temporal.Instant.fromEpochMilliseconds(shown.resets_ms)),
    hard: shown?.hard ?? null,
    reservation,
    certain,
  };
}

function refusalOf(
  { started_at, ends_at }: EntitledSubscription,
  is_granted: boolean,
  now: Temporal.Instant,
): Reason | null {
  if (ends_at !== null && Temporal.Instant.compare(instant(ends_at), now) <= 0) return "subscription_ended";
  const has_begun = Temporal.Instant.compare(instant(started_at), now) <= 0;
  return is_granted && has_begun ? null : "no_feature";
}

/** Units have as many decimals as usage. Errors: invalid. */
function readUnits(given: string | number): Decimal {
  const units = readDecimal(given, "/units");
  const is_short = toBig(units).round(6).eq(units);
  if (compare(units, "0") < 0 || !is_short)
    throw invalid("/units", "must be 0 or more, with at most six decimals");
  return units;
}

/** Errors: invalid for a key that is none of the meter's. */
function checkGroup(group: Readonly<Record<string, string>>, meter: Meter | undefined): void {
  const keys = meter?.group_keys ?? [];
  const unknown = Object.keys(group).find((key) => !keys.includes(key));
  if (unknown === undefined) return;
  const known = keys.length === 0 ? "the feature's meter has none" : `known are ${keys.join(", ")}`;
  throw invalid("/group", `must have group keys of the feature's meter only: ${known}`);
}
