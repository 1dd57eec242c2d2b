import type { Context } from "../../app/context.ts";
import type { Tx } from "../../store/store.ts";
import type { EventType } from "../../webhooks/events/model.ts";
import { recordEvents } from "../../webhooks/events/queries.ts";
import type { BillingModelChange } from "../billing_model_changes/model.ts";
import { requestChange } from "../billing_model_changes/request_change.ts";
import { planDowngrade, planUpgrade } from "./plan_switch.ts";

/** Upgrades a subscription at once. Errors: those of the planner and of any change. */
export function upgrade(ctx: Context, id: number, new_billing_model_id: number): Promise<BillingModelChange> {
  return requestChange(ctx, id, planUpgrade(id, new_billing_model_id), recordingEvent("credits.upgraded"));
}

/** Schedules a downgrade. Errors: those of the planner and of any change. */
export function downgrade(
  ctx: Context,
  id: number,
  new_billing_model_id: number,
): Promise<BillingModelChange> {
  const recordEvent = recordingEvent("credits.downgrade_scheduled");
  return requestChange(ctx, id, planDowngrade(new_billing_model_id), recordEvent);
}

/** Records a further event of a plan change, besides that of every change. */
function recordingEvent(type: EventType) {
  return async (tx: Tx, change: BillingModelChange): Promise<void> => {
    const { id, subscription_id, new_billing_model_id, effective_at, credits_added } = change;
    const data = { id, subscription_id, new_billing_model_id, effective_at, credits_added };
    await recordEvents(tx, [{ type, data }]);
  };
}
