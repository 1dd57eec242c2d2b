import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { listUndispatched } from "../../src/webhooks/events/queries.ts";
import { addDraft, addProgram, openLoans } from "../loans/applications/fixtures.ts";
import { type Service, type Json, startService, TestClock } from "../support/harness.ts";
import { CLIENTS, agentFor, type McpClient, tokensOf } from "../support/mcp_clients.ts";
import { addWebhook, openReceiver, type Receiver, until } from "../support/webhook_receiver.ts";
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

/** A month's usage of many users. */
const USED = Array.from({ length: 600 }, (_, i) => ({
  external_subscription_id: i % 3 === 0 ? "acme-credits" : "acme-tokens",
  timestamp: Date.UTC(2026, 3, 1 + (i % 17), 9),
  usage: 1 + (i % 5),
  metadata: { model: i % 2 === 0 ? "large" : "small", user: `user-${i % 23}` },
}));

/** What events come to, by a key of theirs: its units and how many they are. */
function sumsBy(events: typeof USED, keyOf: (event: (typeof USED)[number]) => string) {
  const sums = new Map<string, [units: number, events: number]>();
  for (const event of events) {
    const [units, count] = sums.get(keyOf(event)) ?? [0, 0];
    sums.set(keyOf(event), [units + event.usage, count + 1]);
  }
  return sums;
}

/** The usage above, and a bill of March that is higher than February's. */
async function goOn(service: Service, clock: TestClock): Promise<void> {
  clock.set("2026-04-18T12:00:00Z");
  const api = await service.signIn(service.admin_email);
  expect((await api("POST", "/usage/events", USED)).status).toBe(201);
  expect((await api("POST", "/billing-runs", {})).status).toBe(200);
  for (let i = 0; i < 60; i++) await api("POST", "/clients", { name: `Customer ${i}` });
  clock.set(NOW);
}

/** Two deliveries that failed: their endpoint was gone, was disabled, and is back. */
async function failDeliveries(service: Service): Promise<Receiver> {
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
  receiver.answer(() => new Response("thanks"));
  return receiver;
}

describe.each(CLIENTS)("with %s", (kind) => {
  const cost: Cost = { calls: 0, tokens: 0 };
  const clock = new TestClock(NOW);
  let service: Service;
  let company: FilledCompany;
  /** An application that lacks a document; the company's other one lacks none. */
  let waiting: number;
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
    const loans = await openLoans(service, service, "staging");
    const program = await addProgram(loans, { required_documents: ["payslip"] });
    waiting = (await addDraft(loans, program.id)).id;
    await goOn(service, clock);
    ask = await connect(service.admin_email);
  });
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
    const asked = { metadata: { model: "large" }, relative: "this_month" };
    const large = USED.filter(({ metadata }) => metadata.model === "large");
    const day = ({ timestamp }: (typeof USED)[number]) =>
      Temporal.Instant.fromEpochMilliseconds(timestamp).toString().slice(0, 10);
    const table = await ask("billing_search_usage", { ...asked, group_by: ["day", "metadata:user"] });
    expect(table.columns).toEqual(["day", "metadata:user", "total_usage", "event_count"]);
    const by_both = sumsBy(large, (event) => `${day(event)} ${event.metadata.user}`);
    for (const [of_day, user, ...sums] of table.rows)
      expect([user, sums]).toEqual([user, by_both.get(`${of_day} ${user}`)]);
    const total = large.reduce((sum, { usage }) => sum + usage, 0);
    expect(table.total).toEqual({ groups: 23, total_usage: total, event_count: large.length });
    const shown = table.rows.reduce((sum: number, row: Json) => sum + row[2], 0);
    expect(shown + (table.others?.total_usage ?? 0)).toBe(total);
    // A chart has a point for every day, also those without usage.
    const days = await ask("billing_search_usage", { ...asked, group_by: "day" });
    const by_day = sumsBy(large, day);
    expect(days.rows).toEqual(
      Array.from({ length: 20 }, (_, i) => {
        const of_day = `2026-04-${String(i + 1).padStart(2, "0")}`;
        return [of_day, ...(by_day.get(of_day) ?? [0, 0])];
      }),
    );
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
    const receiver = await failDeliveries(service);
    const failed = receiver.received.map(({ headers }) => headers["webhook-id"]);
    expect(failed).toHaveLength(2);
    const again = await ask("billing_redeliver_webhook", {});
    expect(again).toMatchObject({ redelivered: 2, passed_over: 0 });
    const calls = await receiver.calls(4);
    expect(calls.slice(2).map(({ headers }) => headers["webhook-id"])).toEqual(failed);
    const left = async () => {
      const api = await service.signIn(service.admin_email);
      return (await api("GET", "/webhook-logs?status=succeeded")).body.data.length;
    };
    await until(async () => (await left()) === 2, "both to have arrived");
    expect(await ask("billing_find_webhook_deliveries", { status: "failed" })).toEqual([]);
    await receiver.stop();
  });

  test("which applications wait for documents?", async () => {
    const applications = await ask("loan_find_applications", { environment: "staging", missing: "document" });
    expect(applications.map(({ id, missing }: Json) => [id, missing])).toEqual([
      [waiting, expect.arrayContaining([expect.objectContaining({ kind: "document" })])],
    ]);
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
    const user = await service.signIn(email);
    const invoice = (await user("GET", `/my/billing-records/${bill.id}/invoice`)).body;
    expect(invoice).toContain("60.50");
    for (const line of bill.lines) expect(invoice).toContain(line.amount);
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
