import type { Context } from "../../app/context.ts";
import { readTx } from "../../app/transaction.ts";
import type { Feature } from "../../billing/features/model.ts";
import type { Meter } from "../../billing/meters/model.ts";
import { listZones } from "../../billing/subscriptions/queries.ts";
import { scopeOf } from "../../core/access.ts";
import { invalid } from "../../core/errors.ts";
import { compare, type Decimal, readDecimal, toBig } from "../../core/money.ts";
import type { ZoneTimeline } from "../../core/periods.ts";
import { instant, iso } from "../../core/time.ts";
import { findIfUncertain } from "../../tenancy/companies/queries.ts";
import {
  type EntitledSubscription,
  listBookedGrants,
  listOwn,
  listRecordedAround,
} from "../grants/queries.ts";
import { grantedOf } from "../grants/rules.ts";
import { listSpendLimits, type StoredSpendLimit } from "../spend_limits/queries.ts";
import { type SubscriptionLimit, totalsOf, usedAt } from "./limit_totals.ts";
import type { CheckedUsage, CheckUsage, Reason } from "./model.ts";
import { findNamed } from "./queries.ts";
import { decide, decideSpend, type Decision, remainingOf, type UsedLimit } from "./rules.ts";

type CheckContext = Pick<Context, "limits" | "usage" | "actor" | "now" | "store">;

/** What a check asks, with the records that it names. */
export interface Question {
  readonly subscription: EntitledSubscription;
  readonly feature: Feature;
  /** What the feature counts by; null: all usage. */
  readonly meter: Meter | null;
  readonly units: Decimal;
  readonly group: Readonly<Record<string, string>>;
  readonly zones: ZoneTimeline;
  readonly limits: readonly SubscriptionLimit[];
  readonly spend_limits: readonly StoredSpendLimit[];
  /** Why it is refused whatever was used. */
  readonly refused: Reason | null;
}

/** Finds what a check names, and by which limits it is decided. Errors: invalid. */
export async function readQuestion(ctx: CheckContext, input: CheckUsage): Promise<Question> {
  const tx = readTx(ctx);
  const units = readUnits(input.units ?? "1");
  const { external_subscription_id: external_id, feature: code } = input;
  const [named, zones] = await Promise.all([findNamed(tx, { external_id, feature: code }), listZones(tx)]);
  if (!named) throw invalid("/external_subscription_id", "names no subscription of this company");
  const { subscription, feature, meter } = named;
  if (!feature) throw invalid("/feature", "names no feature of this company");
  const [recorded, own, booked, spend_limits] = await Promise.all([
    listRecordedAround(tx, subscription.id),
    named.has_own ? listOwn(tx, subscription.id) : [],
    named.has_booked ? listBookedGrants(tx, subscription.id) : [],
    named.has_spend_limits ? listSpendLimits(tx, subscription.id) : [],
  ]);
  const granted = grantedOf(subscription.billing_model.entitlements, own, booked).filter(
    (entitlement) => entitlement.enabled && entitlement.feature === feature.code,
  );
  const { group = {} } = input;
  checkGroup(group, meter);
  if (input.reserve_s !== undefined && feature.kind !== "limit")
    throw invalid("/reserve_s", `must be left out: feature ${feature.code} is of kind ${feature.kind}`);
  const limits =
    feature.kind === "limit"
      ? granted.map((entitlement) => ({ subscription, feature, meter, entitlement, recorded }))
      : [];
  const missing = limits.find(({ entitlement: { per } }) => per !== null && valueIn(group, per) === null);
  if (missing) throw invalid("/group", `must name ${missing.entitlement.per}: a limit is per value of it`);
  const refused = refusalOf(subscription, granted.length > 0, ctx.now);
  return { subscription, feature, meter, units, group, zones, limits, spend_limits, refused };
}

/** Decides by the totals and holds of this turn of the loop, and calls `then` in the same turn. */
export async function answer<T>(
  ctx: CheckContext,
  { subscription, limits, spend_limits, zones, group, units, refused }: Question,
  then: (decision: Decision) => T,
): Promise<T> {
  if (refused !== null) return then({ allowed: false, reason: refused, shown: null, certain: true });
  const totals = await totalsOf(ctx, zones, limits);
  const used = () =>
    limits.map((limit, i) =>
      usedAt(
        ctx,
        limit,
        totals[i] ?? null,
        limit.entitlement.per === null ? null : valueIn(group, limit.entitlement.per),
      ),
    );
  const { company_id } = scopeOf(ctx.actor);
  const spent = () =>
    ctx.limits.spendingOf(company_id).at(subscription.id, ctx.now.epochMilliseconds)?.amount ?? null;
  const decideBy = (uses: readonly UsedLimit[], if_uncertain: "allow" | "deny") =>
    then(decideSpend(decide(uses, units, if_uncertain), spend_limits, spent(), if_uncertain));
  const uses = used();
  const is_certain = uses.every(({ certain }) => certain) && (spend_limits.length === 0 || spent() !== null);
  if (is_certain) return decideBy(uses, "deny");
  const if_uncertain = await findIfUncertain(readTx(ctx));
  // Others were answered meanwhile.
  return decideBy(used(), if_uncertain);
}

/** The value of a group key that a check names. Any key may be one, such as constructor. */
const valueIn = (group: Question["group"], key: string) =>
  (Object.hasOwn(group, key) ? group[key] : undefined) ?? null;

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
function checkGroup(group: Readonly<Record<string, string>>, meter: Meter | null): void {
  const keys = meter?.group_keys ?? [];
  const unknown = Object.keys(group).find((key) => !keys.includes(key));
  if (unknown === undefined) return;
  const known = keys.length === 0 ? "the feature's meter has none" : `known are ${keys.join(", ")}`;
  throw invalid("/group", `must have group keys of the feature's meter only: ${known}`);
}
