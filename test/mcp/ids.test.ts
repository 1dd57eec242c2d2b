import { afterAll, beforeAll, expect, test } from "bun:test";
import { type Json, type Service, startService, TestClock } from "../support/harness.ts";
import { agentFor, type McpClient } from "../support/mcp_clients.ts";
import { fillCompany, type FilledCompany, NOW } from "./fixtures.ts";

// What answers call a record by is taken by the tools: decision 0288.

const clock = new TestClock(NOW);
let service: Service;
let company: FilledCompany;
let agent: McpClient;
let stranger: McpClient;

beforeAll(async () => {
  service = await startService({
    clock,
    env: { LOAN_SERVICE_KEY: "a-service-key", NODE_ENV: "development" },
  });
  company = await fillCompany(service, clock);
  agent = await agentFor(service, service.admin_email);
  stranger = await agentFor(service, (await service.addTenant()).admin_email);
});
afterAll(async () => {
  await Promise.all([agent.close(), stranger.close()]);
  await service.stop();
});

async function data(name: string, args: object): Promise<Json> {
  const { is_error, text, structured } = await agent.call(name, args);
  expect([is_error, is_error && text]).toEqual([false, false]);
  return structured.data;
}

test("a subscription's own id, alone or as events have it, wherever its id is taken", async () => {
  const [event] = await data("billing_search_usage", { relative: "this_month", limit: 1 });
  const { subscription: id } = company;
  for (const subscription_id of [event.subscription_id, "acme-tokens", String(id)]) {
    const overview = await data("billing_get_subscription_overview", { subscription_id });
    expect(overview.subscription.id).toBe(id);
    const { rows } = await data("billing_search_usage", {
      subscription_ids: [subscription_id],
      group_by: "subscription",
    });
    expect(rows).toHaveLength(1);
    expect((await data("billing_find_records", { subscription_id })).length).toBe(1);
  }
});

test("a mandate's reference, a debit's order number, an application's reference", async () => {
  const [mandate] = await data("emandate_find_mandates", { mandate_id: company.mandate });
  expect((await data("emandate_find_mandates", { mandate_id: mandate.reference }))[0].id).toBe(mandate.id);
  const [payment] = await data("emandate_find_payments", { payment_id: company.payment });
  const { order_no } = payment.attempts[0];
  expect((await data("emandate_find_payments", { payment_id: order_no }))[0].id).toBe(company.payment);
  const environment = "staging";
  const args = { environment, application_id: company.application };
  const { reference } = await data("loan_get_application", args);
  expect((await data("loan_get_application", { environment, application_id: reference })).id).toBe(
    company.application,
  );
});

test("a text that names none, or another company's record, is not found", async () => {
  const refusal = async (of: McpClient, name: string, args: object) => {
    const { is_error, text } = await of.call(name, args);
    expect(is_error).toBe(true);
    return text;
  };
  const asked = { subscription_id: "acme-token" };
  expect(await refusal(agent, "billing_get_subscription_overview", asked)).toBe(
    "Subscription acme-token not found\nbilling_find_subscriptions finds a valid subscription_id.",
  );
  const known = { subscription_id: "acme-tokens" };
  expect(await refusal(stranger, "billing_get_subscription_overview", known)).toContain("not found");
  const [mandate] = await data("emandate_find_mandates", { mandate_id: company.mandate });
  const foreign = { mandate_id: mandate.reference };
  expect(await refusal(stranger, "emandate_find_mandates", foreign)).toContain("not found");
  const order = { payment_id: `D${company.payment}-1` };
  expect(await refusal(stranger, "emandate_find_payments", order)).toContain("not found");
  const long = { subscription_id: "x".repeat(300) };
  expect(await refusal(agent, "billing_get_subscription_overview", long)).toContain(
    "subscription_id must be",
  );
});

test("the names that answers have for ids, and those of before", async () => {
  const { record: billing_record_id } = company;
  const [proof] = await data("billing_find_records", { billing_record_id, verify: true });
  expect(proof.matches).toBe(true);
  const [run] = await data("billing_find_records", { kind: "run" });
  expect((await data("billing_find_records", { billing_run_id: run.id }))[0].id).toBe(run.id);
  // Where both are given, the other is unknown.
  const both = { billing_record_id, record_id: billing_record_id };
  expect((await agent.call("billing_find_records", both)).text).toContain("billing_record_id is not a known");
});
