import { Type } from "@sinclair/typebox";
import { call } from "../../app/operation.ts";
import { getSubscription } from "../../billing/subscriptions/service.ts";
import { subscription_id } from "../../billing/tools.ts";
import { data } from "../../http/responses.ts";
import { rejectUnused } from "../../mcp/params.ts";
import { tool } from "../../mcp/tool.ts";
import { describe, describeOnly } from "../../mcp/wire_schema.ts";
import { listEntitlements } from "../grants/service.ts";
import { checkUsage } from "./service.ts";

const given = checkUsage.input.properties;

const checkLimits = tool({
  name: "billing_check_usage",
  title: "Check what a subscription may use",
  description:
    "Lists what a subscription may use of each feature, and how much it has used and has left of its limits; or, with feature, whether it may use so much more of it now, and why not. Nothing is reserved.",
  operations: [listEntitlements, checkUsage, getSubscription],
  input: {
    subscription_id,
    feature: Type.Optional(describeOnly(given.feature, "A feature's code; without it, all are listed")),
    units: describe(given.units, "How much more; default 1"),
    group: describeOnly(given.group, 'Of a limit per a key, its value, such as {"model": "large"}'),
  },
  output: Type.Object({ data: Type.Union([listEntitlements.output, checkUsage.output]) }),
  async run(ctx, { subscription_id: id, feature, ...more }) {
    if (feature === undefined) {
      rejectUnused("a list of all features", more);
      return data(call(ctx, listEntitlements, { id }));
    }
    const { external_subscription_id } = await call(ctx, getSubscription, { id });
    return data(call(ctx, checkUsage, { external_subscription_id, feature, ...more }));
  },
});

export const checkTools = [checkLimits];
