import type { Context } from "../../app/context.ts";
import { readTx, transaction } from "../../app/transaction.ts";
import { AppError, orNotFound } from "../../core/errors.ts";
import type { ReadTx, Tx } from "../../store/store.ts";
import type { BillableSubscription } from "../runs/billable.ts";
import { findBillingModel, findStoredModels } from "../billing_models/queries.ts";
import { recordEvents } from "../../webhooks/events/queries.ts";
import { updateSubscription } from "../subscriptions/queries.ts";
import { rateClosed, recordAdjustments, retryWhileStale, StaleRead } from "./adjust_closed_periods.ts";
import { cancelChanges, type ChangeTimeline, findTimeline, nextDue } from "./change_timeline.ts";
import type { BillingModelChange } from "./model.ts";
import * as queries from "./queries.ts";
import { applyBefore } from "./request_change.ts";
import {
  changeEvent,
  firstModel,
  type RelinkedTimeline,
  relinkTimeline,
  type TimelineChange,
} from "./rules.ts";

// Voiding an applied change: closed periods become what they would be without it, rated before and written in one
// transaction, as when a change is applied. Decision 0132.

/** The effects of voiding a change. */
interface PlannedVoid extends RelinkedTimeline {
  readonly change: BillingModelChange;
  /** The applied changes that are voided: it, and later ones that became redundant. */
  readonly voided: readonly BillingModelChange[];
  /** The scheduled ones that became redundant. */
  readonly cancelled: readonly number[];
}

/**
 * Voids an applied change and adjusts closed periods. Errors: not_found, conflict when it is not applied or when a
 * deleted model would be in force, unavailable.
 */
export async function voidChange(
  ctx: Context,
  subscription_id: number,
  change_id: number,
): Promise<BillingModelChange> {
  return retryWhileStale(async () => {
    await applyBefore(ctx, subscription_id);
    const before = await findTimeline(readTx(ctx), subscription_id);
    const planned = await planVoid(readTx(ctx), before, change_id);
    const { effective_at } = planned.change;
    const adjustments = await rateClosed(ctx, before, effective_at, (subscription) => ({
      ...subscription,
      timeline: timelineWithout(subscription, planned),
    }));
    return transaction(ctx, async (tx) => {
      const current = await findTimeline(tx, subscription_id);
      if (nextDue(current, tx.now)) throw new StaleRead();
      const plan = await planVoid(tx, current, change_id);
      const voided = await removeFromTimeline(tx, current, plan);
      const ids = await recordAdjustments(tx, current, effective_at, adjustments);
      const { adjustment_billing_record_ids: earlier_ids } = plan.change;
      const after = await queries.setAdjustments(tx, change_id, [...earlier_ids, ...ids]);
      await recordEvents(tx, voided.map(changeEvent));
      ctx.annotateAudit({ before: plan.change, after });
      return after;
    });
  });
}

/** Errors: not_found, conflict. */
async function planVoid(tx: ReadTx, current: ChangeTimeline, change_id: number): Promise<PlannedVoid> {
  const { subscription, changes } = current;
  const found = await queries.findChange(tx, subscription.id, change_id);
  const change = orNotFound(found, "Billing model change", change_id);
  if (change.status !== "applied") throw conflict(change_id, statusOf(change));
  const remaining = changes.filter(({ id }) => id !== change_id);
  const first = firstModel(subscription, changes);
  const relinked = relinkTimeline(first, remaining, await downgradesHold(tx, changes));
  const removed = new Set([change_id, ...relinked.redundant]);
  const { in_force } = relinked;
  const is_other = subscription.status === "active" && in_force !== subscription.billing_model_id;
  if (is_other && !(await findBillingModel(tx, in_force))) {
    throw conflict(change_id, `billing model ${in_force}, which would be in force again, has been deleted`);
  }
  const removedOf = (wanted: BillingModelChange["status"]) =>
    changes.filter(({ id, status }) => status === wanted && removed.has(id));
  const cancelled = removedOf("scheduled").map(({ id }) => id);
  return { ...relinked, change, voided: removedOf("applied"), cancelled };
}

function conflict(change_id: number, reason: string): AppError {
  return new AppError("conflict", `Cannot void billing model change ${change_id}: ${reason}`);
}

function statusOf({ status, voided_at }: BillingModelChange): string {
  if (status === "scheduled") return "it is scheduled, and can be cancelled";
  return voided_at === null ? "it was cancelled before it was applied" : "it is voided already";
}

/** A rule for `relinkTimeline`: whether a scheduled downgrade still leads to fewer credits. */
async function downgradesHold(tx: ReadTx, changes: readonly BillingModelChange[]) {
  const ids = changes.flatMap((change) => [change.old_billing_model_id, change.new_billing_model_id]);
  const models = await findStoredModels(tx, [...new Set(ids)]);
  const creditsOf = (id: number) => models.get(id)?.credit_plan?.monthly_credits ?? 0;
  return ({ kind, status, new_billing_model_id }: TimelineChange, before: number) =>
    kind !== "downgrade" || status !== "scheduled" || creditsOf(new_billing_model_id) < creditsOf(before);
}

/** A subscription's timeline without the voided changes. */
function timelineWithout(
  { timeline }: BillableSubscription,
  { voided }: PlannedVoid,
): BillableSubscription["timeline"] {
  const removed = new Set(voided.map(({ effective_at }) => effective_at));
  // The first model is there from the start, also where a change takes effect at that instant.
  return timeline.filter(({ from }, index) => index === 0 || !removed.has(from));
}

/** Writes the timeline without the voided changes; returns these. Errors: StaleRead. */
async function removeFromTimeline(
  tx: Tx,
  { subscription: { id } }: ChangeTimeline,
  { voided, cancelled, relinked, in_force }: PlannedVoid,
): Promise<BillingModelChange[]> {
  const ids = voided.map((change) => change.id);
  const voided_changes = await queries.voidAppliedChanges(tx, ids);
  if (voided_changes.length !== ids.length) throw new StaleRead();
  await cancelChanges(tx, id, cancelled);
  await queries.updateOldModels(tx, relinked);
  await updateSubscription(tx, id, { billing_model_id: in_force });
  return voided_changes;
}
