import type { BillingModelChange } from "../../../billing/billing_model_changes/model.ts";
import type { BillingModel } from "../../../billing/billing_models/model.ts";
import type { AddOn } from "../../../billing/add_ons/model.ts";
import type { CreditBalance } from "../../../billing/credits/model.ts";
import type { ChangePreview } from "../../../billing/previews/model.ts";
import type { Product } from "../../../billing/products/model.ts";
import type { BillingRecord } from "../../../billing/records/model.ts";
import type { BillPreview } from "../../../billing/runs/model.ts";
import type { SubscriptionAddOn } from "../../../billing/subscription_add_ons/model.ts";
import type { CreatedSubscription, SubscriptionDetail } from "../../../billing/subscriptions/detail.ts";
import type { EntitlementUse } from "../../../entitlements/grants/model.ts";
import type { SpendLimit } from "../../../entitlements/spend_limits/model.ts";
import type { Client } from "../../../tenancy/clients/model.ts";
import type { Nothing } from "../../../core/schema.ts";
import type { ClientDetail } from "../../../billing/clients/model.ts";
import { get, list, post, put, remove } from "../../api/call.ts";
import type { Source } from "../../ui/picker.tsx";

export const listSubscriptions = list<typeof SubscriptionDetail>("/subscriptions", "SubscriptionDetail");
export const getSubscription = get<typeof SubscriptionDetail>("/subscriptions/:id", "SubscriptionDetail");
export const createSubscription = post<typeof CreatedSubscription>("/subscriptions", "CreatedSubscription");
export const updateSubscription = put<typeof SubscriptionDetail>("/subscriptions/:id", "SubscriptionDetail");
export const cancelSubscription = post<typeof SubscriptionDetail>(
  "/subscriptions/:id/cancel",
  "SubscriptionDetail",
);
export const previewCancellation = post<typeof ChangePreview>(
  "/subscriptions/:id/cancel/preview",
  "ChangePreview",
);

export const listChanges = list<typeof BillingModelChange>(
  "/subscriptions/:id/billing-model-changes",
  "BillingModelChange",
);
export const requestChange = post<typeof BillingModelChange>(
  "/subscriptions/:id/billing-model-changes",
  "BillingModelChange",
);
export const previewChange = post<typeof ChangePreview>(
  "/subscriptions/:id/billing-model-changes/preview",
  "ChangePreview",
);
export const withdrawChange = remove<typeof BillingModelChange>(
  "/subscriptions/:id/billing-model-changes/:changeId",
  "BillingModelChange",
);
export const voidChange = post<typeof BillingModelChange>(
  "/subscriptions/:id/billing-model-changes/:changeId/void",
  "BillingModelChange",
);
export const upgrade = post<typeof BillingModelChange>("/subscriptions/:id/upgrade", "BillingModelChange");
export const previewUpgrade = post<typeof ChangePreview>(
  "/subscriptions/:id/upgrade/preview",
  "ChangePreview",
);
export const downgrade = post<typeof BillingModelChange>(
  "/subscriptions/:id/downgrade",
  "BillingModelChange",
);
export const previewDowngrade = post<typeof ChangePreview>(
  "/subscriptions/:id/downgrade/preview",
  "ChangePreview",
);

export const previewBill = get<typeof BillPreview>("/subscriptions/:id/preview", "BillPreview");
export const getCredits = get<typeof CreditBalance>("/subscriptions/:id/credits", "CreditBalance");
export const listBookings = list<typeof SubscriptionAddOn>("/subscriptions/:id/add-ons", "SubscriptionAddOn");
export const addBooking = post<typeof SubscriptionAddOn>("/subscriptions/:id/add-ons", "SubscriptionAddOn");
export const removeBooking = remove<typeof SubscriptionAddOn>(
  "/subscriptions/:id/add-ons/:bookingId",
  "SubscriptionAddOn",
);
export const listEntitlements = list<typeof EntitlementUse>(
  "/subscriptions/:id/entitlements",
  "EntitlementUse",
);
export const getSpendLimit = get<typeof SpendLimit>("/subscriptions/:id/spend-limit", "SpendLimit");
export const setSpendLimit = put<typeof SpendLimit>("/subscriptions/:id/spend-limit", "SpendLimit");
export const removeSpendLimit = remove<typeof Nothing>("/subscriptions/:id/spend-limit", "Nothing");
export const listBills = list<typeof BillingRecord>("/billing-records", "BillingRecord");

export const CLIENTS: Source<Client> = {
  from: list<typeof Client>("/clients", "Client"),
  one: get<typeof ClientDetail>("/clients/:id", "ClientDetail"),
  nameOf: ({ name }) => name,
};
export const PRODUCTS: Source<Product> = {
  from: list<typeof Product>("/products", "Product"),
  one: get<typeof Product>("/products/:id", "Product"),
  nameOf: ({ name }) => name,
};
export const BILLING_MODELS: Source<BillingModel> = {
  from: list<typeof BillingModel>("/billing-models", "BillingModel"),
  one: get<typeof BillingModel>("/billing-models/:id", "BillingModel"),
  nameOf: ({ name }) => name,
};
export const ADD_ONS: Source<AddOn> = {
  from: list<typeof AddOn>("/add-ons", "AddOn"),
  one: get<typeof AddOn>("/add-ons/:id", "AddOn"),
  nameOf: ({ name }) => name,
};
