import type { BillingModelChange } from "../../../billing/billing_model_changes/model.ts";
import type { CreditBalance } from "../../../billing/credits/model.ts";
import type { ChangePreview } from "../../../billing/previews/model.ts";
import type { SubscriptionAddOn } from "../../../billing/subscription_add_ons/model.ts";
import type { CreatedSubscription, SubscriptionDetail } from "../../../billing/subscriptions/detail.ts";
import { get, list, post, put, remove } from "../../api/call.ts";

export const createSubscription = post<typeof CreatedSubscription>("/subscriptions");
export const updateSubscription = put<typeof SubscriptionDetail>("/subscriptions/:id");
export const cancelSubscription = post<typeof SubscriptionDetail>("/subscriptions/:id/cancel");
export const previewCancellation = post<typeof ChangePreview>("/subscriptions/:id/cancel/preview");

export const listChanges = list<typeof BillingModelChange>("/subscriptions/:id/billing-model-changes");
export const requestChange = post<typeof BillingModelChange>("/subscriptions/:id/billing-model-changes");
export const previewChange = post<typeof ChangePreview>("/subscriptions/:id/billing-model-changes/preview");
export const withdrawChange = remove<typeof BillingModelChange>(
  "/subscriptions/:id/billing-model-changes/:changeId",
);
export const voidChange = post<typeof BillingModelChange>(
  "/subscriptions/:id/billing-model-changes/:changeId/void",
);
export const upgrade = post<typeof BillingModelChange>("/subscriptions/:id/upgrade");
export const previewUpgrade = post<typeof ChangePreview>("/subscriptions/:id/upgrade/preview");
export const downgrade = post<typeof BillingModelChange>("/subscriptions/:id/downgrade");
export const previewDowngrade = post<typeof ChangePreview>("/subscriptions/:id/downgrade/preview");

export const getCredits = get<typeof CreditBalance>("/subscriptions/:id/credits");
export const listBookings = list<typeof SubscriptionAddOn>("/subscriptions/:id/add-ons");
export const addBooking = post<typeof SubscriptionAddOn>("/subscriptions/:id/add-ons");
export const changeBooking = put<typeof SubscriptionAddOn>("/subscriptions/:id/add-ons/:bookingId");
export const removeBooking = remove<typeof SubscriptionAddOn>("/subscriptions/:id/add-ons/:bookingId");
