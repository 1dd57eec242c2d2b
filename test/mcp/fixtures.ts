import { expect } from "bun:test";
import { addDraft, addProgram, openLoans } from "../loans/applications/fixtures.ts";
import {
  type Api,
  type Service,
  type Json,
  PASSWORD,
  type Tenant,
  type TestClock,
} from "../support/harness.ts";

/**
 * A company with one client and its two subscriptions, metered and on credits, one bill of February, a mandate, and
 * in staging a loan program with a draft.
 */
export interface FilledCompany extends Mandates {
  client: number;
  product: number;
  metered: number;
  dearer: number;
  credits: number;
  more_credits: number;
  subscription: number;
  credit_subscription: number;
  record: number;
  program: number;
  application: number;
  definition: number;
}

interface Mandates {
  emandate_product: number;
  emandate_customer: number;
  mandate: number;
  payment: number;
  collection: number;
}

export const NOW = "2026-03-10T12:00:00Z";

async function create(api: Api, path: string, body: object): Promise<number> {
  const answer = await api("POST", path, body);
  expect([answer.status, answer.body.error]).toEqual([201, undefined]);
  return answer.body.data.id;
}

/** Fills a company, as of NOW. */
export async function fillCompany(
  service: Service,
  clock: TestClock,
  tenant: Tenant = service,
): Promise<FilledCompany> {
  clock.set("2026-02-01T00:00:00Z");
  const api = await service.signIn(tenant.admin_email);
  const client = await create(api, "/clients", { name: "Acme" });
  const product = await create(api, "/products", { name: "Tokens" });
  const model = (name: string, price: string) => ({
    billing_type_id: 2,
    name,
    price,
    currency: "USD",
    description: "",
  });
  const metered = await create(api, "/billing-models", model("Per token", "0.5"));
  const dearer = await create(api, "/billing-models", model("Per token, dearer", "0.75"));
  const plan = (monthly_credits: number) => ({
    ...model(`Plan ${monthly_credits}`, "10"),
    billing_type_id: 6,
    credit_plan: { monthly_credits, credit_consumption: "per_unit", overage_rate: "0.02" },
  });
  const credits = await create(api, "/billing-models", plan(1_000));
  const more_credits = await create(api, "/billing-models", plan(5_000));
  const subscribe = (name: string, billing_model_id: number) =>
    create(api, "/subscriptions", {
      name,
      external_subscription_id: name.toLowerCase().replaceAll(" ", "-"),
      client_id: client,
      product_id: product,
      billing_model_id,
    });
  const subscription = await subscribe("Acme tokens", metered);
  const credit_subscription = await subscribe("Acme credits", credits);
  clock.set(NOW);
  const signed = await service.signIn(tenant.admin_email);
  const event = (month: number, day: number, usage: number, name: string) => ({
    external_subscription_id: "acme-tokens",
    timestamp: Date.UTC(2026, month - 1, day, 10),
    usage,
    metadata: { model: name, created_at: "mine" },
  });
  const events = [
    event(2, 3, 30, "large"),
    event(2, 4, 5, "small"),
    event(3, 1, 100, "large"),
    event(3, 2, 20, "small"),
    event(3, 3, 1, "large"),
  ];
  expect((await signed("POST", "/usage/events", events)).status).toBe(201);
  expect((await signed("POST", "/billing-runs", {})).status).toBe(200);
  const records = (await signed("GET", `/billing-records?subscription_id=${subscription}`)).body.data;
  const ids = { client, product, metered, dearer, credits, more_credits, subscription, credit_subscription };
  const mandates = await fillMandates(signed);
  return {
    ...ids,
    record: records[0].id,
    ...mandates,
    ...(await fillLoans(service, { ...tenant, api: signed })),
  };
}

/** A mandate in the sandbox whose one debit was paid, and the run that collected nothing. */
async function fillMandates(api: Api): Promise<Mandates> {
  const emandate_product = await create(api, "/emandate/products", {
    product_code: "GYM",
    product_name: "Gym",
    max_amount: "150.00",
    frequency: "Monthly",
  });
  const mandate = await create(api, "/emandate/mandates", {
    customer_name: "Siti Aminah",
    customer_email: "siti@example.com",
    customer_ic_number: "900131-14-5678",
    emandate_product_id: emandate_product,
  });
  const happen = async (scenario: string, subject: object) => {
    const { status } = await api("POST", `/emandate/simulator/scenarios/${scenario}/run`, subject);
    expect([scenario, status]).toEqual([scenario, 202]);
  };
  expect((await api("POST", `/emandate/mandates/${mandate}/authorize`, {})).status).toBe(200);
  await happen("mandate_authorized", { mandate_id: mandate });
  await happen("mandate_activated", { mandate_id: mandate });
  const payment = await create(api, `/emandate/mandates/${mandate}/payments`, { amount: "20.00" });
  await happen("payment_paid", { payment_id: payment });
  const run = await api("POST", "/emandate/collections/run", {});
  expect(run.status).toBe(202);
  const { customer_id } = (await api("GET", `/emandate/mandates/${mandate}`)).body.data;
  return { emandate_product, emandate_customer: customer_id, mandate, payment, collection: run.body.data.id };
}

async function fillLoans(service: Service, tenant: Tenant) {
  const loans = await openLoans(service, tenant, "staging");
  const { id: program } = await addProgram(loans);
  const { id: application } = await addDraft(loans, program);
  const definition = await create(loans.lender, "/lender/consent-definitions", DEFINITION);
  return { program, application, definition };
}

export const DEFINITION = {
  code: "credit_check",
  title: "Credit check",
  purpose_text: "We ask a credit bureau about you.",
  data_text: "Your name and IC number.",
  data_categories: ["identity"],
  audience: "Credit bureaus",
  validity_days: 90,
};

/** Adds a user whose email is known, and gives it. */
export async function addUser(
  api: Api,
  role: string,
  client_id?: number,
): Promise<{ id: number; email: string }> {
  const email = `${role}-${crypto.randomUUID()}@example.com`;
  const body = { email, password: PASSWORD, role, ...(client_id === undefined ? {} : { client_id }) };
  const answer = await api("POST", "/users", body);
  expect(answer.status).toBe(201);
  return { id: answer.body.data.id, email };
}

/** Arguments with which every tool that only reads answers, in a filled company. */
export function readArguments(company: FilledCompany): Record<string, Json> {
  const { subscription: subscription_id, credit_subscription, record: record_id } = company;
  const environment = "staging";
  return {
    billing_find_clients: { client_id: company.client },
    billing_find_catalog: { kind: "meter" },
    billing_try_meter: {
      meter: { aggregation: "count" },
      from: "2026-02-01T00:00:00Z",
      to: "2026-03-01T00:00:00Z",
    },
    billing_find_subscriptions: {},
    billing_get_subscription_overview: { subscription_id: credit_subscription },
    billing_check_usage: { subscription_id },
    billing_preview_change: { subscription_id, kind: "cancel", at: "period_end" },
    billing_get_figures: { kind: "revenue", month: "2026-02", group_by: "product" },
    billing_search_usage: { aggregate: true, group_by: ["day", "metadata:model"] },
    billing_list_usage_metadata_keys: {},
    billing_export_usage: { format: "csv" },
    billing_find_records: { record_id },
    billing_find_simulations: {},
    billing_find_webhook_deliveries: {},
    forms_find_forms: {},
    emandate_find_products: { emandate_product_id: company.emandate_product },
    emandate_get_setup: {},
    emandate_find_customers: { customer_id: company.emandate_customer },
    emandate_find_mandates: { mandate_id: company.mandate },
    emandate_find_payments: { payment_id: company.payment },
    emandate_find_collections: { collection_id: company.collection },
    emandate_find_flags: {},
    loan_find_applications: { environment },
    loan_get_application: { environment, application_id: company.application },
    loan_find_programs: { environment, program_id: company.program },
    loan_find_consent_definitions: { environment, definition_id: company.definition },
    loan_find_webhook_deliveries: { environment },
    billing_find_my_subscriptions: { subscription_id },
    billing_get_my_subscription_overview: { subscription_id },
    billing_get_my_credits: { subscription_id: credit_subscription },
    billing_search_my_usage: {},
    billing_list_my_usage_metadata_keys: {},
    billing_export_my_usage: { format: "ndjson" },
    billing_find_my_records: { record_id },
    forms_find_my_forms: {},
    forms_validate_my_form: { config: { title: "x" } },
  };
}
