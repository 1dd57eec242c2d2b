import { Type } from "@sinclair/typebox";
import { call } from "../../app/operation.ts";
import { invalid } from "../../core/errors.ts";
import { Id, oneOf } from "../../core/schema.ts";
import { data, dataOf } from "../../http/responses.ts";
import { rejectUnused } from "../../mcp/params.ts";
import { tool } from "../../mcp/tool.ts";
import { describe, describeOnly } from "../../mcp/wire_schema.ts";
import { Quote } from "../quotes/model.ts";
import { quoteBillingModel } from "../quotes/service.ts";
import { subscription_id } from "../tools.ts";
import { ChangePreview } from "./model.ts";
import {
  previewBillingModelChange,
  previewCancellation,
  previewDowngrade,
  previewUpgrade,
} from "./service.ts";

const MOVES = { upgrade: previewUpgrade, downgrade: previewDowngrade };

const quoted = quoteBillingModel.input.properties;

const previewPlanChange = tool({
  name: "billing_preview_change",
  title: "Say what a plan change, a cancellation or a plan would cost",
  description:
    "Shows what billing_change_plan or billing_cancel_subscription would do, and does nothing: the bills before and after, the days, credits that are added, and adjustments of closed periods. kind quote: what a month of units, or of the usage of subscription_id in period, comes to on new_billing_model_id.",
  operations: [previewBillingModelChange, ...Object.values(MOVES), previewCancellation, quoteBillingModel],
  details: ["usage_digest", "billing_model_id", "sequence", "adjusts_billing_record_id", "curve"],
  input: {
    subscription_id: Type.Optional(subscription_id),
    kind: describe(
      oneOf(["change", "upgrade", "downgrade", "cancel", "quote"]),
      "As of billing_change_plan, or cancel, or quote",
    ),
    new_billing_model_id: Type.Optional(describe(Id, "The new billing model's id; not for cancel")),
    effective_at: Type.Optional(
      describe(
        previewBillingModelChange.input.properties.effective_at,
        "When a change takes effect: an instant, or next_period; kind change only",
      ),
    ),
    at: Type.Optional(describe(previewCancellation.input.properties.at, "When a cancellation ends it")),
    units: describeOnly(quoted.units, "Of a quote"),
    quantities: describeOnly(quoted.quantities, "Of a quote: by meter"),
    period: describeOnly(quoted.period, "Of a quote: the month of the usage"),
  },
  output: dataOf(
    Type.Object({ ...Type.Partial(ChangePreview).properties, ...Type.Partial(Quote).properties }),
  ),
  run(ctx, { subscription_id: id, kind, new_billing_model_id, effective_at, at, ...usage }) {
    const refuse = (field: string, value: unknown) => rejectUnused(`kind ${kind}`, { [field]: value });
    if (kind === "quote") {
      rejectUnused("kind quote", { effective_at, at });
      if (new_billing_model_id === undefined)
        throw invalid("/new_billing_model_id", "is required for kind quote");
      const whose = id === undefined ? {} : { subscription_id: id };
      return data(
        call(ctx, quoteBillingModel, { billing_model_id: new_billing_model_id, ...whose, ...usage }),
      );
    }
    rejectUnused(`kind ${kind}`, usage);
    if (id === undefined) throw invalid("/subscription_id", `is required for kind ${kind}`);
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
