import type { Context } from "../../app/context.ts";
import type { HeldScope, KeyedWatch } from "../../app/live_limits.ts";
import type { Entitlement } from "../../billing/features/entitlement_model.ts";
import type { Feature } from "../../billing/features/model.ts";
import type { Meter } from "../../billing/meters/model.ts";
import { scopeOf } from "../../core/access.ts";
import type { Bounds, ZoneTimeline } from "../../core/periods.ts";
import { instant, withTimeout } from "../../core/time.ts";
import { ALL_USAGE, type MeterTerms } from "../../usage_store/meter.ts";
import type { Calendar, WatchedTotals } from "../../usage_store/running_totals.ts";
import type { EntitledSubscription } from "../grants/queries.ts";
import { calendarOf, nameOf } from "../grants/windows.ts";
import { LIMITS } from "../limits.ts";
import type { UsedLimit } from "./rules.ts";

/** A limit of a subscription: an entitlement to a feature of kind limit, by what is counted. */
export interface SubscriptionLimit {
  readonly subscription: Pick<EntitledSubscription, "id" | "started_at" | "billing_anchor_day">;
  readonly feature: Pick<Feature, "id">;
  /** Null: all usage. */
  readonly meter: Meter | null;
  readonly entitlement: Entitlement;
  /** Bounds on record of the subscription's billing periods around now. */
  readonly recorded: readonly Bounds[];
}

/** The watch of a limit, from now on; null for a limit that no window cuts. */
export function watchOf(
  company_id: number,
  zones: ZoneTimeline,
  { subscription, meter, entitlement, recorded }: SubscriptionLimit,
  now: Temporal.Instant,
): KeyedWatch | null {
  const { window, per } = entitlement;
  if (window === null) return null;
  const { id: subscription_id, started_at, billing_anchor_day } = subscription;
  const since_ms = instant(started_at).epochMilliseconds;
  const place = { zones, billing_anchor_day, since_ms, recorded };
  const terms = meter === null ? ALL_USAGE : termsOf(meter);
  const name = nameOf(window, place);
  return {
    key: JSON.stringify([company_id, subscription_id, since_ms, name, per, terms]),
    company_id,
    subscription_id,
    meter: terms,
    per,
    since_ms,
    // Alerts ask in the window before too, for a while; and so may a call that began a moment earlier.
    from_ms: Math.max(now.epochMilliseconds - LIMITS.alert_late_ms, since_ms),
    calendar: lazily(name, () => calendarOf(window, place)),
  };
}

/** The totals of limits, in their order; null for one that no window cuts. Waits a moment for those that are being counted. */
export async function totalsOf(
  ctx: Pick<Context, "limits" | "usage" | "actor" | "now">,
  zones: ZoneTimeline,
  limits: readonly SubscriptionLimit[],
): Promise<(WatchedTotals | null)[]> {
  const { company_id } = scopeOf(ctx.actor);
  const watches = limits.map((limit) => watchOf(company_id, zones, limit, ctx.now));
  const totals = ctx.limits.totalsOf(watches.filter((watch) => watch !== null)).values();
  const found = watches.map((watch) => (watch === null ? null : (totals.next().value ?? null)));
  if (found.some((total) => total?.is_certain === false))
    await withTimeout(ctx.usage.running_totals.counted(), LIMITS.certain_wait_ms);
  return found;
}

/** How far a limit is used at an instant; `value` is of its group key. In one turn of the loop with what depends on it. */
export function usedAt(
  { limits, now }: Pick<Context, "limits" | "now">,
  { subscription, feature, entitlement }: SubscriptionLimit,
  totals: WatchedTotals | null,
  value: string | null,
): UsedLimit {
  const { limit, hard, per } = entitlement;
  const now_ms = now.epochMilliseconds;
  const held: HeldScope = {
    subscription_id: subscription.id,
    feature_id: feature.id,
    per: per === null ? null : { key: per, value: value ?? "" },
  };
  const total =
    totals === null ? { quantity: "0", certain: true } : totals.at(now_ms, per === null ? undefined : value);
  const end_ms = entitlement.window === "life" ? null : (totals?.watch.calendar.at(now_ms).end_ms ?? null);
  return {
    limit,
    hard,
    used: total.quantity,
    // Nothing can be held of what has no value of the key: a check names one.
    reserved: per !== null && value === null ? "0" : limits.heldAt(now_ms, held),
    certain: total.certain,
    resets_ms: end_ms,
  };
}

function termsOf({ aggregation, value, filters, percentile, carry_over }: Meter): MeterTerms {
  return { aggregation, value, filters, percentile, carry_over };
}

/** A calendar that is made when it is first asked. */
function lazily(name: string, make: () => Calendar): Calendar {
  let made: Calendar | undefined;
  return { name, at: (ms) => (made ??= make()).at(ms) };
}
