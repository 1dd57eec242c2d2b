import type { Context } from "../../app/context.ts";
import type { Decimal } from "../../core/money.ts";
import { iso } from "../../core/time.ts";
import type { NewEvent } from "../../webhooks/events/model.ts";
import type { Total, WatchedTotals } from "../../usage_store/running_totals.ts";
import { LIMITS } from "../limits.ts";
import type { Tally, TalliedSubscription } from "../totals/tallies.ts";
import type { NewFiring } from "./firing_queries.ts";
import type { Alert } from "./model.ts";
import { digestOf } from "./rules.ts";
import { amountSteps, percentSteps, reachedSteps, type Scale, scaleOf, type Step } from "./scales.ts";

/** A threshold that is reached: what is told of it, unless it was told already. */
export interface Reached {
  readonly firing: NewFiring;
  readonly type: Extract<NewEvent["type"], "alert.reached" | "limit.reached" | "spend_limit.reached">;
  /** What its event says beside the firing. */
  readonly told: NewEvent["data"];
}

/** A value of a scale: that of a group, where it is per a group key. */
interface Value {
  readonly quantity: Decimal;
  readonly certain: boolean;
  readonly group: string | null;
}

/** Values that are held against a scale, and what is told of a step. */
export interface Held {
  readonly scale: Scale;
  readonly values: Iterable<Value>;
  /** Its only value as it is by now; null where there are several, or one that is not kept by each commit. */
  readonly current: (() => Total) | null;
  readonly tellOf: (step: Step) => Pick<Reached, "type" | "told">;
}

/** What a value has come to beyond what was told of it. */
export interface NewlyReached {
  readonly key: string;
  readonly group: string | null;
  /** How many steps of its scale that are in all. */
  readonly steps: number;
  readonly reached: readonly Reached[];
}

type Told = Pick<Context["limits"]["changes"], "stepsTold" | "groupsTold">;

/** What values have come to beyond what was told, and null for each that came to nothing new: there may be thousands. */
export function* newlyReached(held: Iterable<Held>, told: Told): Generator<NewlyReached | null> {
  for (const { scale, values, tellOf } of held) {
    let groups = told.groupsTold(scale.key);
    for (const { quantity, certain, group } of values) {
      // An event without the key is of no value that the limit is of.
      const counts = certain && (scale.per === null || group !== null);
      const known = counts ? told.stepsTold(scale.key, group) : 0;
      const steps = counts ? reachedSteps(scale, quantity, known) : 0;
      if (steps <= known || (known === 0 && groups >= LIMITS.alert_groups)) {
        yield null;
        continue;
      }
      if (known === 0) groups++;
      const reached = scale.steps
        .slice(known, steps)
        .map((step) => ({ ...tellOf(step), firing: firingOf(scale, step, quantity, group) }));
      yield { key: scale.key, group, steps, reached };
    }
  }
}

/** What a tally's totals are held against in the windows of now and of a moment ago. */
export function* heldTally(
  { subscription, feature, entitlement, alerts, is_limit, meter }: Tally,
  totals: WatchedTotals,
  now_ms: number,
): Generator<Held> {
  const { window, per, limit, hard } = entitlement;
  if (window === null || (is_limit && limit === null)) return;
  const steps =
    is_limit && limit !== null
      ? [null, ...alerts].flatMap((alert) => percentSteps(limit, alert))
      : alerts.flatMap(amountSteps);
  for (const at_ms of instantsOf(totals, now_ms)) {
    const of = {
      subscription_id: subscription.id,
      counted: is_limit ? `limit ${feature.code}` : `use ${feature.code} ${meter?.id ?? ""}`,
      window,
      bounds: totals.watch.calendar.at(at_ms),
      limit: is_limit ? limit : null,
      per,
    };
    yield {
      scale: scaleOf(of, steps),
      values: per === null ? [{ ...totals.at(at_ms), group: null }] : totals.groupsAt(at_ms),
      current: per === null ? () => totals.at(at_ms) : null,
      tellOf: ({ alert }) =>
        alert === null
          ? { type: "limit.reached", told: { feature: feature.code, hard } }
          : { type: "alert.reached", told: toldByAlert(alert) },
    };
  }
}

type RatedCharges = Pick<ReturnType<Context["limits"]["spendingOf"]>, "at">;

/** What a subscription comes to is held against, as far as it was rated. */
export function* heldSpending(
  { subscription: { id, currency }, spend_alerts, spend_limits }: TalliedSubscription,
  spending: RatedCharges,
  now_ms: number,
): Generator<Held> {
  if (spend_alerts.length + spend_limits.length === 0) return;
  const spent = spending.at(id, now_ms);
  if (spent === undefined) return;
  const { before, projected } = spent;
  const hold = (
    counted: string,
    { period, value, limit = null }: { period: Spending; value: Decimal; limit?: Decimal | null },
    steps: readonly Step[],
    tellOf: Held["tellOf"],
  ): Held => {
    const bounds = { start_ms: period.from_ms, end_ms: period.until_ms };
    const of = { subscription_id: id, counted, window: "month" as const, bounds, limit, per: null };
    const values = [{ quantity: value, certain: true, group: null }];
    return { scale: scaleOf(of, steps), values, current: null, tellOf };
  };
  const ofAlerts = (on: "spend" | "forecast", period: Spending, value: Decimal): Held => {
    const steps = spend_alerts.filter((alert) => alert.on === on).flatMap(amountSteps);
    return hold(on, { period, value }, steps, ({ alert }) => ({
      type: "alert.reached",
      told: alert === null ? {} : toldByAlert(alert),
    }));
  };
  if (projected !== null) yield ofAlerts("forecast", spent, projected);
  for (const period of before === null ? [spent] : [spent, before]) {
    const value = period.amount;
    yield ofAlerts("spend", period, value);
    for (const { set_by, hard, amount: limit } of spend_limits)
      yield hold(`spend ${set_by}`, { period, value, limit }, percentSteps(limit, null), () => ({
        type: "spend_limit.reached",
        told: { set_by, hard, currency },
      }));
  }
}

interface Spending {
  readonly from_ms: number;
  readonly until_ms: number;
}

/** An instant in the window of now, and one in the window before while that has ended a moment ago. */
function instantsOf({ watch, floor_ms }: WatchedTotals, now_ms: number): number[] {
  if (now_ms < watch.since_ms) return [];
  const earlier_ms = Math.max(now_ms - LIMITS.alert_late_ms, watch.since_ms, floor_ms);
  const { start_ms } = watch.calendar.at(now_ms);
  return earlier_ms >= start_ms ? [now_ms] : [now_ms, start_ms - 1];
}

function toldByAlert({ id, on, feature, currency }: Alert): Reached["told"] {
  return { alert_id: id, on, feature, currency };
}

function firingOf(
  { subscription_id, counted, window, bounds: { start_ms, end_ms }, limit, per }: Scale,
  { threshold, alert }: Step,
  value: Decimal,
  group: string | null,
): NewFiring {
  const alert_id = alert?.id ?? null;
  const of = { alert_id, subscription_id, window, per, group, limit, threshold };
  return {
    ...of,
    digest: digestOf({ ...of, counted, start_ms }),
    value,
    window_start: isoOf(start_ms),
    window_end: window === "life" ? null : isoOf(end_ms),
  };
}

const isoOf = (ms: number) => iso(Temporal.Instant.fromEpochMilliseconds(ms));

/** The event of a firing. The value of its group key is in the firing, since it may name a person. */
export function eventOf({ firing, type, told }: Reached, firing_id: number, at: string): NewEvent {
  const { subscription_id, threshold, value, limit, window, window_start, window_end, per } = firing;
  const of = { subscription_id, ...told, threshold, value, limit };
  return { type, data: { firing_id, ...of, window, window_start, window_end, per, at } };
}
