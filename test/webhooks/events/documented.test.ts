import { expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { EVENT_TYPES } from "../../../src/webhooks/events/model.ts";
import { doEverythingWithMandates } from "./mandate_activity.ts";
import { type Json, TestClock, useService } from "../../support/harness.ts";
import { runNamedJob } from "../../support/jobs.ts";
import { exchange } from "../../access/api_keys/fixtures.ts";
import {
  addDraft,
  addProgram,
  done,
  lead,
  type Loans,
  openLoans,
} from "../../loans/applications/fixtures.ts";
import { EVIDENCE, publish } from "../../loans/consents/fixtures.ts";
import { upload } from "../../loans/documents/fixtures.ts";

// docs/webhooks.md tells what each event carries: every type is made here, and held against it.

const BEGUN = "2026-03-10T12:00:00Z";
const clock = new TestClock(BEGUN);

const service = useService({ clock });

/** The fields of each type's example in the table of the document. */
function documented(): Map<string, string[]> {
  const text = readFileSync(join(import.meta.dir, "../../../docs/webhooks.md"), "utf8");
  const rows = [...text.matchAll(/^\| (`[a-z_.]+`.*?) \| `(\{.*?\})`/gm)];
  return new Map(
    rows.flatMap(([, names = "", example = ""]) => {
      const types = [...names.matchAll(/`([^`]+)`/g)].map(([, name = ""]) => name);
      // What comes before the last dot: `client`, `emandate.mandate`.
      const stem = types[0]?.replace(/\.[a-z_]+$/, "") ?? "";
      const fields = Object.keys(JSON.parse(example)).toSorted();
      return types.map((name): [string, string[]] => [name.startsWith(".") ? stem + name : name, fields]);
    }),
  );
}

async function add(path: string, body: object): Promise<Json> {
  const answer = await service.api("POST", path, body);
  expect([path, answer.status < 300]).toEqual([path, true]);
  return answer.body.data;
}

async function model(billing_type_id: number, monthly_credits?: number): Promise<Json> {
  const credit_plan = { monthly_credits, credit_consumption: "per_unit", overage_rate: null };
  const plan = monthly_credits === undefined ? {} : { credit_plan };
  const facts = { billing_type_id, name: "M", price: 10, currency: "USD", description: "" };
  return add("/billing-models", { ...facts, ...plan });
}

async function subscribe(model_id: number, external_subscription_id: string): Promise<Json> {
  const client = await add("/clients", { name: "Acme" });
  const product = await add("/products", { name: "Tokens" });
  return add("/subscriptions", {
    name: "S",
    external_subscription_id,
    client_id: client.id,
    product_id: product.id,
    billing_model_id: model_id,
    started_at: "2026-02-01T00:00:00Z",
  });
}

/** Does something of every kind. */
async function doEverything(): Promise<void> {
  const { api } = service;
  for (const path of ["/clients", "/products"]) {
    const { id } = await add(path, { name: "A" });
    await api("PUT", `${path}/${id}`, { name: "B" });
    await api("DELETE", `${path}/${id}`);
  }
  const meter = await add("/meters", { code: "calls", name: "Calls", aggregation: "count" });
  await api("PUT", `/meters/${meter.id}`, { name: "API calls" });
  await api("DELETE", `/meters/${meter.id}`);
  const charge = { type: "fixed", price: 10 };
  const add_on = await add("/add-ons", { code: "support", name: "Support", currency: "USD", charge });
  await api("PUT", `/add-ons/${add_on.id}`, { name: "Help" });
  const helped = `/subscriptions/${(await subscribe((await model(1)).id, "helped")).id}/add-ons`;
  const booking = await add(helped, { add_on_id: add_on.id });
  await api("PUT", `${helped}/${booking.id}`, { quantity: 2 });
  await api("DELETE", `${helped}/${booking.id}`);
  await api("DELETE", `/add-ons/${add_on.id}`);
  const unused = await model(1);
  await api("PUT", `/billing-models/${unused.id}`, { name: "B", description: "" });
  await api("DELETE", `/billing-models/${unused.id}`);
  const [flat, dearer, small, large] = [
    await model(1),
    await model(1),
    await model(6, 10),
    await model(6, 20),
  ];
  const { id } = await subscribe(flat.id, "flat");
  const credits = `/subscriptions/${(await subscribe(small.id, "credits")).id}`;
  await leaveUsage();
  await reachLimit();
  await add("/billing-runs", {});
  const changes = `/subscriptions/${id}/billing-model-changes`;
  const made = await add(changes, { new_billing_model_id: dearer.id, effective_at: "2026-02-15T00:00:00Z" });
  const later = await add(changes, { new_billing_model_id: flat.id, effective_at: "2026-05-01T00:00:00Z" });
  await api("DELETE", `${changes}/${later.id}`);
  await add(`${changes}/${made.id}/void`, {});
  await api("PUT", `/subscriptions/${id}`, { name: "T" });
  await add(`/subscriptions/${id}/cancel`, { at: "period_end" });
  await add(`${credits}/upgrade`, { new_billing_model_id: large.id });
  await add(`${credits}/downgrade`, { new_billing_model_id: small.id });
  await add("/usage/events", { external_subscription_id: "credits", usage: 100 });
  await runNamedJob(service, "credit_thresholds");
  const models = { from_billing_model_id: flat.id, to_billing_model_id: dearer.id };
  await add("/billing-model-migrations", { ...models, at: "next_period" });
  await runNamedJob(service, "billing_model_migrations");
  await add("/simulations", { billing_model_id: flat.id, from: "2026-02", to: "2026-02" });
  await runNamedJob(service, "simulations");
  const gone = await subscribe(flat.id, "gone");
  const ahead = clock.now().add({ minutes: 30 }).epochMilliseconds;
  await add("/usage/events", { external_subscription_id: "gone", usage: 1, timestamp: ahead });
  await add(`/subscriptions/${gone.id}/cancel`, { at: "now" });
  await runNamedJob(service, "billing_recheck");
}

/** Sends usage that no charge of its plan counts. */
async function leaveUsage(): Promise<void> {
  const filters = [{ key: "kind", op: "in", values: ["chat"] }];
  const meter = await add("/meters", { code: "chats", name: "Chats", aggregation: "count", filters });
  const charge = { code: "chats", name: "Chats", meter_id: meter.id, type: "per_unit", price: 1 };
  const facts = { billing_type_id: 1, name: "M", price: 10, currency: "USD", description: "" };
  const charged = await add("/billing-models", { ...facts, charges: [charge] });
  await subscribe(charged.id, "charged");
  const timestamp = Date.parse("2026-02-10T00:00:00Z");
  await add("/usage/events", { external_subscription_id: "charged", usage: 1, timestamp });
}

/** Comes to a limit, a spend limit, and a threshold of an alert. */
async function reachLimit(): Promise<void> {
  const facts = { billing_type_id: 1, name: "M", price: 10, currency: "USD", description: "" };
  await add("/features", { code: "calls", name: "Calls", kind: "limit" });
  const limit = { feature: "calls", limit: 1, window: "month" };
  const plan = await add("/billing-models", { ...facts, entitlements: [limit] });
  const { id } = await subscribe(plan.id, "limited");
  await service.api("PUT", `/subscriptions/${id}/spend-limit`, { amount: 1 });
  await add("/alerts", { name: "A", on: "limit", feature: "calls", thresholds: [80] });
  await add("/usage/events", { external_subscription_id: "limited", usage: 1 });
  await runNamedJob(service, "spend_limits");
  await runNamedJob(service, "alerts");
  await service.deps.usage.running_totals.counted();
  await runNamedJob(service, "alerts");
}

/** Brings loan applications into every state. */
async function doLoans(): Promise<void> {
  const loans = await openLoans(service);
  const { id: program_id } = await addProgram(loans);
  const draft = () => addDraft(loans, program_id);
  for (const state of ["action_required", "rejected", "disbursed", "declined", "withdrawn"] as const)
    await lead(loans, (await draft()).id, state);
  const { id } = await draft();
  await doDocuments(loans, id);
  await doConsents(loans, id);
  clock.set("2026-06-20T12:00:00Z");
  await runNamedJob(service, "loan_application_expiry");
  await runNamedJob(service, "consent_expiry");
}

async function doDocuments(loans: Loans, application_id: number): Promise<void> {
  const { token } = (await exchange(service, loans.agent_key)).body;
  for (const [type, review, reason] of [
    ["payslip", "verify", {}],
    ["passport", "reject", { reason_code: "expired" }],
  ] as const) {
    const { id } = await done(upload(service, token, application_id, { type }));
    await done(loans.lender("POST", `/lender/documents/${id}/${review}`, reason));
  }
}

async function doConsents(loans: Loans, application_id: number): Promise<void> {
  const { id: definition_id } = await publish(loans, { validity_days: 30 });
  const given = { definition_id, evidence: { ...EVIDENCE, captured_at: "2026-03-10T11:00:00Z" } };
  const path = `/agent/applications/${application_id}/consents`;
  const { id } = await done(loans.agent("POST", path, given));
  await done(loans.agent("POST", `/agent/consents/${id}/revoke`));
  await done(loans.agent("POST", path, given));
}

test("every event carries the fields that the document shows", async () => {
  await doEverything();
  await doLoans();
  // Loans took months, and so do mandates: each begins while the admin is signed in.
  clock.set(BEGUN);
  const shown = documented();
  const api = await doEverythingWithMandates(service, clock);
  const pages = await Promise.all(
    [1, 2].map(async (page) => (await api("GET", `/events?limit=200&page=${page}`)).body),
  );
  expect(pages[0].meta.total).toBeLessThanOrEqual(400);
  for (const { type, subject } of pages.flatMap(({ data: listed }) => listed))
    expect([type, subject]).toEqual([type, expect.stringMatching(/^[a-z_]+:\d+$/)]);
  const carried = new Map<string, string[]>(
    pages
      .flatMap(({ data: listed }) => listed)
      .map(({ type, data }: Json) => [type, Object.keys(data).toSorted()]),
  );
  expect([...carried.keys()].toSorted()).toEqual([...EVENT_TYPES].toSorted());
  for (const type of EVENT_TYPES) expect([type, shown.get(type)]).toEqual([type, carried.get(type)]);
});
