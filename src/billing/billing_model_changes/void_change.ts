import type { Context } from "../../app/context.ts";
import type { Scope } from "../../core/access.ts";
import { AppError, notFound } from "../../core/errors.ts";
import type { ReadTx, Tx } from "../../store/store.ts";
import type { BillableSubscription } from "../runs/billable.ts";
import { findBillingModel, findStoredModels } from "../billing_models/queries.ts";
import { recordEvents } from "../../webhooks/events/queries.ts";
import { updateSubscription } from "../subscriptions/queries.ts";
import { StaleRead, rateClosed, recordAdjustments, retryWhileStale } from "./adjust_closed_periods.ts";
import { applyBefore, cancelChanges, findTimeline, nextOf, type ChangeTimeline } from "./apply_change.ts";
import type { BillingModelChange } from "./model.ts";
import * as queries from "./queries.ts";
import {
  changeEvent,
  firstModel,
  relinkTimeline,
  type RelinkedTimeline,
  type TimelineChange,
} from "./rules.ts";

// An applied change is taken out of the timeline, and closed periods become what they would be without it: rated
// before and written in one transaction, as when a change is applied. Decision 0132.

/** What taking a change out of a timeline comes to. */
interface PlannedVoid extends RelinkedTimeline {
  readonly change: BillingModelChange;
  /** The applied changes that go: it, and those after it that would then change nothing. */
  readonly voided: readonly BillingModelChange[];
  /** The scheduled ones that go with them. */
  readonly cancelled: readonly number[];
}

/**
 * Takes an applied change out of its subscription's timeline, and adjusts closed periods. Errors: not_found,
 * conflict when it is not applied or when a deleted model would be in force, unavailable.
 */
export async function voidChange(
  ctx: Context,
  scope: Scope,
  subscription_id: number,
  change_id: number,
): Promise<BillingModelChange> {
  const { store, now } = ctx;
  return retryWhileStale(async () => {
    // Not what was asked for: it stays, also when that is refused.
    await applyBefore({ ...ctx, store: ctx.unaudited_store }, scope, subscription_id);
    const before = await findTimeline({ q: store.read, scope, now }, subscription_id);
    const planned = await planVoiding({ q: store.read, scope, now }, before, change_id);
    const { effective_at } = planned.change;
    const adjusting = await rateClosed(ctx, scope, before, effective_at, (facts) =>
      timelineWithout(facts, planned),
    );
    return store.tx(async (q) => {
      const current = await findTimeline({ q, scope, now }, subscription_id);
      if (nextOf(current, now)) throw new StaleRead();
      const voiding = await planVoiding({ q, scope, now }, current, change_id);
      const voided = await removeFromTimeline({ q, scope, now }, current, voiding);
      const ids = await recordAdjustments({ q, scope, now }, current, effective_at, adjusting);
      const { adjustment_billing_record_ids: record_ids } = voiding.change;
      const after = await queries.setAdjustments({ q, scope, now }, change_id, [...record_ids, ...ids]);
      await recordEvents({ q, scope, now }, voided.map(changeEvent));
      ctx.annotateAudit({ before: voiding.change, after });
      return after;
    });
  });
}

/** Errors: not_found, conflict. */
async function planVoiding(tx: ReadTx, current: ChangeTimeline, change_id: number): Promise<PlannedVoid> {
  const { subscription, changes } = current;
  const change = await queries.findChange(tx, subscription.id, change_id);
  if (!change) throw notFound("Billing model change", change_id);
  if (change.status !== "applied") throw refusal(change_id, statusOf(change));
  const remaining = changes.filter(({ id }) => id !== change_id);
  const relinked = relinkTimeline(
    firstModel(subscription, changes),
    remaining,
    await downgradesHold(tx, changes),
  );
  const goes = new Set([change_id, ...relinked.redundant]);
  const { in_force } = relinked;
  const is_other = subscription.status === "active" && in_force !== subscription.billing_model_id;
  if (is_other && !(await findBillingModel(tx, in_force))) {
    throw refusal(change_id, `billing model ${in_force}, which would be in force again, has been deleted`);
  }
  return {
    ...relinked,
    change,
    voided: changes.filter(({ id, status }) => status === "applied" && goes.has(id)),
    cancelled: changes.flatMap(({ id, status }) => (status === "scheduled" && goes.has(id) ? [id] : [])),
  };
}

function refusal(change_id: number, why: string): AppError {
  return new AppError("conflict", `Cannot void billing model change ${change_id}: ${why}`);
}

function statusOf({ status, voided_at }: BillingModelChange): string {
  if (status === "scheduled") return "it is scheduled, and can be cancelled";
  return voided_at === null ? "it was cancelled before it was applied" : "it is voided already";
}

/** Says of downgrades that wait whether they still lead to fewer credits. */
async function downgradesHold(tx: ReadTx, changes: readonly BillingModelChange[]) {
  const ids = changes.flatMap(({ old_billing_model_id, new_billing_model_id }) => [
    old_billing_model_id,
    new_billing_model_id,
  ]);
  const models = await findStoredModels(tx, [...new Set(ids)]);
  const creditsOf = (id: number) => models.get(id)?.credit_plan?.monthly_credits ?? 0;
  return ({ kind, status, new_billing_model_id }: TimelineChange, before: number) =>
    kind !== "downgrade" || status !== "scheduled" || creditsOf(new_billing_model_id) < creditsOf(before);
}

/** The models of a subscription without the changes that go. */
function timelineWithout(
  { timeline }: BillableSubscription,
  { voided }: PlannedVoid,
): BillableSubscription["timeline"] {
  const removed = new Set(voided.map(({ effective_at }) => effective_at));
  // The first model is there from the start, also where a change takes effect at that instant.
  return timeline.filter(({ from }, index) => index === 0 || !removed.has(from));
}

/** Writes the timeline without the changes that go. Errors: FactsChanged. */
async function removeFromTimeline(
  tx: Tx,
  { subscription: { id } }: ChangeTimeline,
  { voided, cancelled, relinked, in_force }: PlannedVoid,
): Promise<BillingModelChange[]> {
  const ids = voided.map((change) => change.id);
  const voided_changes = await queries.voidAppliedChanges(tx, ids);
  if (voided_changes.length !== ids.length) throw new StaleRead();
  await cancelChanges(tx, id, cancelled);
  for (const { id: change_id, old_billing_model_id } of relinked) {
    await queries.updateChange(tx, change_id, { old_billing_model_id });
  }
  await updateSubscription(tx, id, { billing_model_id: in_force });
  return voided_changes;
}
