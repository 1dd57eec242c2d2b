import { afterAll, beforeAll, expect, test } from "bun:test";
import { type Service, type Json, startService, TestClock } from "../support/harness.ts";
import { type McpClient, agentFor, tokensOf } from "../support/mcp_clients.ts";
import { fillCompany, NOW, type FilledCompany } from "./fixtures.ts";

// An agent's day: a person's questions about one customer, answered from nothing but the list of tools. What it
// costs is the number of calls and what the model reads of each answer.

/** No answer of the day may cost more. */
const ANSWER_TOKENS = 1_000;
const DAY_TOKENS = 3_000;
const CALLS = 8;

const clock = new TestClock(NOW);
let service: Service;
let company: FilledCompany;
let agent: McpClient;
let tools: Set<string>;
const costs: number[] = [];

beforeAll(async () => {
  service = await startService({ clock });
  company = await fillCompany(service, clock);
  // Others, so that finding one is finding.
  for (let i = 0; i < 40; i++) await service.api("POST", "/clients", { name: `Customer ${i}` });
  agent = await agentFor(service, service.admin_email);
  tools = new Set((await agent.list()).map(({ name }: Json) => name));
});
afterAll(async () => {
  await agent.close();
  await service.stop();
});

/** One call of a tool that is in the list; what the model reads of the answer counts. */
async function ask(name: string, args: object): Promise<Json> {
  expect(tools).toContain(name);
  const { is_error, text, structured } = await agent.call(name, args);
  expect([is_error, is_error && text]).toEqual([false, false]);
  costs.push(tokensOf(text));
  expect(tokensOf(text), name).toBeLessThan(ANSWER_TOKENS);
  return structured.data;
}

test("an agent's day: from a customer's name to a verified bill", async () => {
  // "What does Acme pay for?"
  const [client] = await ask("billing_find_clients", { search: "acme" });
  expect(client.name).toBe("Acme");
  const subscriptions = await ask("billing_find_subscriptions", { client_id: client.id });
  expect(subscriptions.map(({ name }: Json) => name)).toEqual(["Acme tokens", "Acme credits"]);
  const [{ id: subscription_id, billing_model }] = subscriptions;
  expect(billing_model.name).toBe("Per token");

  // "Why so much this month?"
  const keys = await ask("billing_list_usage_metadata_keys", {
    external_subscription_id: subscriptions[0].external_subscription_id,
    relative: "this_month",
  });
  const [{ key }] = keys.filter(({ samples }: Json) => samples.includes("large"));
  const usage = await ask("billing_search_usage", {
    subscription_ids: [subscription_id],
    relative: "this_month",
    aggregate: true,
    group_by: `metadata:${key}`,
  });
  expect(usage).toEqual({
    columns: ["metadata:model", "total_usage", "event_count"],
    rows: [
      ["large", 101, 2],
      ["small", 20, 1],
    ],
    total: { groups: 2, total_usage: 121, event_count: 3 },
  });

  // "What will that cost?"
  const overview = await ask("billing_get_subscription_overview", { subscription_id });
  expect(overview.running_charges).toMatchObject({ total: "60.50", currency: "USD" });
  expect(overview.running_charges.lines[0]).toMatchObject({
    kind: "usage",
    quantity: "121",
    amount: "60.50",
  });

  // "Move them to the dearer price from April on."
  const models = await ask("billing_find_catalog", { kind: "billing_model", search: "dearer" });
  const change = await ask("billing_change_plan", {
    subscription_id,
    kind: "change",
    new_billing_model_id: models[0].id,
    effective_at: "2026-04-01T00:00:00Z",
  });
  expect(change).toMatchObject({ status: "scheduled", new_billing_model_id: company.dearer });

  // "Was February's bill right?" The overview named the last bills.
  const [bill] = overview.latest_records;
  expect(bill).toMatchObject({ totalCharges: "17.50", billingStartAt: "2026-02-01T00:00:00.000Z" });
  const [proof] = await ask("billing_find_records", { record_id: bill.id, verify: true });
  expect(proof.matches).toBe(true);

  expect(costs.length).toBeLessThanOrEqual(CALLS);
  expect(costs.reduce((sum, cost) => sum + cost, 0)).toBeLessThan(DAY_TOKENS);

  // What it did is on record, as the agent's.
  const { body } = await service.api("GET", "/audit-log?origin=mcp");
  expect(body.data.map(({ operation }: Json) => operation)).toEqual(["create_billing_model_change"]);
  const changes = (await service.api("GET", `/subscriptions/${subscription_id}/billing-model-changes`)).body
    .data;
  expect(changes).toHaveLength(1);
});
