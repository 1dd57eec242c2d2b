import type { BillingProfile } from "../../../billing/billing_profiles/model.ts";
import type { ClientFigures } from "../../../billing/client_figures/model.ts";
import type { ClientDetail } from "../../../billing/clients/model.ts";
import type { Nothing } from "../../../core/schema.ts";
import type { Client } from "../../../tenancy/clients/model.ts";
import { get, list, post, put, remove } from "../../api/call.ts";

export const getClient = get<typeof ClientDetail>("/clients/:id");
export const listFigures = list<typeof ClientFigures>("/client-figures");
export const createClient = post<typeof Client>("/clients");
export const updateClient = put<typeof Client>("/clients/:id");
export const deleteClient = remove<typeof Nothing>("/clients/:id");
export const getBillingProfile = get<typeof BillingProfile>("/clients/:id/billing-profile");
export const saveBillingProfile = put<typeof BillingProfile>("/clients/:id/billing-profile");
