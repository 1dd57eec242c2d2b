import type { BillingModel } from "../../../billing/billing_models/model.ts";
import type { Quote } from "../../../billing/quotes/model.ts";
import type { Nothing } from "../../../core/schema.ts";
import { post, put, remove } from "../../api/call.ts";

export const createBillingModel = post<typeof BillingModel>("/billing-models");
export const updateBillingModel = put<typeof BillingModel>("/billing-models/:id");
export const deleteBillingModel = remove<typeof Nothing>("/billing-models/:id");
export const copyBillingModel = post<typeof BillingModel>("/billing-models/:id/copy");
export const quoteBillingModel = post<typeof Quote>("/billing-models/quote");
