import type { BillingModel } from "../../../billing/billing_models/model.ts";
import type { BillingModelChange } from "../../../billing/billing_model_changes/model.ts";
import type { ChangePreview } from "../../../billing/previews/model.ts";
import type { BillingRecord, BillingRecordDetail } from "../../../billing/records/model.ts";
import type { BillPreview } from "../../../billing/runs/model.ts";
import type { ClientOverview } from "../../../billing/self_service/model.ts";
import type { SubscriptionDetail } from "../../../billing/subscriptions/detail.ts";
import type { EntitlementUse } from "../../../entitlements/grants/model.ts";
import type { SpendLimit } from "../../../entitlements/spend_limits/model.ts";
import { get, list, post, put } from "../../api/call.ts";

export const getOverview = get<typeof ClientOverview>("/my/overview", "ClientOverview");
export const listPlans = list<typeof BillingModel>("/my/plans", "BillingModel");
export const getSubscription = get<typeof SubscriptionDetail>("/my/subscriptions/:id", "SubscriptionDetail");
export const previewBill = get<typeof BillPreview>("/my/subscriptions/:id/preview", "BillPreview");
export const listEntitlements = list<typeof EntitlementUse>(
  "/my/subscriptions/:id/entitlements",
  "EntitlementUse",
);
export const getSpendLimit = get<typeof SpendLimit>("/my/subscriptions/:id/spend-limit", "SpendLimit");
export const setSpendLimit = put<typeof SpendLimit>("/my/subscriptions/:id/spend-limit", "SpendLimit");

export const upgrade = post<typeof BillingModelChange>("/my/subscriptions/:id/upgrade", "BillingModelChange");
export const previewUpgrade = post<typeof ChangePreview>(
  "/my/subscriptions/:id/upgrade/preview",
  "ChangePreview",
);
export const downgrade = post<typeof BillingModelChange>(
  "/my/subscriptions/:id/downgrade",
  "BillingModelChange",
);
export const previewDowngrade = post<typeof ChangePreview>(
  "/my/subscriptions/:id/downgrade/preview",
  "ChangePreview",
);
export const cancel = post<typeof SubscriptionDetail>("/my/subscriptions/:id/cancel", "SubscriptionDetail");
export const previewCancel = post<typeof ChangePreview>(
  "/my/subscriptions/:id/cancel/preview",
  "ChangePreview",
);

export const listBills = list<typeof BillingRecord>("/my/billing-records", "BillingRecord");
export const getBill = get<typeof BillingRecordDetail>("/my/billing-records/:id", "BillingRecordDetail");
