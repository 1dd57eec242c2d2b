import { addDraft, addProgram, lead, openLoans } from "../../loans/applications/fixtures.ts";
import { type Api, PASSWORD, type Service, type Tenant } from "../harness.ts";
import { creditModel } from "./credit_model.ts";

/** What the pages of one record are walked with: a value for each name in a path, by the page's path. */
export type Samples = Record<string, Record<string, string | number>>;

async function made(api: Api, path: string, body: object): Promise<number> {
  const { status, body: answer } = await api("POST", path, body);
  if (status >= 300) throw new Error(`Cannot seed ${path}: ${status} ${JSON.stringify(answer)}`);
  return answer.data?.id ?? 0;
}

/** Months ago, at the first day's start in UTC. */
function monthsAgo(months: number): string {
  const first = Temporal.Now.plainDateISO("UTC").with({ day: 1 }).subtract({ months });
  return `${first.toString()}T00:00:00Z`;
}

/** A file of usage that was tried, with a row that is none. */
async function sentFile(api: Api): Promise<number> {
  const file = "customer,time,units\nacme-api,2026-01-01T00:00:00Z,5\nnobody,2026-01-01T00:00:00Z,1\n";
  const path = "/usage/imports/files?file_name=january.csv";
  const { body } = await api("POST", path, file, { "content-type": "text/csv" });
  const matching = {
    subscription: { column: "customer" },
    timestamp: { column: "time" },
    usage: { column: "units" },
  };
  await made(api, `/usage/imports/${body.data.id}/run`, { matching, dry_run: true });
  return body.data.id;
}

/** A user of the client whom the sample company bills. */
export const CLIENT_EMAIL = "client-of-acme@example.com";

/** A small company in which every page has something to show. */
export async function seedCompany(service: Service, tenant: Tenant): Promise<Samples> {
  const { api } = tenant;
  await service.addUser(tenant, "analyst");
  const client = await made(api, "/clients", { name: "Acme with a rather long name, Sdn. Bhd." });
  const product = await made(api, "/products", { name: "Completions" });
  const meter = await made(api, "/meters", {
    code: "input_tokens",
    name: "Input tokens",
    aggregation: "sum",
    value: [{ key: "metadata:input_tokens" }],
    group_keys: ["model"],
  });
  const common = { currency: "MYR", description: `For the pages, ${"w".repeat(200)}` };
  const graduated = await made(api, "/billing-models", {
    ...common,
    billing_type_id: 3,
    name: "Growing",
    price: "5",
    usage_tiers: [
      { up_to: "1000", unit_price: "0.10" },
      { up_to: null, unit_price: "0.08" },
    ],
    charges: [
      {
        code: "input",
        name: "Input",
        type: "per_unit",
        meter_id: meter,
        price: "3",
        per: "1000000",
        prices: [{ match: { model: "small" }, price: "0.25" }],
      },
    ],
  });
  const credit = await made(api, "/billing-models", {
    ...creditModel("Pro", "20", 1_000),
    ...common,
  });
  const subscription = await made(api, "/subscriptions", {
    name: "Acme, production",
    external_subscription_id: "acme-api",
    client_id: client,
    product_id: product,
    billing_model_id: graduated,
    started_at: monthsAgo(2),
  });
  await made(api, "/subscriptions", {
    name: "Acme, credits",
    external_subscription_id: "acme-credits",
    client_id: client,
    product_id: product,
    billing_model_id: credit,
    started_at: monthsAgo(1),
  });
  const start = Temporal.Instant.from(monthsAgo(1)).epochMilliseconds;
  const events = Array.from({ length: 60 }, (_, i) => ({
    external_subscription_id: i % 3 === 0 ? "acme-credits" : "acme-api",
    timestamp: Math.min(start + i * 43_200_000, Temporal.Now.instant().epochMilliseconds),
    usage: 20 + i,
    metadata: { model: i % 2 === 0 ? "small" : "large", input_tokens: 1000 * i },
  }));
  await made(api, "/usage/events", events);
  await made(api, "/billing-runs", {});
  await made(api, `/subscriptions/${subscription}/billing-model-changes`, {
    new_billing_model_id: credit,
    effective_at: "next_period",
  });
  const mandate = await made(api, "/emandate/mandates", {
    customer_name: "Ahmad bin Ali",
    customer_email: "ahmad@example.com",
    frequency: "Monthly",
  });
  await made(api, `/emandate/mandates/${mandate}/authorize`, {});
  for (const name of ["mandate_authorized", "mandate_activated"])
    await made(api, `/emandate/simulator/scenarios/${name}/run`, { mandate_id: mandate });
  const payment = await made(api, `/emandate/mandates/${mandate}/payments`, { amount: "10.00" });
  const feature = await made(api, "/features", {
    code: "input_tokens",
    name: "Input tokens",
    kind: "limit",
    meter_id: meter,
  });
  const upload = await sentFile(api);
  const alert = await made(api, "/alerts", { name: "Dear months", on: "spend", thresholds: ["100", "500"] });
  await made(api, "/add-ons", {
    code: "seats",
    name: "More seats",
    currency: "MYR",
    charge: { type: "fixed", price: "12" },
  });
  const simulation = await made(api, "/simulations", {
    billing_model_id: credit,
    from: monthsAgo(1).slice(0, 7),
    to: monthsAgo(1).slice(0, 7),
  });
  const migration = await made(api, "/billing-model-migrations", {
    from_billing_model_id: graduated,
    to_billing_model_id: credit,
    at: "next_period",
  });
  await made(api, "/webhooks", { url: "https://example.com/hook", event_types: ["*"] });
  await made(api, "/api-keys", { name: "Gateway", role: "gateway", environment: "production" });
  const loans = await openLoans(service, tenant);
  const { id: application } = await addDraft(loans, (await addProgram(loans)).id);
  await lead(loans, application, "approved");
  const client_user = await made(api, "/users", {
    email: CLIENT_EMAIL,
    password: PASSWORD,
    role: "client",
    client_id: client,
  });
  const user = await service.signIn(CLIENT_EMAIL);
  const form = await made(user, "/my/forms", {
    name: "Contact",
    config: { title: "Write to us", fields: [{ type: "text", name: "text", label: "Your message" }] },
  });
  return {
    "/settings/users/:id": { id: client_user },
    "/forms/:id": { id: form },
    "/my/forms/:id": { id: form },
    "/my/subscriptions/:id": { id: subscription },
    "/my/bills/:id": { id: 1 },
    "/meters/:id": { id: meter },
    "/usage/imports/:id": { id: upload },
    "/alerts/:id": { id: alert },
    "/features": { id: feature },
    "/simulations/:id": { id: simulation },
    "/migrations/:id": { id: migration },
    "/debits/mandates/:id": { id: mandate },
    "/debits/payments/:id": { id: payment },
    "/loans/:environment/applications": { environment: "staging" },
    "/loans/:environment/applications/:id": { environment: "production", id: application },
    "/loans/:environment/programs": { environment: "production" },
    "/loans/:environment/consents": { environment: "staging" },
    "/clients/:id": { id: client },
    "/subscriptions/:id": { id: subscription },
    "/products/:id": { id: product },
    "/billing-models/:id": { id: graduated },
    "/bills/:id": { id: 1 },
    "/billing-runs/:id": { id: 1 },
  };
}
