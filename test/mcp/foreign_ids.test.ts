import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { billingModelChangeTable } from "../../src/billing/billing_model_changes/tables.ts";
import { billingModelMigrationTable } from "../../src/billing/billing_model_migrations/tables.ts";
import { mandateFlagTable } from "../../src/emandate/flags/tables.ts";
import { consentTable } from "../../src/loans/consents/tables.ts";
import { loanDocumentTable } from "../../src/loans/documents/tables.ts";
import { webhookLogTable } from "../../src/webhooks/deliveries/tables.ts";
import { type Json, type Service, startService, type Tenant, TestClock } from "../support/harness.ts";
import { APPLICATION } from "../loans/applications/fixtures.ts";
import { agentFor, type McpClient } from "../support/mcp_clients.ts";
import { addUser, fillCompany, type FilledCompany, NOW } from "./fixtures.ts";

// Ids of another company, and of another client, in every tool that writes.

const clock = new TestClock(NOW);
let service: Service;
let company: FilledCompany;
let other: Tenant;
let foreign: Foreign;
let agent: McpClient;
let mine: McpClient;
/** A form of another client of the same company. */
let form: number;

/** That there is no such record, in the words of each family. */
const REFUSED =
  /not found|names no .* of this company|must be (one of the company's|a product of the company|the id of an? (published|active))/;

/** A company with a record of every kind that a tool names by its id. */
type Foreign = FilledCompany & Awaited<ReturnType<typeof addMore>>;

beforeAll(async () => {
  service = await startService({ clock, env: { LOAN_SERVICE_KEY: "a-service-key" } });
  company = await fillCompany(service, clock);
  other = await service.addTenant();
  const filled = await fillCompany(service, clock, other);
  foreign = { ...filled, ...(await addMore(other, filled)) };
  agent = await agentFor(service, service.admin_email);
  const neighbour = await done(service, "/clients", { name: "Neighbour" });
  const theirs = await service.addUser(service, "client", neighbour);
  form = (await theirs("POST", "/my/forms", { name: "Theirs", config: CONFIG })).body.data.id;
  mine = await agentFor(service, (await addUser(service.api, "client", company.client)).email);
});
afterAll(async () => {
  await Promise.all([agent.close(), mine.close()]);
  await service.stop();
});

const CONFIG = { title: "Form", fields: [{ name: "purpose", label: "Purpose", type: "text" }] };

async function done({ api }: Pick<Tenant, "api">, path: string, body: object): Promise<number> {
  const made = await api("POST", path, body);
  expect([path, made.status, made.body.error]).toEqual([path, 201, undefined]);
  return made.body.data.id;
}

/** Rows that take a month to come about, or a file. */
async function addMore(tenant: Tenant, filled: FilledCompany) {
  const { company_id } = tenant;
  const api = await service.signIn(tenant.admin_email);
  const meter = await done({ api }, "/meters", { code: "calls", name: "Calls", aggregation: "count" });
  const url = "https://receiver.example/in";
  // Of what never happens here: else a delivery might be made between two looks.
  const endpoint = await done({ api }, "/webhooks", { url, event_types: ["alert.reached"] });
  const at = "2026-03-09T00:00:00.000Z";
  const common = { company_id, created_at: at, updated_at: at };
  const change = {
    old_billing_model_id: filled.metered,
    new_billing_model_id: filled.dearer,
    kind: "change",
  };
  const migration = { from_billing_model_id: filled.metered, to_billing_model_id: filled.dearer };
  const loan = { ...common, environment: "staging", application_id: filled.application };
  return service.deps.store.tx(async (q) => {
    const idOf = async (inserted: PromiseLike<{ id: number }[]>) => (await inserted)[0]?.id ?? 0;
    return {
      meter,
      endpoint,
      change: await idOf(
        q
          .insert(q.use(billingModelChangeTable))
          .values({
            ...common,
            ...change,
            subscription_id: filled.subscription,
            status: "scheduled",
            effective_at: "2026-06-01T00:00:00.000Z",
            adjustment_billing_record_ids: [],
            attempts: 0,
          } as never)
          .returning(),
      ),
      migration: await idOf(
        q
          .insert(q.use(billingModelMigrationTable))
          .values({
            ...common,
            ...migration,
            at: "next_period",
            status: "finished",
            after_id: 0,
            last_id: 0,
            counts: { subscriptions: 0, changed: 0, failed: 0 },
            errors: [],
          })
          .returning(),
      ),
      flag: await idOf(
        q
          .insert(q.use(mandateFlagTable))
          .values({ ...common, mandate_id: filled.mandate, order_id: 1, reason: "paid_twice", about: "a" })
          .returning(),
      ),
      delivery: await idOf(
        q
          .insert(q.use(webhookLogTable))
          .values({
            ...common,
            endpoint_id: endpoint,
            environment: "staging",
            message_id: "m",
            event_type: "application.submitted",
            url,
            payload: { type: "application.submitted", timestamp: at, data: {} },
            status: "failed",
            step: 0,
            attempts: [],
          })
          .returning(),
      ),
      document: await idOf(
        q
          .insert(q.use(loanDocumentTable))
          .values({
            ...loan,
            type: "payslip",
            file_name: "a.pdf",
            content_type: "application/pdf",
            size: 1,
            sha256: "0".repeat(64),
            status: "pending_review",
            uploaded_by: "somebody",
          } as never)
          .returning(),
      ),
      consent: await idOf(
        q
          .insert(q.use(consentTable))
          .values({
            ...loan,
            definition_id: filled.definition,
            code: "credit_check",
            version: 1,
            locale: "en",
            text_sha256: "0".repeat(64),
            status: "granted",
            subject_name: "Aminah",
            evidence: { method: "checkbox", captured_at: NOW },
            granted_at: at,
          } as never)
          .returning(),
      ),
    };
  });
}

/** All that a company has, and what was done in it. */
async function stateOf({ admin_email }: Tenant): Promise<Json[]> {
  const api = await service.signIn(admin_email);
  const lists = [
    "clients",
    "products",
    "billing-models",
    "subscriptions",
    "billing-records",
    "meters",
    "forms",
  ];
  const more = ["billing-model-migrations", "simulations", "webhooks", "webhook-logs"];
  const debits = ["products", "mandates", "payments", "collections", "flags"].map(
    (list) => `emandate/${list}`,
  );
  const loans = ["programs", "applications", "consent-definitions"].map((list) => `lending/staging/${list}`);
  const answers = await Promise.all(
    [...lists, ...more, ...debits, ...loans].map((list) => api("GET", `/${list}`)),
  );
  // The sign-in that reads it is not what was done.
  const { body } = await api("GET", "/audit-log?limit=200");
  const entries = body.data.filter(({ operation }: Json) => operation !== "login");
  return [...answers.map(({ status, body: answer }) => [status, answer]), entries];
}

/** Calls that name a foreign record, by the parameter that does; the rest of each is right. */
function companyCases(): [tool: string, parameter: string, args: object][] {
  const environment = "staging";
  const { subscription: subscription_id, application: application_id } = company;
  const subscription = {
    name: "x",
    external_subscription_id: "x",
    client_id: company.client,
    product_id: company.product,
    billing_model_id: company.metered,
  };
  const change = { kind: "change", effective_at: "next_period" };
  const months = { from: "2026-02", to: "2026-02" };
  const evidence = { method: "checkbox", captured_at: NOW };
  const moved = { from_billing_model_id: company.metered, to_billing_model_id: company.dearer };
  const draft = { name: "x", billing_type_id: 2, price: "1", currency: "USD", description: "" };
  const offer = { amount: "9000.00", tenor_months: 24, annual_rate: "8.5" };
  const of = (key: string, value: unknown, args: object) => ({ ...args, [key]: value });
  const loan = (args: object = {}) => of("application_id", foreign.application, { environment, ...args });
  return [
    ["billing_save_billing_model", "billing_model_id", { billing_model_id: foreign.metered, ...draft }],
    ["billing_save_billing_model", "meter_id", { ...draft, meter_id: foreign.meter }],
    [
      "billing_save_billing_model",
      "charges",
      {
        ...draft,
        charges: [{ code: "calls", name: "x", type: "per_unit", meter_id: foreign.meter, price: "1" }],
      },
    ],
    ["billing_save", "id", { kind: "client", id: foreign.client, name: "x" }],
    ["billing_save", "id", { kind: "product", id: foreign.product, name: "x" }],
    ["billing_delete", "id", { kind: "client", id: foreign.client }],
    ["billing_delete", "id", { kind: "product", id: foreign.product }],
    ["billing_delete", "id", { kind: "billing_model", id: foreign.metered }],
    ["billing_create_subscription", "client_id", of("client_id", foreign.client, subscription)],
    ["billing_create_subscription", "product_id", of("product_id", foreign.product, subscription)],
    [
      "billing_create_subscription",
      "billing_model_id",
      of("billing_model_id", foreign.metered, subscription),
    ],
    ["billing_cancel_subscription", "subscription_id", { subscription_id: foreign.subscription, at: "now" }],
    [
      "billing_change_plan",
      "subscription_id",
      { subscription_id: foreign.subscription, new_billing_model_id: company.dearer, ...change },
    ],
    [
      "billing_change_plan",
      "new_billing_model_id",
      { subscription_id, new_billing_model_id: foreign.dearer, ...change },
    ],
    ["billing_change_plan", "change_id", { subscription_id, kind: "cancel", change_id: foreign.change }],
    ["billing_change_plan", "change_id", { subscription_id, kind: "void", change_id: foreign.change }],
    ["billing_migrate_plan", "migration_id", { migration_id: foreign.migration }],
    [
      "billing_migrate_plan",
      "from_billing_model_id",
      of("from_billing_model_id", foreign.metered, { ...moved, at: "next_period" }),
    ],
    [
      "billing_migrate_plan",
      "to_billing_model_id",
      of("to_billing_model_id", foreign.dearer, { ...moved, at: "next_period" }),
    ],
    [
      "billing_migrate_plan",
      "subscription_ids",
      { ...moved, at: "next_period", subscription_ids: [foreign.subscription] },
    ],
    ["billing_run", "subscription_ids", { subscription_ids: [foreign.subscription] }],
    ["billing_simulate_prices", "billing_model_id", { billing_model_id: foreign.metered, ...months }],
    ...[
      { client_ids: [foreign.client] },
      { subscription_ids: [foreign.subscription] },
      { billing_model_id: foreign.metered },
    ].map((part): [string, string, object] => [
      "billing_simulate_prices",
      "of",
      { billing_model_id: company.dearer, ...months, of: part },
    ]),
    ["billing_save_meter", "meter_id", { meter_id: foreign.meter, name: "x" }],
    [
      "emandate_save_product",
      "emandate_product_id",
      {
        emandate_product_id: foreign.emandate_product,
        product_code: "X",
        product_name: "x",
        max_amount: "10.00",
        frequency: "Monthly",
      },
    ],
    [
      "emandate_create_mandate",
      "emandate_product_id",
      { customer_name: "x", customer_email: "x@example.com", emandate_product_id: foreign.emandate_product },
    ],
    ["emandate_authorize_mandate", "mandate_id", { mandate_id: foreign.mandate }],
    ["emandate_change_mandate", "mandate_id", { mandate_id: foreign.mandate, kind: "suspend", reason: "x" }],
    ["emandate_end_mandate", "mandate_id", { mandate_id: foreign.mandate, kind: "terminate", reason: "x" }],
    ["emandate_debit", "mandate_id", { mandate_id: foreign.mandate, amount: "1.00" }],
    ["emandate_change_payment", "payment_id", { payment_id: foreign.payment, kind: "retry" }],
    ["emandate_change_payment", "payment_id", { payment_id: foreign.payment, kind: "cancel" }],
    ["emandate_run_scenario", "mandate_id", { scenario: "mandate_activated", mandate_id: foreign.mandate }],
    ["emandate_run_scenario", "payment_id", { scenario: "payment_paid", payment_id: foreign.payment }],
    ["emandate_resolve_flag", "flag_id", { flag_id: foreign.flag, note: "x" }],
    [
      "loan_save_application",
      "program_id",
      { environment, ...APPLICATION, tenor_months: 12, program_id: foreign.program },
    ],
    ["loan_save_application", "application_id", loan({ purpose: "x" })],
    ["loan_advance_application", "application_id", loan({ step: "submit" })],
    ["loan_request_action", "application_id", loan({ items: [{ kind: "field", code: "email", note: "x" }] })],
    ["loan_approve_application", "application_id", loan(offer)],
    ["loan_start_review", "application_id", loan({})],
    ["loan_reject_application", "application_id", loan({ reason_code: "other" })],
    ["loan_end_application", "application_id", loan({ how: "withdraw" })],
    ["loan_disburse_application", "application_id", loan({ reference: "x" })],
    [
      "loan_review_document",
      "document_id",
      { environment, document_id: foreign.document, verdict: "verify" },
    ],
    ["loan_record_consent", "application_id", loan({ definition_id: company.definition, evidence })],
    [
      "loan_record_consent",
      "definition_id",
      { environment, application_id, definition_id: foreign.definition, evidence },
    ],
    ["loan_revoke_consent", "consent_id", { environment, consent_id: foreign.consent, reason: "x" }],
    ["loan_save_program", "program_id", { environment, program_id: foreign.program, terms: { name: "x" } }],
    ["loan_switch_program", "program_id", { environment, program_id: foreign.program, to: "pause" }],
    [
      "loan_create_consent_definition",
      "definition_id",
      { environment, definition_id: foreign.definition, title: "x" },
    ],
    [
      "loan_publish_consent_definition",
      "definition_id",
      { environment, definition_id: foreign.definition, how: "publish" },
    ],
    ["billing_redeliver_webhook", "delivery_id", { delivery_id: foreign.delivery }],
    ["billing_redeliver_webhook", "endpoint_id", { endpoint_id: foreign.endpoint, enable: true }],
    ["loan_redeliver_webhook", "delivery_id", { environment, delivery_id: foreign.delivery }],
    [
      "loan_redeliver_webhook",
      "endpoint_id",
      { environment: "production", endpoint_id: foreign.endpoint, enable: true },
    ],
  ];
}

/** The parameters of tools that write which name records. */
async function idsOf(client: McpClient): Promise<string[]> {
  const tools = (await client.list()).filter(({ annotations }) => annotations?.readOnlyHint !== true);
  return tools.flatMap(({ name, inputSchema }) =>
    Object.keys(inputSchema.properties ?? {})
      .filter((parameter) => /^id$|_ids?$|^of$/.test(parameter))
      // A name of the caller's own, the place where to go on, and the caller's name for a repeat.
      .filter(
        (parameter) =>
          !["external_subscription_id", "after_id", "request_id", "billing_type_id"].includes(parameter),
      )
      .map((parameter) => `${name} ${parameter}`),
  );
}

describe("ids of another company", () => {
  test("reach nothing through any parameter of any tool that writes", async () => {
    const cases = companyCases();
    const covered = new Set(cases.map(([tool, parameter]) => `${tool} ${parameter}`));
    expect((await idsOf(agent)).filter((one) => !covered.has(one))).toEqual([]);
    const before = await stateOf(other);
    const own = await stateOf(service);
    const refusals: [string, string, boolean, string][] = [];
    for (const [tool, parameter, args] of cases) {
      const { is_error, text } = await agent.call(tool, args);
      refusals.push([tool, parameter, is_error, text]);
    }
    const not_refused = refusals.filter(([, , is_error, text]) => !is_error || !REFUSED.test(text));
    expect(not_refused).toEqual([]);
    expect(await stateOf(other)).toEqual(before);
    expect((await stateOf(service)).slice(0, -1)).toEqual(own.slice(0, -1));
  });

  test("of another client reach nothing through a client user's tools", async () => {
    const cases: [string, string, object][] = [
      ["forms_save_my_form", "form_id", { form_id: form, name: "x", config: CONFIG }],
      ["forms_delete_my_form", "form_id", { form_id: form }],
    ];
    const covered = new Set(cases.map(([tool, parameter]) => `${tool} ${parameter}`));
    expect((await idsOf(mine)).filter((one) => !covered.has(one))).toEqual([]);
    const before = await service.api("GET", `/forms/${form}`);
    for (const [tool, , args] of cases) {
      const { is_error, text } = await mine.call(tool, args);
      expect([tool, is_error, text]).toEqual([tool, true, expect.stringContaining("not found")]);
    }
    expect((await service.api("GET", `/forms/${form}`)).body).toEqual(before.body);
  });
});
