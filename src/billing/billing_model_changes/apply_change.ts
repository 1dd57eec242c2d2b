import type { Context } from "../../app/context.ts";
import { readTx, transaction } from "../../app/transaction.ts";
import { AppError } from "../../core/errors.ts";
import { iso } from "../../core/time.ts";
import type { Tx } from "../../store/store.ts";
import { recordSystemChange } from "../../audit/recorder.ts";
import { findStoredModels } from "../billing_models/queries.ts";
import { recordEvents } from "../../webhooks/events/queries.ts";
import { updateSubscription } from "../subscriptions/queries.ts";
import {
  noAdjustments,
  type PlannedAdjustments,
  rateClosed,
  recordAdjustments,
  retryWhileStale,
  StaleRead,
} from "./adjust_closed_periods.ts";
import { type ChangeTimeline, findTimeline, nextDue, relinkChanges } from "./change_timeline.ts";
import type { BillingModelChange } from "./model.ts";
import * as queries from "./queries.ts";
import { changeEvent, nextAttempt } from "./rules.ts";

/**
 * Applying a plan change. Closed periods are rated again first (the usage store is never queried inside a
 * transaction), then one transaction applies the change and writes the adjustments, or retries if its reads went
 * stale. Decision 0066.
 */

/** Applies a subscription's due changes in order; returns how many. Errors: those of the first that fails. */
export async function applyDueOf(ctx: Context, subscription_id: number): Promise<number> {
  for (let applied = 0; ; applied++) {
    const next = await queries.findNextChange(readTx(ctx), subscription_id);
    if (!next || next.effective_at > iso(ctx.now)) return applied;
    try {
      await applyNext(ctx, subscription_id);
    } catch (error) {
      await saveFailure(ctx, next, error);
      throw error;
    }
  }
}

/** Records a failed attempt: the message of our own rules; a database's is only logged. */
async function saveFailure(ctx: Context, change: BillingModelChange, error: unknown): Promise<void> {
  const attempts = change.attempts + 1;
  const last_error = error instanceof AppError ? error.message : "Internal error";
  const failure = { last_error, attempts, next_attempt_at: nextAttempt(attempts, ctx.now) };
  // Where the database is what failed, the change stays due and is tried again at once.
  await transaction(ctx, (tx) => queries.recordFailure(tx, change.id, failure)).catch(() => undefined);
}

/** Applies a subscription's next due change, if there still is one. */
function applyNext(ctx: Context, subscription_id: number): Promise<void> {
  return retryWhileStale(async () => {
    const before = await findTimeline(readTx(ctx), subscription_id);
    const next = nextDue(before, ctx.now);
    if (!next) return;
    const planned = await rateStep(ctx, before, next);
    await transaction(ctx, (tx) => applyNextIn(ctx, tx, subscription_id, next.id, planned));
  });
}

/**
 * Applies one due change of each subscription in one transaction. Returns false, with none applied, where closed
 * periods would have to be adjusted.
 */
export async function applyBatch(ctx: Context, subscription_ids: readonly number[]): Promise<boolean> {
  try {
    await transaction(ctx, async (tx) => {
      for (const id of subscription_ids) {
        const next = await queries.findNextChange(tx, id);
        if (next && next.effective_at <= iso(tx.now)) {
          await applyNextIn(ctx, tx, id, next.id, noAdjustments(tx.now));
        }
      }
    });
    return true;
  } catch (error) {
    if (error instanceof StaleRead) return false;
    throw error;
  }
}

/** Errors: StaleRead when the change is not the next one any more, or reaches into other closed periods. */
async function applyNextIn(
  ctx: Context,
  tx: Tx,
  subscription_id: number,
  change_id: number,
  planned: PlannedAdjustments,
): Promise<void> {
  const current = await findTimeline(tx, subscription_id);
  if (nextDue(current, tx.now)?.id !== change_id) throw new StaleRead();
  const old_model_id = current.subscription.billing_model_id;
  const applied = await queries.applyScheduledChange(tx, change_id, old_model_id);
  if (!applied) throw new StaleRead();
  await finishApply(tx, current, applied, planned);
  const target = { type: "billing_model_change", id: change_id };
  await recordSystemChange(ctx, tx, "apply_billing_model_change", target);
}

/** Rates the closed periods that a change reaches into as if it were applied. */
export async function rateStep(
  ctx: Context,
  current: ChangeTimeline,
  {
    new_billing_model_id: id,
    effective_at,
  }: Pick<BillingModelChange, "new_billing_model_id" | "effective_at">,
): Promise<PlannedAdjustments> {
  const billing_model = (await findStoredModels(readTx(ctx), [id])).get(id);
  if (!billing_model) throw new StaleRead();
  return rateClosed(ctx, current, effective_at, (subscription) => ({
    ...subscription,
    timeline: [...subscription.timeline, { billing_model, from: effective_at }],
  }));
}

/** Updates the subscription, closed periods and later changes after a change was applied. Errors: StaleRead. */
export async function finishApply(
  tx: Tx,
  current: ChangeTimeline,
  applied: BillingModelChange,
  planned: PlannedAdjustments,
): Promise<BillingModelChange> {
  const { id } = current.subscription;
  await updateSubscription(tx, id, { billing_model_id: applied.new_billing_model_id });
  const ids = await recordAdjustments(tx, current, applied.effective_at, planned);
  const change = ids.length === 0 ? applied : await queries.setAdjustments(tx, applied.id, ids);
  await relinkChanges(tx, id);
  await recordEvents(tx, [changeEvent(change)]);
  return change;
}
