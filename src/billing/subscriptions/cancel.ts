import type { Context } from "../../app/context.ts";
import { transaction } from "../../app/transaction.ts";
import { orNotFound } from "../../core/errors.ts";
import type { ReadTx } from "../../store/store.ts";
import { recordEvents } from "../../webhooks/events/queries.ts";
import { cancelScheduledChanges } from "../billing_model_changes/queries.ts";
import { changeEvent } from "../billing_model_changes/rules.ts";
import { adjustAdvances } from "../runs/advances.ts";
import type { SubscriptionDetail } from "./detail.ts";
import type { CANCEL_TIMES } from "./model.ts";
import * as queries from "./queries.ts";
import { cancellationTime, monotonicNow, subscriptionEvent } from "./rules.ts";

/** Cancels a subscription and what is scheduled beyond its end. Errors: not_found, conflict. */
export function cancel(
  ctx: Context,
  id: number,
  at: (typeof CANCEL_TIMES)[number],
): Promise<SubscriptionDetail> {
  return transaction(ctx, async (tx) => {
    const before = await detailOf(tx, id);
    const write = { ...tx, now: monotonicNow(before, tx.now) };
    const end = cancellationTime(before, at, write.now, await queries.listZones(tx));
    await queries.updateSubscription(write, id, end);
    await adjustAdvances(write, id, end.ends_at);
    const changes = await cancelScheduledChanges(write, id, { from: end.ends_at });
    const after = await detailOf(write, id);
    await recordEvents(write, [
      ...changes.map(changeEvent),
      subscriptionEvent("subscription.cancelled", after),
    ]);
    ctx.annotateAudit({ before, after });
    return after;
  });
}

/** Errors: not_found. */
export async function detailOf(tx: ReadTx, id: number): Promise<SubscriptionDetail> {
  return orNotFound(await queries.findSubscription(tx, id), "Subscription", id);
}
