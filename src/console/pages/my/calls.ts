import type { BillingModel } from "../../../billing/billing_models/model.ts";
import type { BillingModelChange } from "../../../billing/billing_model_changes/model.ts";
import type { ChangePreview } from "../../../billing/previews/model.ts";
import type { BillingRecordDetail } from "../../../billing/records/model.ts";
import type { ClientOverview } from "../../../billing/self_service/model.ts";
import type { SubscriptionDetail } from "../../../billing/subscriptions/detail.ts";
import { get, list, post } from "../../api/call.ts";

export const getOverview = get<typeof ClientOverview>("/my/overview");
export const listPlans = list<typeof BillingModel>("/my/plans");
export const getSubscription = get<typeof SubscriptionDetail>("/my/subscriptions/:id");

export const upgrade = post<typeof BillingModelChange>("/my/subscriptions/:id/upgrade");
export const previewUpgrade = post<typeof ChangePreview>("/my/subscriptions/:id/upgrade/preview");
export const downgrade = post<typeof BillingModelChange>("/my/subscriptions/:id/downgrade");
export const previewDowngrade = post<typeof ChangePreview>("/my/subscriptions/:id/downgrade/preview");
export const cancel = post<typeof SubscriptionDetail>("/my/subscriptions/:id/cancel");
export const previewCancel = post<typeof ChangePreview>("/my/subscriptions/:id/cancel/preview");

export const getBill = get<typeof BillingRecordDetail>("/my/billing-records/:id");
