import { Type } from "@sinclair/typebox";
import { invalid } from "../../core/errors.ts";
import { call } from "../../app/operation.ts";
import { Id, listed, oneOf } from "../../core/schema.ts";
import { BillingModelChange, CHANGE_KINDS } from "./model.ts";
import {
  cancelBillingModelChange,
  createBillingModelChange,
  listBillingModelChanges,
  voidBillingModelChange,
} from "./service.ts";
import { downgradeSubscription, upgradeSubscription } from "../credits/service.ts";
import { data, dataOf } from "../../http/responses.ts";
import { page } from "../../mcp/params.ts";
import { tool } from "../../mcp/tool.ts";
import { describe } from "../../mcp/wire_schema.ts";
import { subscription_id } from "../tools.ts";

const CREDIT_MOVES = { upgrade: upgradeSubscription, downgrade: downgradeSubscription };

const changePlan = tool({
  name: "billing_change_plan",
  title: "Change a subscription's plan",
  description:
    "Moves a subscription to another billing model of the same currency. kind change: any model, from effective_at on; in the future it is scheduled, now or in the past it is applied at once and closed periods are adjusted. kind upgrade: to a credit plan with more credits, at once. kind downgrade: to one with fewer credits, from the next billing month. billing_find_billing_models lists models.",
  operations: [createBillingModelChange, upgradeSubscription, downgradeSubscription],
  is_destructive: true,
  input: {
    subscription_id,
    kind: describe(oneOf(CHANGE_KINDS), "The kind of change"),
    new_billing_model_id: describe(Id, "The new billing model's id"),
    effective_at: Type.Optional(
      describe(
        createBillingModelChange.input.properties.effective_at,
        "When it takes effect; required for kind change, and only allowed there",
      ),
    ),
  },
  output: dataOf(BillingModelChange),
  async run(ctx, { subscription_id: id, kind, new_billing_model_id, effective_at }) {
    if (kind === "change") {
      if (effective_at === undefined) throw invalid("/effective_at", "is required for kind change");
      return data(call(ctx, createBillingModelChange, { id, new_billing_model_id, effective_at }));
    }
    if (effective_at !== undefined) {
      throw invalid("/effective_at", `must be left out for kind ${kind}: its time is fixed`);
    }
    return data(call(ctx, CREDIT_MOVES[kind], { id, new_billing_model_id }));
  },
});

const listPlanChanges = tool({
  name: "billing_list_plan_changes",
  title: "List a subscription's plan changes",
  description:
    "Lists a subscription's plan changes, scheduled, applied and cancelled, by effective date: its price history. A scheduled one can be cancelled, an applied one voided; a cancelled one with voided_at had been applied.",
  finds: ["change_id"],
  operations: [listBillingModelChanges],
  details: [],
  input: { subscription_id, ...page },
  output: listed(BillingModelChange),
  run: (ctx, { subscription_id: id, page: at = 1, ...rest }) =>
    call(ctx, listBillingModelChanges, { id, page: at, ...rest }),
});

const CANCELLATIONS = { cancel: cancelBillingModelChange, void: voidBillingModelChange };

const cancelPlanChange = tool({
  name: "billing_cancel_plan_change",
  title: "Cancel or void a plan change",
  description:
    "cancel stops a scheduled plan change. void takes an applied one back as if it had never been made: the previous plan is in force again, closed periods are adjusted, and credits that an upgrade added are removed. Use void to correct a mistake; to move to another plan use billing_change_plan. Ask the person first.",
  operations: Object.values(CANCELLATIONS),
  is_destructive: true,
  input: {
    subscription_id,
    change_id: describe(Id, "The change's id"),
    how: Type.Optional(describe(oneOf(["cancel", "void"]), "Default: cancel")),
  },
  output: dataOf(BillingModelChange),
  run: (ctx, { subscription_id: id, change_id: changeId, how = "cancel" }) =>
    data(call(ctx, CANCELLATIONS[how], { id, changeId })),
});

export const planChangeTools = [changePlan, listPlanChanges, cancelPlanChange];
