import { Type } from "@sinclair/typebox";
import { call } from "../../app/operation.ts";
import { invalid } from "../../core/errors.ts";
import { Id, oneOf } from "../../core/schema.ts";
import { data, dataOf } from "../../http/responses.ts";
import { tool } from "../../mcp/tool.ts";
import { describe } from "../../mcp/wire_schema.ts";
import { subscription_id } from "../tools.ts";
import { ChangePreview } from "./model.ts";
import {
  previewBillingModelChange,
  previewCancellation,
  previewDowngrade,
  previewUpgrade,
} from "./service.ts";

const MOVES = { upgrade: previewUpgrade, downgrade: previewDowngrade };

const previewPlanChange = tool({
  name: "billing_preview_change",
  title: "Say what a plan change or cancellation would cost",
  description:
    "Shows what billing_change_plan or billing_cancel_subscription would do, and does nothing: the bills before and after, the days, credits that are added, and adjustments of closed periods.",
  operations: [previewBillingModelChange, ...Object.values(MOVES), previewCancellation],
  details: ["usage_digest", "billing_model_id", "sequence", "adjusts_billing_record_id"],
  input: {
    subscription_id,
    kind: describe(
      oneOf(["change", "upgrade", "downgrade", "cancel"]),
      "As of billing_change_plan, or cancel",
    ),
    new_billing_model_id: Type.Optional(describe(Id, "The new billing model's id; not for cancel")),
    effective_at: Type.Optional(
      describe(
        previewBillingModelChange.input.properties.effective_at,
        "When a change takes effect: an instant, or next_period; kind change only",
      ),
    ),
    at: Type.Optional(describe(previewCancellation.input.properties.at, "When a cancellation ends it")),
  },
  output: dataOf(ChangePreview),
  run(ctx, { subscription_id: id, kind, new_billing_model_id, effective_at, at }) {
    const refuse = (field: string, value: unknown) => {
      if (value !== undefined) throw invalid(`/${field}`, `must be left out for kind ${kind}`);
    };
    if (kind !== "change") refuse("effective_at", effective_at);
    if (kind === "cancel") {
      refuse("new_billing_model_id", new_billing_model_id);
      if (at === undefined) throw invalid("/at", "is required for kind cancel");
      return data(call(ctx, previewCancellation, { id, at }));
    }
    refuse("at", at);
    if (new_billing_model_id === undefined)
      throw invalid("/new_billing_model_id", `is required for kind ${kind}`);
    if (kind !== "change") return data(call(ctx, MOVES[kind], { id, new_billing_model_id }));
    if (effective_at === undefined) throw invalid("/effective_at", "is required for kind change");
    return data(call(ctx, previewBillingModelChange, { id, new_billing_model_id, effective_at }));
  },
});

export const changePreviewTools = [previewPlanChange];
