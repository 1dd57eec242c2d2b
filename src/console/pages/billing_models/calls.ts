import type { BillingModel } from "../../../billing/billing_models/model.ts";
import type { Meter } from "../../../billing/meters/model.ts";
import type { Quote } from "../../../billing/quotes/model.ts";
import type { SubscriptionDetail } from "../../../billing/subscriptions/detail.ts";
import type { Nothing } from "../../../core/schema.ts";
import type { Client } from "../../../tenancy/clients/model.ts";
import type { ClientDetail } from "../../../billing/clients/model.ts";
import { get, list, post, put, remove } from "../../api/call.ts";
import type { Source } from "../../ui/picker.tsx";

export const listBillingModels = list<typeof BillingModel>("/billing-models", "BillingModel");
export const getBillingModel = get<typeof BillingModel>("/billing-models/:id", "BillingModel");
export const createBillingModel = post<typeof BillingModel>("/billing-models", "BillingModel");
export const updateBillingModel = put<typeof BillingModel>("/billing-models/:id", "BillingModel");
export const deleteBillingModel = remove<typeof Nothing>("/billing-models/:id", "Nothing");
export const copyBillingModel = post<typeof BillingModel>("/billing-models/:id/copy", "BillingModel");
export const quoteBillingModel = post<typeof Quote>("/billing-models/quote", "Quote");

export const listMeters = list<typeof Meter>("/meters", "Meter");
export const CLIENTS: Source<Client> = {
  from: list<typeof Client>("/clients", "Client"),
  one: get<typeof ClientDetail>("/clients/:id", "ClientDetail"),
  nameOf: ({ name }) => name,
};
export const SUBSCRIPTIONS: Source<SubscriptionDetail> = {
  from: list<typeof SubscriptionDetail>("/subscriptions", "SubscriptionDetail"),
  one: get<typeof SubscriptionDetail>("/subscriptions/:id", "SubscriptionDetail"),
  nameOf: ({ name }) => name,
};
