import { Type } from "@sinclair/typebox";
import type { Context } from "../../app/context.ts";
import { call } from "../../app/operation.ts";
import { invalid } from "../../core/errors.ts";
import { Id, listed, nullable, oneOf } from "../../core/schema.ts";
import { BillingRecord, BillPreview } from "../../features/billing/model.ts";
import { listBillingRecords } from "../../features/billing/service.ts";
import { previewSubscription } from "../../features/billing/statements.ts";
import {
  BillingModelChange,
  CHANGE_KINDS,
  CreateBillingModelChange,
} from "../../features/billing_model_changes/model.ts";
import {
  cancelBillingModelChange,
  createBillingModelChange,
  listBillingModelChanges,
  voidBillingModelChange,
} from "../../features/billing_model_changes/service.ts";
import { CreditBalance } from "../../features/credits/model.ts";
import { downgradeSubscription, getCredits, upgradeSubscription } from "../../features/credits/service.ts";
import { CreatedSubscription, SubscriptionDetail } from "../../features/subscriptions/detail.ts";
import {
  CancelSubscription,
  CreateSubscription,
  ListSubscriptions,
} from "../../features/subscriptions/model.ts";
import {
  cancelSubscription,
  createSubscription,
  getSubscription,
  listSubscriptions,
} from "../../features/subscriptions/service.ts";
import { data, dataOf } from "../../http/answers.ts";
import { client_id, page, product_id, search, subscription_id } from "../params.ts";
import { tool } from "../tool.ts";
import { said } from "../wire_schema.ts";

/** What a subscription embeds of its billing model; concise answers keep its name, type and price. */
export const MODEL_DETAILS = [
  "description",
  "recurring_fee",
  "free_units",
  "usage_tiers",
  "package_size",
  "minimum_charge",
  "maximum_charge",
  "charge_flat_on_zero",
  "credit_plan",
  "billing_type_id",
];

const { status } = ListSubscriptions.properties;
export const subscriptionFilter = {
  subscription_id: Type.Optional(said(Id, "One subscription; the other filters then do not apply")),
  product_id: Type.Optional(product_id),
  status: said(status, "active or cancelled; both unless told"),
  search,
  ...page,
};

const findSubscriptions = tool({
  name: "billing_find_subscriptions",
  title: "Find subscriptions",
  description:
    "Finds subscriptions with their client, product and billing model: by client, product, status, text in the name, or one by id. Then billing_get_subscription_overview tells what one costs now.",
  level: "company",
  operations: [listSubscriptions, getSubscription],
  details: MODEL_DETAILS,
  input: { ...subscriptionFilter, client_id: Type.Optional(client_id) },
  output: listed(SubscriptionDetail),
  run: async (ctx, { subscription_id: id, page: at = 1, ...filter }) =>
    id === undefined
      ? call(ctx, listSubscriptions, { ...filter, page: at })
      : { data: [await call(ctx, getSubscription, { id })] },
});

/** How many of the last bills an overview tells. */
const LATEST_RECORDS = 3;

export const Overview = Type.Object({
  subscription: SubscriptionDetail,
  running_charges: BillPreview,
  credits: nullable(CreditBalance),
  scheduled_changes: Type.Array(BillingModelChange),
  latest_records: Type.Array(BillingRecord),
});

export const OVERVIEW_DETAILS = [
  ...MODEL_DETAILS,
  "usage_digest",
  "usage_until",
  "billing_run_id",
  "sequence",
  "requested_by",
  "attempts",
  "applied_at",
  "cancelled_at",
  "voided_at",
  "adjustment_billing_record_ids",
];

export const OVERVIEW_OPERATIONS = [
  getSubscription,
  previewSubscription,
  getCredits,
  listBillingModelChanges,
  listBillingRecords,
];

/** A person's whole question about a subscription in one answer. */
export async function overviewOf(ctx: Context, id: number) {
  const subscription = await call(ctx, getSubscription, { id });
  const has_credits = subscription.billing_model.credit_plan !== null;
  const [running_charges, credits, changes, records] = await Promise.all([
    call(ctx, previewSubscription, { id }),
    has_credits ? call(ctx, getCredits, { id }) : null,
    call(ctx, listBillingModelChanges, { id }),
    call(ctx, listBillingRecords, { subscription_id: id, limit: LATEST_RECORDS }),
  ]);
  const scheduled_changes = changes.data.filter((change) => change.status === "scheduled");
  return { subscription, running_charges, credits, scheduled_changes, latest_records: records.data };
}

const getOverview = tool({
  name: "billing_get_subscription_overview",
  title: "Explain a subscription",
  description:
    "Tells all about one subscription: its plan, the charges of the running period line by line as a bill would have them now (running_charges), this month's credits, the plan changes that are scheduled, and its last bills. Use it to explain or preview a charge; billing_search_usage tells where the usage came from.",
  level: "company",
  operations: OVERVIEW_OPERATIONS,
  details: OVERVIEW_DETAILS,
  input: { subscription_id },
  output: dataOf(Overview),
  run: (ctx, { subscription_id: id }) => data(overviewOf(ctx, id)),
});

const fields = CreateSubscription.properties;

const addSubscription = tool({
  name: "billing_create_subscription",
  title: "Create a subscription",
  description:
    "Subscribes a client to a product at a billing model's price. Its usage events name it by external_subscription_id, which must be new in the company. past_periods in the answer says how many billing periods since started_at will be billed.",
  level: "company",
  operations: [createSubscription],
  takes_request_id: true,
  details: MODEL_DETAILS,
  input: {
    name: said(fields.name, "What people call it"),
    external_subscription_id: said(fields.external_subscription_id, "Your own system's id of it"),
    client_id,
    product_id,
    billing_model_id: said(Id, "An active billing model: its price"),
    started_at: said(fields.started_at, "When it starts, past or future; now unless told"),
    billing_anchor_day: said(
      fields.billing_anchor_day,
      "Day on which its billing months begin; 1 unless told",
    ),
  },
  output: dataOf(CreatedSubscription),
  run: (ctx, input) => data(call(ctx, createSubscription, input)),
});

const endSubscription = tool({
  name: "billing_cancel_subscription",
  title: "Cancel a subscription",
  description:
    "Ends a subscription now or at the end of its running billing period, and cancels plan changes scheduled for later. It can't be revived. Ask the person first.",
  level: "company",
  operations: [cancelSubscription],
  is_destructive: true,
  details: MODEL_DETAILS,
  input: { subscription_id, at: said(CancelSubscription.properties.at, "When it ends") },
  output: dataOf(SubscriptionDetail),
  run: (ctx, { subscription_id: id, at }) => data(call(ctx, cancelSubscription, { id, at })),
});

const CREDIT_MOVES = { upgrade: upgradeSubscription, downgrade: downgradeSubscription };

const changePlan = tool({
  name: "billing_change_plan",
  title: "Change a subscription's plan",
  description:
    "Moves a subscription to another billing model of the same currency. kind change: any model, at effective_at; in the future it is scheduled, now or in the past it is applied at once and closed periods are adjusted. kind upgrade: to a credit plan with more credits, at once. kind downgrade: to one with fewer, from the next billing month. billing_find_billing_models lists models.",
  level: "company",
  operations: [createBillingModelChange, upgradeSubscription, downgradeSubscription],
  is_destructive: true,
  input: {
    subscription_id,
    kind: said(oneOf(CHANGE_KINDS), "What kind of change"),
    new_billing_model_id: said(Id, "The model it moves to"),
    effective_at: Type.Optional(
      said(CreateBillingModelChange.properties.effective_at, "From when on; for kind change, and only there"),
    ),
  },
  output: dataOf(BillingModelChange),
  async run(ctx, { subscription_id: id, kind, new_billing_model_id, effective_at }) {
    if (kind === "change") {
      if (effective_at === undefined) throw invalid("/effective_at", "is required for kind change");
      return data(call(ctx, createBillingModelChange, { id, new_billing_model_id, effective_at }));
    }
    if (effective_at !== undefined)
      throw invalid(
        "/effective_at",
        `must be left out of an ${kind}: its time is fixed`.replace("an d", "a d"),
      );
    return data(call(ctx, CREDIT_MOVES[kind], { id, new_billing_model_id }));
  },
});

const listPlanChanges = tool({
  name: "billing_list_plan_changes",
  title: "List a subscription's plan changes",
  description:
    "Lists a subscription's plan changes, scheduled, applied and cancelled, by effective date: its price history. A scheduled one can be cancelled by its id, an applied one voided; voided_at tells it from one that never was applied.",
  level: "company",
  operations: [listBillingModelChanges],
  details: [],
  input: { subscription_id, ...page },
  output: listed(BillingModelChange),
  run: (ctx, { subscription_id: id, page: at = 1, ...rest }) =>
    call(ctx, listBillingModelChanges, { id, page: at, ...rest }),
});

const UNDOINGS = { cancel: cancelBillingModelChange, void: voidBillingModelChange };

const cancelPlanChange = tool({
  name: "billing_cancel_plan_change",
  title: "Cancel or void a plan change",
  description:
    "cancel ends a plan change while it is scheduled. void takes an applied one back as if it had never been made: the plan before it holds again, closed periods are adjusted, and credits that an upgrade added are gone. For a mistake; to move on to another plan use billing_change_plan. Ask the person first.",
  level: "company",
  operations: Object.values(UNDOINGS),
  is_destructive: true,
  input: {
    subscription_id,
    change_id: said(Id, "The change's id"),
    how: Type.Optional(said(oneOf(["cancel", "void"]), "cancel unless told")),
  },
  output: dataOf(BillingModelChange),
  run: (ctx, { subscription_id: id, change_id: changeId, how = "cancel" }) =>
    data(call(ctx, UNDOINGS[how], { id, changeId })),
});

const findCredits = tool({
  name: "billing_get_credits",
  title: "Get a subscription's credits",
  description:
    "Tells how many credits a subscription on a credit plan has used and has left this month. An upgrade adds credits at once.",
  level: "company",
  operations: [getCredits],
  input: { subscription_id },
  output: dataOf(CreditBalance),
  run: (ctx, { subscription_id: id }) => data(call(ctx, getCredits, { id })),
});

export const subscriptionTools = [
  findSubscriptions,
  getOverview,
  addSubscription,
  endSubscription,
  changePlan,
  listPlanChanges,
  cancelPlanChange,
  findCredits,
];
