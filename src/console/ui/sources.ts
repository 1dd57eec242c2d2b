import type { AddOn } from "../../billing/add_ons/model.ts";
import type { BillingModel } from "../../billing/billing_models/model.ts";
import type { ClientDetail } from "../../billing/clients/model.ts";
import type { Meter } from "../../billing/meters/model.ts";
import type { Product } from "../../billing/products/model.ts";
import type { SubscriptionDetail } from "../../billing/subscriptions/detail.ts";
import type { Client } from "../../tenancy/clients/model.ts";
import { get, list } from "../api/call.ts";
import type { Source } from "./picker.tsx";

// The lists that records of several areas are picked from.

const nameOf = ({ name }: { name: string }) => name;

export const CLIENTS: Source<Client> = {
  from: list<typeof Client>("/clients"),
  one: get<typeof ClientDetail>("/clients/:id"),
  nameOf,
};
export const PRODUCTS: Source<Product> = {
  from: list<typeof Product>("/products"),
  one: get<typeof Product>("/products/:id"),
  nameOf,
};
export const BILLING_MODELS: Source<BillingModel> = {
  from: list<typeof BillingModel>("/billing-models"),
  one: get<typeof BillingModel>("/billing-models/:id"),
  nameOf,
};
export const SUBSCRIPTIONS: Source<SubscriptionDetail> = {
  from: list<typeof SubscriptionDetail>("/subscriptions"),
  one: get<typeof SubscriptionDetail>("/subscriptions/:id"),
  nameOf,
};
export const METERS: Source<Meter> = {
  from: list<typeof Meter>("/meters"),
  one: get<typeof Meter>("/meters/:id"),
  nameOf,
};
export const ADD_ONS: Source<AddOn> = {
  from: list<typeof AddOn>("/add-ons"),
  one: get<typeof AddOn>("/add-ons/:id"),
  nameOf,
};
