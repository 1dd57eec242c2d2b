import type { Context } from "../../app/context.ts";
import { operation } from "../../app/operation.ts";
import { readTx, transaction } from "../../app/transaction.ts";
import { LIMITS } from "../limits.ts";
import { notFound, orNotFound } from "../../core/errors.ts";
import { listPage } from "../../core/pagination.ts";
import { listed, Nothing } from "../../core/schema.ts";
import { iso } from "../../core/time.ts";
import { findSubscription } from "../subscriptions/queries.ts";
import { applyBatch, applyDueOf } from "./apply_change.ts";
import { cancelChanges, findTimeline, relinkChanges } from "./change_timeline.ts";
import { listSubscriptionsWithDueChanges } from "./scheduled_queries.ts";
import { followZones } from "./follow_time_zones.ts";
import {
  AppliedChanges,
  BillingModelChange,
  ChangePath,
  CreateBillingModelChange,
  ListBillingModelChanges,
} from "./model.ts";
import * as queries from "./queries.ts";
import { planChange, requestChange } from "./request_change.ts";
import { voidChange } from "./void_change.ts";

/**
 * Lists all changes of a subscription by effective time, whatever their status; whole when no page is asked for.
 * Errors: not_found, for a client user also when it is another client's.
 */
export const listBillingModelChanges = operation({
  name: "list_billing_model_changes",
  permission: "subscriptions:read",
  input: ListBillingModelChanges,
  output: listed(BillingModelChange),
  async run(ctx, { id, ...page }) {
    orNotFound(await findSubscription(readTx(ctx), id), "Subscription", id);
    return listPage(page, (slice) => queries.listChanges(readTx(ctx), id, slice));
  },
});

/**
 * Changes a subscription's billing model from `effective_at` on: now or in the past it is applied in this call and
 * closed periods are adjusted, in the future it is scheduled. Errors: not_found; invalid for a model that is not one
 * of the company's, in another currency or the same, or for an instant that the timeline does not allow; unavailable.
 * Decisions 0065, 0066.
 */
export const createBillingModelChange = operation({
  name: "create_billing_model_change",
  permission: "subscriptions:write",
  input: CreateBillingModelChange,
  output: BillingModelChange,
  run: (ctx, { id, ...wanted }) => requestChange(ctx, id, planChange(wanted)),
});

/**
 * Cancels a scheduled change, and with it later changes that became redundant. Errors: not_found, also when it has
 * been applied or cancelled. Decision 0065.
 */
export const cancelBillingModelChange = operation({
  name: "cancel_billing_model_change",
  permission: "subscriptions:write",
  input: ChangePath,
  output: BillingModelChange,
  run: (ctx, { id, changeId }) =>
    transaction(ctx, async (tx) => {
      await findTimeline(tx, id);
      const [cancelled] = await cancelChanges(tx, id, [changeId]);
      if (!cancelled) throw notFound("Scheduled billing model change", changeId);
      await relinkChanges(tx, id);
      return cancelled;
    }),
});

/**
 * Voids an applied change: the timeline is as if it had never been made, and closed periods are adjusted. Later
 * changes that became redundant go with it. Its status becomes cancelled, with `voided_at`. Errors: not_found;
 * conflict when it is not applied, or a deleted model would be in force; unavailable. Decision 0132.
 */
export const voidBillingModelChange = operation({
  name: "void_billing_model_change",
  permission: "subscriptions:write",
  input: ChangePath,
  output: BillingModelChange,
  run: (ctx, { id, changeId }) => voidChange(ctx, id, changeId),
});

/**
 * Applies all due changes, those of one subscription in order. One that fails stays scheduled with its error, blocks
 * later ones and is retried after pauses that double up to an hour. Concurrent runs apply each change once.
 * Decision 0066.
 */
export const applyDueChanges = operation({
  name: "apply_due_changes",
  permission: "subscriptions:write",
  waits_for_clock: true,
  unaudited: true,
  input: Nothing,
  output: AppliedChanges,
  async run(ctx) {
    const counts = { applied: 0, failed: 0 };
    let after_id = 0;
    while (!ctx.background.is_stopping) {
      const batch = { after_id, limit: LIMITS.changes_batch };
      const ids = await listSubscriptionsWithDueChanges(readTx(ctx), batch);
      const last = ids.at(-1);
      if (last === undefined) break;
      const { applied, failed } = await applyEach(ctx, ids);
      counts.applied += applied;
      counts.failed += failed;
      after_id = last;
      // An embedded database never yields to the event loop: here requests can run.
      await Bun.sleep(0);
    }
    return counts;
  },
});

/**
 * Moves ends and downgrades that wait for the end of a billing period to where it ends by the current time zone rules,
 * which may be newer than those in force when they were made. Decision 0133.
 */
export const followZoneRules = operation({
  name: "follow_zone_rules",
  permission: "subscriptions:write",
  unaudited: true,
  input: Nothing,
  output: Nothing,
  async run(ctx) {
    await transaction(ctx, followZones);
    return {};
  },
});

/** Applies the due changes of subscriptions: all in one transaction if possible, then one by one. */
async function applyEach(ctx: Context, ids: readonly number[]): Promise<{ applied: number; failed: number }> {
  const counts = { applied: 0, failed: 0 };
  const ready: number[] = [];
  for (const id of ids) if (await isReady(ctx, id)) ready.push(id);
  const is_batched = ready.length > 1 && (await applyBatch(ctx, ready).catch(() => false));
  if (is_batched) counts.applied += ready.length;
  for (const id of ready) {
    try {
      counts.applied += await applyDueOf(ctx, id);
    } catch (error) {
      counts.failed += 1;
      ctx.log.warn(
        { err: error, request_id: ctx.request_id, subscription_id: id },
        "cannot apply a billing model change",
      );
    }
  }
  return counts;
}

/** Whether a subscription's next change may be attempted; later ones wait for it. */
async function isReady(ctx: Context, subscription_id: number): Promise<boolean> {
  const next = await queries.findNextChange(readTx(ctx), subscription_id);
  return next !== undefined && (next.next_attempt_at === null || next.next_attempt_at <= iso(ctx.now));
}
