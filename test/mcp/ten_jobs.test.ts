import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { listUndispatched } from "../../src/webhooks/events/queries.ts";
import { type Service, type Json, startService, TestClock } from "../support/harness.ts";
import { CLIENTS, agentFor, type McpClient, tokensOf } from "../support/mcp_clients.ts";
import { addWebhook, openReceiver, until } from "../support/webhook_receiver.ts";
import { addUser, fillCompany, type FilledCompany } from "./fixtures.ts";

// Ten everyday jobs, done by an agent from nothing but the list of tools: each by few calls, none of them refused.
// What they cost is the calls, and what the model reads of the answers.

const CALLS_A_JOB = 3;
const ANSWER_TOKENS = 12_000;
const NOW = "2026-04-20T12:00:00Z";

const env = { NODE_ENV: "development", LOAN_SERVICE_KEY: "a-service-key" };

/** What the jobs cost so far. */
interface Cost {
  calls: number;
  tokens: number;
}

/** A person who says yes where a tool asks; a question and its answer are two calls. */
function costing(agent: McpClient, cost: Cost) {
  const call = async (name: string, args: object) => {
    const { is_error, text, structured } = await agent.call(name, args);
    expect([name, is_error, is_error && text]).toEqual([name, false, false]);
    cost.calls += 1;
    cost.tokens += tokensOf(text);
    return structured;
  };
  return async (name: string, args: object = {}): Promise<Json> => {
    const answer = await call(name, args);
    const question = answer.needs_confirmation;
    return (question ? await call(name, { ...args, confirm: question.confirm }) : answer).data;
  };
}

/** A month's usage of many users, and a bill of March that is higher than February's. */
async function goOn(service: Service, clock: TestClock): Promise<void> {
  clock.set("2026-04-18T12:00:00Z");
  const api = await service.signIn(service.admin_email);
  const events = Array.from({ length: 600 }, (_, i) => ({
    external_subscription_id: i % 3 === 0 ? "acme-credits" : "acme-tokens",
    timestamp: Date.UTC(2026, 3, 1 + (i % 17), 9),
    usage: 1 + (i % 5),
    metadata: { model: i % 2 === 0 ? "large" : "small", user: `user-${i % 23}` },
  }));
  expect((await api("POST", "/usage/events", events)).status).toBe(201);
  expect((await api("POST", "/billing-runs", {})).status).toBe(200);
  for (let i = 0; i < 60; i++) await api("POST", "/clients", { name: `Customer ${i}` });
  clock.set(NOW);
}

/** Two deliveries that failed: their endpoint was gone, was disabled, and is back. */
async function failDeliveries(service: Service): Promise<void> {
  const api = await service.signIn(service.admin_email);
  const receiver = openReceiver();
  receiver.answer(() => new Response("gone", { status: 410 }));
  // An endpoint hears of what waits when it is added, too: here only of its own two clients.
  const isQuiet = async () => (await listUndispatched(service.deps.store.read, 1)).length === 0;
  await until(isQuiet, "the events so far to be fanned out");
  const { id } = await addWebhook(api, receiver.url, ["client.created"]);
  const { url, event_types } = (await api("GET", `/webhooks/${id}`)).body.data;
  const failed = async () => (await api("GET", "/webhook-logs?status=failed")).body.data.length;
  for (const [i, name] of ["One", "Two"].entries()) {
    await api("POST", "/clients", { name });
    await until(async () => (await failed()) === i + 1, "a failed delivery");
    const revived = await api("PUT", `/webhooks/${id}`, { url, event_types, status: "active" });
    expect(revived.status).toBe(200);
  }
  await receiver.stop();
}

describe.each(CLIENTS)("with %s", (kind) => {
  const cost: Cost = { calls: 0, tokens: 0 };
  const clock = new TestClock(NOW);
  let service: Service;
  let company: FilledCompany;
  let ask: ReturnType<typeof costing>;
  const agents: McpClient[] = [];

  const connect = async (email: string) => {
    const agent = await agentFor(service, email, kind);
    agents.push(agent);
    return costing(agent, cost);
  };

  beforeAll(async () => {
    service = await startService({ clock, env });
    company = await fillCompany(service, clock);
    await goOn(service, clock);
    ask = await connect(service.admin_email);
  }, 180_000);
  afterAll(async () => {
    await Promise.all(agents.map((agent) => agent.close()));
    await service.stop();
  });

  test("why is Acme's bill of March higher than that of February?", async () => {
    const [acme] = await ask("billing_find_subscriptions", { search: "acme tokens" });
    const bills = await ask("billing_find_records", { subscription_id: acme.id, limit: 2 });
    expect(bills.map(({ totalCharges }: Json) => totalCharges)).toEqual(["60.50", "17.50"]);
    const [march] = await ask("billing_find_records", { record_id: bills[0].id });
    const [february] = await ask("billing_find_records", { record_id: bills[1].id });
    const used = [march, february].map(({ lines }) => lines[0].quantity);
    expect(used).toEqual(["121", "35"]);
  });

  test("what does the dearer plan cost from the 1st, and move Acme to it", async () => {
    const [acme] = await ask("billing_find_subscriptions", { search: "acme tokens" });
    const [dearer] = await ask("billing_find_catalog", { kind: "billing_model", search: "dearer" });
    const move = {
      subscription_id: acme.id,
      kind: "change",
      new_billing_model_id: dearer.id,
      effective_at: "next_period",
    };
    const preview = await ask("billing_preview_change", move);
    expect([preview.at_once, preview.effective_at]).toEqual([false, "2026-05-01T00:00:00.000Z"]);
    const change = await ask("billing_change_plan", move);
    expect(change).toMatchObject({ status: "scheduled", effective_at: "2026-05-01T00:00:00.000Z" });
  });

  test("who runs out of credits this month?", async () => {
    const [first] = await ask("billing_get_figures", { kind: "credits" });
    expect(first).toMatchObject({ subscription_name: "Acme credits", allocated: 1_000, reached: 0 });
    expect(first.used).toBeGreaterThan(0);
  });

  test("who are the top users of the large model, by day?", async () => {
    const table = await ask("billing_search_usage", {
      metadata: { model: "large" },
      group_by: ["day", "metadata:user"],
      relative: "this_month",
    });
    expect(JSON.stringify(table)).toContain("user-");
  });

  test("take MYR 120 a month from Farid at Maybank", async () => {
    const setup = await ask("emandate_get_setup");
    const bank = JSON.stringify(setup).match(/"bank_code":"([^"]+)"[^}]*Maybank/i)?.[1];
    const mandate = await ask("emandate_create_mandate", {
      customer_name: "Farid bin Osman",
      customer_email: "farid@example.com",
      customer_ic_number: "880101-14-5533",
      bankscheme_txn_amount: "120.00",
    });
    expect(mandate).toMatchObject({ frequency: "Monthly", bankscheme_txn_amount: "120.00" });
    const sent = await ask("emandate_authorize_mandate", { mandate_id: mandate.id, bank_code: bank });
    expect(sent.authorization_url).toStartWith("http");
  });

  test("send the webhooks that failed again", async () => {
    await failDeliveries(service);
    const failed = await ask("billing_find_webhook_deliveries", { status: "failed" });
    expect(failed).toHaveLength(2);
    for (const { id: delivery_id } of failed) {
      const again = await ask("billing_redeliver_webhook", { delivery_id });
      expect(again.status).toBe("pending");
    }
  });

  test("which applications wait for documents?", async () => {
    const applications = await ask("loan_find_applications", { environment: "staging", status: "draft" });
    expect(applications.map(({ id }: Json) => id)).toEqual([company.application]);
  });

  test("a client asks for its last and its running month, with the invoice", async () => {
    const api = await service.signIn(service.admin_email);
    const { email } = await addUser(api, "client", company.client);
    const mine = await connect(email);
    const [own] = await mine("billing_find_my_subscriptions", { search: "tokens" });
    const overview = await mine("billing_get_my_subscription_overview", { subscription_id: own.id });
    expect(overview.latest_records[0].totalCharges).toBe("60.50");
    expect(Number(overview.running_charges.total)).toBeGreaterThan(0);
    const [bill] = await mine("billing_find_my_records", { record_id: overview.latest_records[0].id });
    expect(bill.lines[0]).toMatchObject({ kind: "usage", quantity: "121" });
  });

  test("what was the revenue of March, by product?", async () => {
    const revenue = await ask("billing_get_figures", {
      kind: "revenue",
      month: "2026-03",
      group_by: "product",
    });
    expect(revenue.rows).toMatchObject([{ name: "Tokens", currency: "USD", amount: "70.50" }]);
  });

  test("cancel Acme's credits at the month's end", async () => {
    const [acme] = await ask("billing_find_subscriptions", { search: "acme credits" });
    const ended = await ask("billing_cancel_subscription", { subscription_id: acme.id, at: "period_end" });
    expect(ended.ends_at).toBe("2026-05-01T00:00:00.000Z");
  });

  test("all ten take few calls and few tokens", () => {
    expect(cost.calls / 10).toBeLessThanOrEqual(CALLS_A_JOB);
    expect(cost.tokens).toBeLessThanOrEqual(ANSWER_TOKENS);
  });
});
