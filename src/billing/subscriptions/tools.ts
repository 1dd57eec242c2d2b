import { Type } from "@sinclair/typebox";
import type { Context } from "../../app/context.ts";
import { call } from "../../app/operation.ts";
import { Id, nullable } from "../../core/schema.ts";
import { BillingRecord } from "../records/model.ts";
import { listBillingRecords } from "../records/service.ts";
import { BillPreview } from "../runs/model.ts";
import { previewSubscription } from "../runs/service.ts";
import { BillingModelChange } from "../billing_model_changes/model.ts";
import { listBillingModelChanges } from "../billing_model_changes/service.ts";
import { CreditBalance } from "../credits/model.ts";
import { getCredits } from "../credits/service.ts";
import { SubscriptionDetail } from "./detail.ts";
import { cancelSubscription, createSubscription, getSubscription, listSubscriptions } from "./service.ts";
import { data, dataOf } from "../../http/responses.ts";
import { page, search } from "../../mcp/params.ts";
import { action, finder } from "../../mcp/shapes.ts";
import { tool } from "../../mcp/tool.ts";
import { describe, describeOnly } from "../../mcp/wire_schema.ts";
import { client_id, product_id, subscription_id } from "../tools.ts";

/** Left out of concise results: what the catalog tells of the billing model, but for what changes an amount. */
const MODEL_DETAILS = [
  "usage_tiers",
  "package_size",
  "charge_flat_on_zero",
  "credit_plan",
  "billing_type_id",
];

const subscriptionFinder = {
  ...finder("subscription_id", listSubscriptions, getSubscription),
  finds: ["subscription_id", "subscription_ids"],
  details: MODEL_DETAILS,
};

const subscriptionFilter = {
  subscription_id: Type.Optional(describe(Id, "One subscription; the other filters then do not apply")),
  product_id: Type.Optional(product_id),
  status: describe(listSubscriptions.input.properties.status, "active or cancelled; both by default"),
  search,
  ...page,
};

const findSubscriptions = tool({
  name: "billing_find_subscriptions",
  title: "Find subscriptions",
  description:
    "Finds subscriptions with their client, product and billing model: by client, product, status, text in the name, or one by id. billing_get_subscription_overview shows what one costs now.",
  ...subscriptionFinder,
  input: { ...subscriptionFilter, client_id: Type.Optional(client_id) },
});

/** How many of the latest bills an overview has. */
const LATEST_RECORDS = 3;

const Overview = Type.Object({
  subscription: SubscriptionDetail,
  running_charges: BillPreview,
  credits: nullable(CreditBalance),
  scheduled_changes: Type.Array(BillingModelChange),
  past_changes: Type.Optional(Type.Array(BillingModelChange)),
  latest_records: Type.Array(BillingRecord),
});

const OVERVIEW_DETAILS = [
  ...MODEL_DETAILS,
  "usage_digest",
  "usage_until",
  "billing_run_id",
  "sequence",
  "requested_by",
  "attempts",
  "applied_at",
  "cancelled_at",
  "adjustment_billing_record_ids",
];

/** A subscription with everything that explains its charges. */
async function overviewOf(ctx: Context, id: number, has_past_changes: boolean) {
  const subscription = await call(ctx, getSubscription, { id });
  const has_credits = subscription.billing_model.credit_plan !== null;
  const [running_charges, credits, changes, records] = await Promise.all([
    call(ctx, previewSubscription, { id }),
    has_credits ? call(ctx, getCredits, { id }) : null,
    call(ctx, listBillingModelChanges, { id }),
    call(ctx, listBillingRecords, { subscription_id: id, limit: LATEST_RECORDS }),
  ]);
  const [scheduled_changes, past_changes] = [true, false].map((is_scheduled) =>
    changes.data.filter((change) => (change.status === "scheduled") === is_scheduled),
  );
  return {
    subscription,
    running_charges,
    credits,
    scheduled_changes: scheduled_changes ?? [],
    ...(has_past_changes ? { past_changes: past_changes ?? [] } : {}),
    latest_records: records.data,
  };
}

const overview = {
  operations: [getSubscription, previewSubscription, getCredits, listBillingModelChanges, listBillingRecords],
  details: OVERVIEW_DETAILS,
  input: {
    subscription_id,
    past_changes: Type.Optional(
      describe(Type.Boolean(), "Also plan changes that were applied or cancelled: the price history"),
    ),
  },
  output: dataOf(Overview),
  run: (
    ctx: Context,
    { subscription_id: id, past_changes = false }: { subscription_id: number; past_changes?: boolean },
  ) => data(overviewOf(ctx, id, past_changes)),
};

const getOverview = tool({
  name: "billing_get_subscription_overview",
  title: "Explain a subscription",
  description:
    "Shows all about one subscription: its plan, the charges of the running period line by line as a bill would have them now (running_charges), this month's credits, scheduled plan changes, and its last bills. Use it to explain or preview a charge; billing_search_usage shows where the usage came from. A cancelled change with voided_at had been applied.",
  ...overview,
  finds: ["change_id"],
});

const fields = createSubscription.input.properties;

const addSubscription = tool({
  name: "billing_create_subscription",
  title: "Create a subscription",
  description:
    "Subscribes a client to a product at a billing model's price. Its usage events name it by external_subscription_id, which must be unique in the company. past_periods in the result is the number of billing periods since started_at that will be billed.",
  ...action(createSubscription),
  takes_request_id: true,
  details: MODEL_DETAILS,
  input: {
    name: describe(fields.name, "Its name, for people"),
    external_subscription_id: describeOnly(fields.external_subscription_id, "Its id in your own system"),
    client_id,
    product_id,
    billing_model_id: describe(Id, "The id of an active billing model: its price"),
    started_at: describe(fields.started_at, "When it starts, past or future; default: now"),
    billing_anchor_day: describe(
      fields.billing_anchor_day,
      "Day on which its billing months begin; default: 1",
    ),
  },
});

const endSubscription = tool({
  name: "billing_cancel_subscription",
  title: "Cancel a subscription",
  description:
    "Ends a subscription now or at the end of its running billing period, and cancels plan changes scheduled for later. It can't be reactivated. Ask the person first.",
  ...action(cancelSubscription, "subscription_id"),
  is_destructive: true,
  details: MODEL_DETAILS,
  input: { subscription_id, at: describe(cancelSubscription.input.properties.at, "When it ends") },
  async asks(ctx, { subscription_id: id, at }) {
    const { name, external_subscription_id, client } = await call(ctx, getSubscription, { id });
    const when = at === "now" ? "now" : "at the end of its running billing period";
    return `Ends the subscription ${name} (${external_subscription_id}) of ${client.name} ${when}, for good.`;
  },
});

export const subscriptionTools = [findSubscriptions, getOverview, addSubscription, endSubscription];

const findMySubscriptions = tool({
  name: "billing_find_my_subscriptions",
  title: "Find my subscriptions",
  description:
    "Finds your subscriptions with product and price, or one by id. billing_get_my_subscription_overview shows what one costs now.",
  ...subscriptionFinder,
  level: "client",
  input: subscriptionFilter,
});

const getMyOverview = tool({
  name: "billing_get_my_subscription_overview",
  title: "Explain my subscription",
  description:
    "Shows all about one of your subscriptions: plan, the running period's charges line by line, this month's credits, scheduled plan changes, last bills. billing_search_my_usage shows where the usage came from.",
  ...overview,
  level: "client",
});

/** For client users. */
export const mySubscriptionTools = [findMySubscriptions, getMyOverview];
