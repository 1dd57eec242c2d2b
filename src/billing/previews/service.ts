import { operation } from "../../app/operation.ts";
import { planChange } from "../billing_model_changes/request_change.ts";
import { ChangePlan, Downgrade } from "../credits/model.ts";
import { planDowngrade, planUpgrade } from "../credits/plan_switch.ts";
import { CancelSubscription } from "../subscriptions/model.ts";
import { ChangePreview, PreviewBillingModelChange } from "./model.ts";
import { previewCancel, previewChange } from "./preview.ts";

/** Previews a plan change. Errors: those of the change. Decision 0270. */
export const previewBillingModelChange = operation({
  name: "preview_billing_model_change",
  permission: "billing:read",
  input: PreviewBillingModelChange,
  output: ChangePreview,
  run: (ctx, { id, ...wanted }) => previewChange(ctx, id, planChange(wanted)),
});

/** Previews an upgrade of a credit plan. Errors: those of the upgrade. Decision 0270. */
export const previewUpgrade = operation({
  name: "preview_upgrade",
  permission: "billing:read",
  input: ChangePlan,
  output: ChangePreview,
  run: (ctx, { id, new_billing_model_id }) => previewChange(ctx, id, planUpgrade(id, new_billing_model_id)),
});

/** Previews a downgrade of a credit plan. Errors: those of the downgrade. Decision 0270. */
export const previewDowngrade = operation({
  name: "preview_downgrade",
  permission: "billing:read",
  input: Downgrade,
  output: ChangePreview,
  run: (ctx, { id, new_billing_model_id }) => previewChange(ctx, id, planDowngrade(new_billing_model_id)),
});

/** Previews a cancellation. Errors: those of the cancellation. Decision 0270. */
export const previewCancellation = operation({
  name: "preview_cancellation",
  permission: "billing:read",
  input: CancelSubscription,
  output: ChangePreview,
  run: (ctx, { id, at }) => previewCancel(ctx, id, at),
});
