import { Type } from "@sinclair/typebox";
import type { Level } from "../core/access.ts";
import { invalid } from "../core/errors.ts";
import { LIMITS } from "../core/limits.ts";
import { Id, pageFields, pageFieldsUpTo, Search } from "../core/schema.ts";
import { said } from "./wire_schema.ts";

// Parameters that many tools share.

export const page = pageOf(pageFields);
export const emandate_page = pageOf(pageFieldsUpTo(LIMITS.emandate_page_limit));

function pageOf(fields: typeof pageFields) {
  return {
    page: said(fields.page, "Which page, from 1"),
    limit: said(fields.limit, "Records on a page, 20 unless told"),
  };
}

export const search = Type.Optional(said(Search, "Text in the name"));

export const client_id = said(Id, "The client's id");
export const product_id = said(Id, "The product's id");
export const billing_model_id = said(Id, "The billing model's id");
export const emandate_product_id = said(Id, "The e-mandate product's id");
export const customer_id = said(Id, "The customer's id");
export const mandate_id = said(Id, "The mandate's id");
export const payment_id = said(Id, "The payment's id");
export const subscription_id = said(Id, "The subscription's id");

export const application_id = said(Id, "The application's id");
export const program_id = said(Id, "The loan program's id");
export const document_id = said(Id, "The document's id");
export const consent_id = said(Id, "The consent's id");
export const definition_id = said(Id, "The consent definition's id");
export const webhook_log_id = said(Id, "The delivery's id");

/** The tool that finds what an id means, for whoever named one that nobody has. */
export const FINDERS: Partial<Record<Level, Readonly<Record<string, string>>>> = {
  company: {
    client_id: "billing_find_clients",
    client_ids: "billing_find_clients",
    product_id: "billing_find_products",
    product_ids: "billing_find_products",
    billing_model_id: "billing_find_billing_models",
    new_billing_model_id: "billing_find_billing_models",
    subscription_id: "billing_find_subscriptions",
    subscription_ids: "billing_find_subscriptions",
    change_id: "billing_list_plan_changes",
    record_id: "billing_find_records",
    run_id: "billing_find_runs",
    delivery_id: "billing_find_webhook_deliveries",
    form_id: "forms_find_forms",
    emandate_product_id: "emandate_find_products",
    customer_id: "emandate_find_customers",
    mandate_id: "emandate_find_mandates",
    payment_id: "emandate_find_payments",
    collection_id: "emandate_find_collections",
    flag_id: "emandate_find_flags",
    bank_code: "emandate_get_setup",
    form_config_id: "forms_find_forms",
    application_id: "loan_find_applications",
    program_id: "loan_find_programs",
    document_id: "loan_get_application",
    consent_id: "loan_get_application",
    definition_id: "loan_find_consent_definitions",
    webhook_log_id: "loan_find_webhook_deliveries",
  },
  client: {
    subscription_id: "billing_find_my_subscriptions",
    subscription_ids: "billing_find_my_subscriptions",
    record_id: "billing_find_my_records",
    form_id: "forms_find_my_forms",
  },
};

/** Refuses parameters that mean nothing for what was chosen. Errors: invalid. */
export function refuseOthers(chosen: string, fields: Readonly<Record<string, unknown>>): void {
  for (const [field, value] of Object.entries(fields)) {
    if (value !== undefined) throw invalid(`/${field}`, `must be left out for ${chosen}`);
  }
}
