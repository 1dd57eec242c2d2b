import type { ApiKeyWithSecret } from "../../../access/api_keys/model.ts";
import type { BillingModel } from "../../../billing/billing_models/model.ts";
import type { Product } from "../../../billing/products/model.ts";
import type { BillPreview } from "../../../billing/runs/model.ts";
import type { CreatedSubscription } from "../../../billing/subscriptions/detail.ts";
import type { Attention } from "../../../overview/attention/model.ts";
import type { Overview } from "../../../overview/summary/model.ts";
import type { Client } from "../../../tenancy/clients/model.ts";
import { get, post } from "../../api/call.ts";

export const getOverview = get<typeof Overview>("/overview");
export const getAttention = get<typeof Attention>("/attention");

export const createClient = post<typeof Client>("/clients");
export const createProduct = post<typeof Product>("/products");
export const createBillingModel = post<typeof BillingModel>("/billing-models");
export const createSubscription = post<typeof CreatedSubscription>("/subscriptions");
export const createApiKey = post<typeof ApiKeyWithSecret>("/api-keys");
export const previewBill = get<typeof BillPreview>("/subscriptions/:id/preview");
