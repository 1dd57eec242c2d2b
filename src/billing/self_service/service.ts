import { Type } from "@sinclair/typebox";
import { operation } from "../../app/operation.ts";
import { Nothing } from "../../core/schema.ts";
import { BillingModelChange } from "../billing_model_changes/model.ts";
import { BillingModel } from "../billing_models/model.ts";
import { toBillingModel } from "../billing_models/queries.ts";
import { ChangePlan, Downgrade } from "../credits/model.ts";
import { planDowngrade, planUpgrade } from "../credits/plan_switch.ts";
import { downgrade, upgrade } from "../credits/switch_plan.ts";
import { ChangePreview } from "../previews/model.ts";
import { previewCancel, previewChange } from "../previews/preview.ts";
import { cancel } from "../subscriptions/cancel.ts";
import { SubscriptionDetail } from "../subscriptions/detail.ts";
import { CancelSubscription } from "../subscriptions/model.ts";
import { allowCancel, allowSwitch, listOffered } from "./allowed.ts";
import { ClientOverview } from "./model.ts";
import { readOverview } from "./overview.ts";

// What client users do with their own subscriptions, as far as their company allows it. Decision 0273.

/** Shows a client what it has running, its last bill, and what it may do itself. */
export const getOwnOverview = operation({
  name: "get_own_overview",
  permission: "billing:read",
  input: Nothing,
  output: ClientOverview,
  run: (ctx) => readOverview(ctx),
});

/** Lists the plans that a client may choose; none where the company lets it choose none. */
export const listOwnPlans = operation({
  name: "list_own_plans",
  permission: "billing_models:read",
  input: Nothing,
  output: Type.Array(BillingModel),
  run: async (ctx) => (await listOffered(ctx)).map(toBillingModel),
});

/** Upgrades an own subscription. Errors: forbidden unless the company allows it, and those of any upgrade. */
export const upgradeOwnSubscription = operation({
  name: "upgrade_own_subscription",
  permission: "own_subscriptions:write",
  target: "billing_model_change",
  input: ChangePlan,
  output: BillingModelChange,
  run: async (ctx, wanted) =>
    upgrade(await allowSwitch(ctx, "upgrade", wanted), wanted.id, wanted.new_billing_model_id),
});

/** Downgrades an own subscription. Errors: forbidden unless the company allows it, and those of any downgrade. */
export const downgradeOwnSubscription = operation({
  name: "downgrade_own_subscription",
  permission: "own_subscriptions:write",
  target: "billing_model_change",
  input: Downgrade,
  output: BillingModelChange,
  run: async (ctx, wanted) =>
    downgrade(await allowSwitch(ctx, "downgrade", wanted), wanted.id, wanted.new_billing_model_id),
});

/** Cancels an own subscription. Errors: forbidden unless the company allows it, and those of any cancellation. */
export const cancelOwnSubscription = operation({
  name: "cancel_own_subscription",
  permission: "own_subscriptions:write",
  target: "subscription",
  input: CancelSubscription,
  output: SubscriptionDetail,
  run: async (ctx, wanted) => cancel(await allowCancel(ctx, wanted), wanted.id, wanted.at),
});

/** Previews an upgrade of an own subscription. Errors: those of the upgrade. */
export const previewOwnUpgrade = operation({
  name: "preview_own_upgrade",
  permission: "billing:read",
  input: ChangePlan,
  output: ChangePreview,
  async run(ctx, wanted) {
    const company = await allowSwitch(ctx, "upgrade", wanted);
    return previewChange(company, wanted.id, planUpgrade(wanted.id, wanted.new_billing_model_id));
  },
});

/** Previews a downgrade of an own subscription. Errors: those of the downgrade. */
export const previewOwnDowngrade = operation({
  name: "preview_own_downgrade",
  permission: "billing:read",
  input: Downgrade,
  output: ChangePreview,
  async run(ctx, wanted) {
    const company = await allowSwitch(ctx, "downgrade", wanted);
    return previewChange(company, wanted.id, planDowngrade(wanted.new_billing_model_id));
  },
});

/** Previews a cancellation of an own subscription. Errors: those of the cancellation. */
export const previewOwnCancellation = operation({
  name: "preview_own_cancellation",
  permission: "billing:read",
  input: CancelSubscription,
  output: ChangePreview,
  run: async (ctx, wanted) => previewCancel(await allowCancel(ctx, wanted), wanted.id, wanted.at),
});
