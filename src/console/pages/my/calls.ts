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

export const getOverview = get<typeof ClientOverview>("/my/overview");
export const listPlans = list<typeof BillingModel>("/my/plans");
export const getSubscription = get<typeof SubscriptionDetail>("/my/subscriptions/:id");
export const previewBill = get<typeof BillPreview>("/my/subscriptions/:id/preview");
export const listEntitlements = list<typeof EntitlementUse>("/my/subscriptions/:id/entitlements");
export const getSpendLimit = get<typeof SpendLimit>("/my/subscriptions/:id/spend-limit");
export const setSpendLimit = put<typeof SpendLimit>("/my/subscriptions/:id/spend-limit");

export const upgrade = post<typeof BillingModelChange>("/my/subscriptions/:id/upgrade");
export const previewUpgrade = post<typeof ChangePreview>("/my/subscriptions/:id/upgrade/preview");
export const downgrade = post<typeof BillingModelChange>("/my/subscriptions/:id/downgrade");
export const previewDowngrade = post<typeof ChangePreview>("/my/subscriptions/:id/downgrade/preview");
export const cancel = post<typeof SubscriptionDetail>("/my/subscriptions/:id/cancel");
export const previewCancel = post<typeof ChangePreview>("/my/subscriptions/:id/cancel/preview");

export const listBills = list<typeof BillingRecord>("/my/billing-records");
export const getBill = get<typeof BillingRecordDetail>("/my/billing-records/:id");
