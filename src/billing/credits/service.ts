import type { Context } from "../../app/context.ts";
import { operation } from "../../app/operation.ts";
import { type Scope, scopeOf } from "../../core/access.ts";
import { LIMITS } from "../limits.ts";
import { AppError, invalid, notFound } from "../../core/errors.ts";
import { type Bounds, isSameStart, periodContaining, type ZoneTimeline } from "../../core/periods.ts";
import { ById, Nothing } from "../../core/schema.ts";
import { type IsoInstant, instant, iso, later } from "../../core/time.ts";
import type { Queries, ReadTx } from "../../store/store.ts";
import {
  type PlannedChange,
  findNewModel,
  requestChange,
  type ChangeTimeline,
} from "../billing_model_changes/apply_change.ts";
import { BillingModelChange } from "../billing_model_changes/model.ts";
import { validateChange, earliestEffectiveAt } from "../billing_model_changes/rules.ts";
import { timelineOf } from "../runs/meter_usage.ts";
import { listRecordedBounds } from "../records/queries.ts";
import type { CreditMonth } from "../rating/charges.ts";
import type { DuePeriod } from "../runs/outcomes.ts";
import { type BillableSubscription, listBillable } from "../runs/billable.ts";
import { priceTermsOf } from "../billing_models/price_terms.ts";
import type { EventType } from "../../webhooks/events/model.ts";
import { recordEvents } from "../../webhooks/events/queries.ts";
import { findSubscription, listZones } from "../subscriptions/queries.ts";
import { ChangePlan, CreditBalance, THRESHOLDS, RecordedThresholds } from "./model.ts";
import { creditMonths } from "./credit_months.ts";
import * as queries from "./queries.ts";
import { balanceOf, checkPlans, creditsAdded, reached, thresholdCredits, watchedInstants } from "./rules.ts";

/**
 * Tells the credits of a subscription in its running billing month, as its bill would have them by now. Errors:
 * not_found, for a client user also when it is another client's; malformed when the subscription is not
 * credit-based. Decision 0067.
 */
export const getCredits = operation({
  name: "get_credits",
  permission: "subscriptions:read",
  input: ById,
  output: CreditBalance,
  async run(ctx, { id }) {
    const { store, actor, now } = ctx;
    const scope = scopeOf(actor);
    const subscription = await findSubscription({ q: store.read, scope, now }, id);
    if (!subscription) throw notFound("Subscription", id);
    const { billing_model } = subscription;
    if (billing_model.credit_plan === null) {
      throw new AppError(
        "malformed",
        `Cannot tell the credits of subscription ${id}: its billing model is not credit-based`,
      );
    }
    const zones = await listZones({ q: store.read, scope, now });
    const [facts] = await listBillable({ q: store.read, scope, now }, { ids: [id], limit: 1 });
    const recorded = (await listRecordedBounds({ q: store.read, scope, now }, [id])).get(id);
    const running = facts ? [monthOf(facts, now, zones, recorded)] : [];
    const [month = null] = await creditMonths(ctx, scope, running);
    return balanceOf(billing_model, billing_model.credit_plan, month);
  },
});

/**
 * Puts a subscription on a credit plan with more credits, at once: the difference is added to the running month
 * by the days that are left. A downgrade that waits is cancelled. Errors: not_found, invalid when the plan does
 * not have more credits or can't take over. Decision 0067.
 */
export const upgradeSubscription = operation({
  name: "upgrade_subscription",
  permission: "subscriptions:write",
  target: "billing_model_change",
  input: ChangePlan,
  output: BillingModelChange,
  run(ctx, { id, new_billing_model_id }) {
    const scope = scopeOf(ctx.actor);
    return requestChange(
      ctx,
      scope,
      id,
      async (q, current) => {
        const model = await findNewModel({ q, scope, now: ctx.now }, current, new_billing_model_id);
        checkPlans("upgrade", current.subscription.billing_model, model);
        const from = earliestEffectiveAt(current.changes, ctx.now);
        const planned = placePlan(current, "upgrade", new_billing_model_id, iso(from));
        const [facts] = await listBillable({ q, scope, now: ctx.now }, { ids: [id], limit: 1 });
        if (!facts) throw notFound("Subscription", id);
        const { started_at, ends_at } = facts;
        const life = { timeline: timelineOf(facts), started_at, ends_at };
        const { period } = monthOf(facts, from, current.zones);
        return {
          ...planned,
          credits_added: creditsAdded(life, period, { model: priceTermsOf(model), from }),
        };
      },
      noting(ctx, scope, "credits.upgraded"),
    );
  },
});

/**
 * Puts a subscription on a credit plan with fewer credits from its next billing month on. It takes the place of
 * a downgrade that waits. Errors: not_found, invalid when the plan does not have fewer credits or can't take
 * over then. Decision 0067.
 */
export const downgradeSubscription = operation({
  name: "downgrade_subscription",
  permission: "subscriptions:write",
  target: "billing_model_change",
  input: ChangePlan,
  output: BillingModelChange,
  run(ctx, { id, new_billing_model_id }) {
    const scope = scopeOf(ctx.actor);
    return requestChange(
      ctx,
      scope,
      id,
      async (q, current) => {
        const model = await findNewModel({ q, scope, now: ctx.now }, current, new_billing_model_id);
        const { subscription, zones } = current;
        checkPlans("downgrade", subscription.billing_model, model);
        const { started_at, billing_anchor_day } = subscription;
        const live = later(ctx.now, instant(started_at));
        const next_month = periodContaining(live, billing_anchor_day, zones).to;
        const planned = placePlan(current, "downgrade", new_billing_model_id, iso(next_month));
        return { ...planned, after_period_at: iso(live) };
      },
      noting(ctx, scope, "credits.downgrade_scheduled"),
    );
  },
});

/**
 * Tells of every subscription that has used up 80 or 100 percent of its month's credits, once a month each.
 * May run twice at once. Decision 0068.
 */
export const tellThresholds = operation({
  name: "tell_thresholds",
  permission: "subscriptions:write",
  unaudited: true,
  input: Nothing,
  output: RecordedThresholds,
  async run(ctx) {
    const scope = scopeOf(ctx.actor);
    const { read } = ctx.store;
    const zones = await listZones({ q: read, scope, now: ctx.now });
    const [, since] = watchedInstants(ctx.now);
    let told = 0;
    let after_id = 0;
    while (!ctx.background.is_stopping) {
      const batch = { after_id, limit: LIMITS.credits_batch };
      const ids = await queries.listCreditSubscriptions({ q: read, scope, now: ctx.now }, since, batch);
      const last = ids.at(-1);
      if (last === undefined) break;
      told += await recordBatch(ctx, scope, zones, ids);
      after_id = last;
    }
    return { told };
  },
});

/** `recorded`: bounds on record, from which the month goes on. */
function monthOf(
  subscription: BillableSubscription,
  at: Temporal.Instant,
  zones: ZoneTimeline,
  recorded: readonly Bounds[] = [],
): DuePeriod {
  return { subscription, period: periodContaining(at, subscription.billing_anchor_day, zones, recorded) };
}

/** The change of plan that may be made, in place of the downgrades that wait. Errors: invalid. */
function placePlan(
  { subscription, changes }: ChangeTimeline,
  kind: "upgrade" | "downgrade",
  new_billing_model_id: number,
  effective_at: IsoInstant,
): PlannedChange {
  const waiting = changes.filter((change) => change.status === "scheduled" && change.kind === "downgrade");
  const path = "/new_billing_model_id";
  if (
    kind === "downgrade" &&
    waiting.some((change) => change.new_billing_model_id === new_billing_model_id)
  ) {
    throw invalid(path, "is a duplicate schedule: the downgrade to it waits already");
  }
  const rest = changes.filter((change) => !waiting.includes(change));
  const placed = validateChange(subscription, rest, { new_billing_model_id, effective_at });
  if ("field" in placed) {
    if (placed.field === "new_billing_model_id") throw invalid(path, placed.message);
    throw invalid(path, `can't be changed to at ${effective_at}: the instant ${placed.message}`);
  }
  const replaces = waiting.map(({ id }) => id);
  const is_applied = kind === "upgrade";
  return { ...placed, new_billing_model_id, effective_at, kind, credits_added: null, replaces, is_applied };
}

/** Tells of a change of plan beside what is told of every change. */
function noting({ now }: Context, scope: Scope, type: EventType) {
  return async (q: Queries, change: BillingModelChange): Promise<void> => {
    const { id, subscription_id, new_billing_model_id, effective_at, credits_added } = change;
    const data = { id, subscription_id, new_billing_model_id, effective_at, credits_added };
    await recordEvents({ q, scope, now }, [{ type, data }]);
  };
}

const LONGEST_MONTH_DAYS = 31;

async function recordBatch(
  ctx: Context,
  scope: Scope,
  zones: ZoneTimeline,
  ids: readonly number[],
): Promise<number> {
  const { store, now } = ctx;
  const months = await unrecordedMonths({ q: store.read, scope, now }, zones, ids);
  const months_counted = await creditMonths(ctx, scope, months);
  const rows = months.flatMap(({ subscription, month_start }, i) =>
    thresholdsOf(months_counted[i] ?? null).map((threshold) => ({
      subscription_id: subscription.id,
      month_start,
      threshold,
    })),
  );
  if (rows.length === 0) return 0;
  const credits = new Map(months.map((month, i) => [keyOf(month), months_counted[i] ?? null]));
  return store.tx(async (q) => {
    const fresh = await queries.insertThresholds({ q, scope, now }, rows);
    const events = fresh.map(({ subscription_id, month_start, threshold }) => {
      const month = credits.get(`${subscription_id} ${month_start}`);
      const allocated = thresholdCredits(month?.allocated ?? 0n);
      const consumed = thresholdCredits(month?.consumed ?? 0n);
      const data = { subscription_id, month_start, threshold, allocated, consumed };
      return { type: "credits.threshold_reached" as const, data };
    });
    await recordEvents({ q, scope, now }, events);
    return fresh.length;
  });
}

function thresholdsOf(month: CreditMonth | null) {
  return month ? reached(month) : [];
}

/** A month of a subscription, and the start that it is told by: the one that was told first, whatever a zone's rules say since. */
interface WatchedMonth extends DuePeriod {
  readonly month_start: IsoInstant;
}

function keyOf({ subscription, month_start }: WatchedMonth): string {
  return `${subscription.id} ${month_start}`;
}

/** The months to look at: the running one and, just after its start, the one before; not those told of whole. */
async function unrecordedMonths(
  tx: ReadTx,
  zones: ZoneTimeline,
  ids: readonly number[],
): Promise<WatchedMonth[]> {
  const [latest, earliest] = watchedInstants(tx.now);
  const facts = await listBillable(tx, { ids, limit: ids.length });
  // Those that the months go on from.
  const around = { from: earliest.subtract({ hours: 24 * LONGEST_MONTH_DAYS }), to: latest };
  const recorded = await listRecordedBounds(tx, ids, around);
  const since = iso(earliest.subtract({ hours: 24 * 2 * LONGEST_MONTH_DAYS }));
  const thresholds_recorded = Map.groupBy(
    await queries.listRecordedThresholds(tx, ids, since),
    ({ subscription_id }) => subscription_id,
  );
  const months = facts.flatMap((subscription) =>
    [latest, earliest].flatMap((at): WatchedMonth[] => {
      const month = monthOf(subscription, at, zones, recorded.get(subscription.id));
      const { from } = month.period;
      const rows_of_month = (thresholds_recorded.get(subscription.id) ?? []).filter((row) =>
        isSameStart(instant(row.month_start), from),
      );
      const is_told = new Set(rows_of_month.map(({ threshold }) => threshold)).size === THRESHOLDS.length;
      return is_told ? [] : [{ ...month, month_start: rows_of_month[0]?.month_start ?? iso(from) }];
    }),
  );
  return [...new Map(months.map((month) => [keyOf(month), month])).values()];
}
