import type { ApiKeyWithSecret } from "../../../access/api_keys/model.ts";
import type { BillingModel } from "../../../billing/billing_models/model.ts";
import type { Product } from "../../../billing/products/model.ts";
import type { BillPreview } from "../../../billing/runs/model.ts";
import type { CreatedSubscription, SubscriptionDetail } from "../../../billing/subscriptions/detail.ts";
import type { Attention } from "../../../overview/attention/model.ts";
import type { Overview } from "../../../overview/summary/model.ts";
import type { Client } from "../../../tenancy/clients/model.ts";
import { get, list, post } from "../../api/call.ts";

export const getOverview = get<typeof Overview>("/overview", "Overview");
export const getAttention = get<typeof Attention>("/attention", "Attention");

export const listClients = list<typeof Client>("/clients", "Client");
export const createClient = post<typeof Client>("/clients", "Client");
export const listProducts = list<typeof Product>("/products", "Product");
export const createProduct = post<typeof Product>("/products", "Product");
export const listBillingModels = list<typeof BillingModel>("/billing-models", "BillingModel");
export const createBillingModel = post<typeof BillingModel>("/billing-models", "BillingModel");
export const listSubscriptions = list<typeof SubscriptionDetail>("/subscriptions", "SubscriptionDetail");
export const createSubscription = post<typeof CreatedSubscription>("/subscriptions", "CreatedSubscription");
export const createApiKey = post<typeof ApiKeyWithSecret>("/api-keys", "ApiKeyWithSecret");
export const previewBill = get<typeof BillPreview>("/subscriptions/:id/preview", "BillPreview");
