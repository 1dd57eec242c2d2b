import { Type } from "@sinclair/typebox";
import { invalid } from "../../core/errors.ts";
import { call } from "../../app/operation.ts";
import { Id, oneOf } from "../../core/schema.ts";
import { BillingModelChange, CHANGE_KINDS } from "./model.ts";
import { cancelBillingModelChange, createBillingModelChange, voidBillingModelChange } from "./service.ts";
import { downgradeSubscription, upgradeSubscription } from "../credits/service.ts";
import { data, dataOf } from "../../http/responses.ts";
import { tool } from "../../mcp/tool.ts";
import { describe } from "../../mcp/wire_schema.ts";
import { subscription_id } from "../tools.ts";

const CREDIT_MOVES = { upgrade: upgradeSubscription, downgrade: downgradeSubscription };
const CANCELLATIONS = { cancel: cancelBillingModelChange, void: voidBillingModelChange };

const changePlan = tool({
  name: "billing_change_plan",
  title: "Change a subscription's plan",
  description:
    "Moves a subscription to another billing model of the same currency. kind change: any model, from effective_at on; in the future it is scheduled, now or in the past it is applied at once and closed periods are adjusted. kind upgrade: to a credit plan with more credits, at once. kind downgrade: to one with fewer credits, from the next billing month. kind cancel stops a scheduled change; kind void takes an applied one back as if it had never been made, also for closed periods: only to correct a mistake, and ask the person first. billing_migrate_plan moves many subscriptions.",
  operations: [createBillingModelChange, ...Object.values(CREDIT_MOVES), ...Object.values(CANCELLATIONS)],
  is_destructive: true,
  input: {
    subscription_id,
    kind: describe(oneOf([...CHANGE_KINDS, "cancel", "void"]), "What to do"),
    new_billing_model_id: Type.Optional(
      describe(Id, "The new billing model's id; required but for cancel and void"),
    ),
    change_id: Type.Optional(describe(Id, "The change to cancel or void; only allowed there")),
    effective_at: Type.Optional(
      describe(
        createBillingModelChange.input.properties.effective_at,
        "When it takes effect; required for kind change, and only allowed there",
      ),
    ),
  },
  output: dataOf(BillingModelChange),
  async run(ctx, { subscription_id: id, kind, new_billing_model_id, effective_at, change_id }) {
    const refuse = (field: string, is_given: boolean) => {
      if (is_given) throw invalid(`/${field}`, `must be left out for kind ${kind}`);
    };
    refuse("effective_at", kind !== "change" && effective_at !== undefined);
    if (kind === "cancel" || kind === "void") {
      refuse("new_billing_model_id", new_billing_model_id !== undefined);
      if (change_id === undefined) throw invalid("/change_id", `is required for kind ${kind}`);
      return data(call(ctx, CANCELLATIONS[kind], { id, changeId: change_id }));
    }
    refuse("change_id", change_id !== undefined);
    if (new_billing_model_id === undefined) {
      throw invalid("/new_billing_model_id", `is required for kind ${kind}`);
    }
    if (kind !== "change") return data(call(ctx, CREDIT_MOVES[kind], { id, new_billing_model_id }));
    if (effective_at === undefined) throw invalid("/effective_at", "is required for kind change");
    return data(call(ctx, createBillingModelChange, { id, new_billing_model_id, effective_at }));
  },
});

export const planChangeTools = [changePlan];
