import { operation } from "../../app/operation.ts";
import { readTx } from "../../app/transaction.ts";
import { LIMITS } from "../limits.ts";
import { AppError, invalid, notFound, orNotFound } from "../../core/errors.ts";
import { periodContaining } from "../../core/periods.ts";
import { ById, Nothing } from "../../core/schema.ts";
import { type IsoInstant, instant, iso, later } from "../../core/time.ts";
import type { Tx } from "../../store/store.ts";
import type { ChangeTimeline } from "../billing_model_changes/change_timeline.ts";
import { BillingModelChange } from "../billing_model_changes/model.ts";
import { findNewModel, type PlannedChange, requestChange } from "../billing_model_changes/request_change.ts";
import { earliestEffectiveAt, validateChange } from "../billing_model_changes/rules.ts";
import { listRecordedBounds } from "../records/queries.ts";
import { timelineOf } from "../runs/billable.ts";
import { listBillable } from "../runs/billable_queries.ts";
import { priceTermsOf } from "../billing_models/price_terms.ts";
import type { EventType } from "../../webhooks/events/model.ts";
import { recordEvents } from "../../webhooks/events/queries.ts";
import { findSubscription, listZones } from "../subscriptions/queries.ts";
import { ChangePlan, CreditBalance, RecordedThresholds } from "./model.ts";
import { creditMonths, monthOf } from "./credit_months.ts";
import * as queries from "./queries.ts";
import { recordThresholds } from "./record_thresholds.ts";
import { balanceOf, checkPlans, creditsAdded, watchedInstants } from "./rules.ts";

/**
 * Finds a subscription's credits in its running billing month, by the same rule as its bill. Errors: not_found, for a
 * client user also when it is another client's; malformed when the subscription is not credit-based. Decision 0067.
 */
export const getCredits = operation({
  name: "get_credits",
  permission: "subscriptions:read",
  input: ById,
  output: CreditBalance,
  async run(ctx, { id }) {
    const tx = readTx(ctx);
    const { billing_model } = orNotFound(await findSubscription(tx, id), "Subscription", id);
    if (billing_model.credit_plan === null) {
      throw new AppError(
        "malformed",
        `Cannot tell the credits of subscription ${id}: its billing model is not credit-based`,
      );
    }
    const zones = await listZones(tx);
    const [billable] = await listBillable(tx, { ids: [id], limit: 1 });
    const recorded = (await listRecordedBounds(tx, [id])).get(id);
    const running = billable ? [monthOf(billable, tx.now, zones, recorded)] : [];
    const [month = null] = await creditMonths(ctx, running);
    return balanceOf(billing_model, billing_model.credit_plan, month);
  },
});

/**
 * Upgrades a subscription to a credit plan with more credits, at once: the difference is added to the running month,
 * prorated by the days left. A waiting downgrade is cancelled. Errors: not_found; invalid when the plan does not have
 * more credits or the timeline does not allow it. Decision 0067.
 */
export const upgradeSubscription = operation({
  name: "upgrade_subscription",
  permission: "subscriptions:write",
  target: "billing_model_change",
  input: ChangePlan,
  output: BillingModelChange,
  run: (ctx, { id, new_billing_model_id }) =>
    requestChange(
      ctx,
      id,
      async (tx, current) => {
        const model = await findNewModel(tx, current, new_billing_model_id);
        checkPlans("upgrade", current.subscription.billing_model, model);
        const from = earliestEffectiveAt(current.changes, tx.now);
        const planned = planSwitch(current, "upgrade", new_billing_model_id, iso(from));
        const [billable] = await listBillable(tx, { ids: [id], limit: 1 });
        if (!billable) throw notFound("Subscription", id);
        const { started_at, ends_at } = billable;
        const life = { timeline: timelineOf(billable), started_at, ends_at };
        const { period } = monthOf(billable, from, current.zones);
        const credits_added = creditsAdded(life, period, { model: priceTermsOf(model), from });
        return { ...planned, credits_added };
      },
      recordingEvent("credits.upgraded"),
    ),
});

/**
 * Downgrades a subscription to a credit plan with fewer credits, from its next billing month on. Replaces a waiting
 * downgrade. Errors: not_found; invalid when the plan does not have fewer credits or the timeline does not allow it.
 * Decision 0067.
 */
export const downgradeSubscription = operation({
  name: "downgrade_subscription",
  permission: "subscriptions:write",
  target: "billing_model_change",
  input: ChangePlan,
  output: BillingModelChange,
  run: (ctx, { id, new_billing_model_id }) =>
    requestChange(
      ctx,
      id,
      async (tx, current) => {
        const model = await findNewModel(tx, current, new_billing_model_id);
        const { subscription, zones } = current;
        checkPlans("downgrade", subscription.billing_model, model);
        const { started_at, billing_anchor_day } = subscription;
        const live = later(tx.now, instant(started_at));
        const next_month = periodContaining(live, billing_anchor_day, zones).to;
        const planned = planSwitch(current, "downgrade", new_billing_model_id, iso(next_month));
        return { ...planned, after_period_at: iso(live) };
      },
      recordingEvent("credits.downgrade_scheduled"),
    ),
});

/**
 * Records an event for every subscription that has used up 80 or 100 percent of its month's credits, once a month
 * each. May run twice at once. Decision 0068.
 */
export const tellThresholds = operation({
  name: "tell_thresholds",
  permission: "subscriptions:write",
  unaudited: true,
  input: Nothing,
  output: RecordedThresholds,
  async run(ctx) {
    const zones = await listZones(readTx(ctx));
    const [, since] = watchedInstants(ctx.now);
    let told = 0;
    let after_id = 0;
    while (!ctx.background.is_stopping) {
      const batch = { after_id, limit: LIMITS.credits_batch };
      const ids = await queries.listCreditSubscriptions(readTx(ctx), since, batch);
      const last = ids.at(-1);
      if (last === undefined) break;
      told += await recordThresholds(ctx, zones, ids);
      after_id = last;
    }
    return { told };
  },
});

/** Plans a switch between credit plans; it replaces waiting downgrades. Errors: invalid. */
function planSwitch(
  { subscription, changes }: ChangeTimeline,
  kind: "upgrade" | "downgrade",
  new_billing_model_id: number,
  effective_at: IsoInstant,
): PlannedChange {
  const waiting = changes.filter((change) => change.status === "scheduled" && change.kind === "downgrade");
  const path = "/new_billing_model_id";
  const is_repeated = waiting.some((change) => change.new_billing_model_id === new_billing_model_id);
  if (kind === "downgrade" && is_repeated) {
    throw invalid(path, "is a duplicate schedule: the downgrade to it waits already");
  }
  const others = changes.filter((change) => !waiting.includes(change));
  const valid = validateChange(subscription, others, { new_billing_model_id, effective_at });
  if ("field" in valid) {
    const is_model = valid.field === "new_billing_model_id";
    const message = `can't be changed to at ${effective_at}: the instant ${valid.message}`;
    throw invalid(path, is_model ? valid.message : message);
  }
  const replaces = waiting.map(({ id }) => id);
  const is_applied = kind === "upgrade";
  return { ...valid, new_billing_model_id, effective_at, kind, credits_added: null, replaces, is_applied };
}

/** Records a further event of a plan change, besides that of every change. */
function recordingEvent(type: EventType) {
  return async (tx: Tx, change: BillingModelChange): Promise<void> => {
    const { id, subscription_id, new_billing_model_id, effective_at, credits_added } = change;
    const data = { id, subscription_id, new_billing_model_id, effective_at, credits_added };
    await recordEvents(tx, [{ type, data }]);
  };
}
