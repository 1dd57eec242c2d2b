import { afterAll, beforeAll, expect, test } from "bun:test";
import { type Json, type Service, startService, TestClock } from "../support/harness.ts";
import { addWebhook, openReceiver, settled } from "../support/webhook_receiver.ts";
import { type McpClient, agentFor } from "../support/mcp_clients.ts";
import { fillCompany, NOW } from "./fixtures.ts";

// What agents need to answer everyday questions and could not.

const clock = new TestClock(NOW);
let service: Service;
let agent: McpClient;

beforeAll(async () => {
  service = await startService({ clock, env: { NODE_ENV: "development" } });
  await fillCompany(service, clock);
  agent = await agentFor(service, service.admin_email);
});
afterAll(async () => {
  await agent.close();
  await service.stop();
});

test("a delivery that has ended is sent again, whatever its event", async () => {
  const receiver = openReceiver();
  try {
    // Of deletions there is no earlier event that might still be on its way.
    const { id } = await addWebhook(service.api, receiver.url, ["client.deleted"]);
    const { body } = await service.api("POST", "/clients", { name: "Another" });
    await service.api("DELETE", `/clients/${body.data.id}`);
    const { id: delivery_id } = await settled(service.api, id);
    const again = await agent.call("billing_redeliver_webhook", { delivery_id });
    expect(again.structured.data).toMatchObject({ id: delivery_id, status: "pending" });
    const [first, second] = await receiver.calls(2);
    expect(second?.headers["webhook-id"]).toBe(first?.headers["webhook-id"] ?? "none");
  } finally {
    await receiver.stop();
  }
  const unknown = await agent.call("billing_redeliver_webhook", { delivery_id: 999_999 });
  expect([unknown.is_error, unknown.text]).toEqual([
    true,
    expect.stringContaining("billing_find_webhook_deliveries finds a valid delivery_id."),
  ]);
});

test("what failed at an endpoint that was disabled is found, and sent again once it is enabled", async () => {
  const receiver = openReceiver();
  receiver.answer(() => new Response("gone", { status: 410 }));
  const { id } = await addWebhook(service.api, receiver.url, ["product.deleted"]);
  const { body } = await service.api("POST", "/products", { name: "Another" });
  await service.api("DELETE", `/products/${body.data.id}`);
  await settled(service.api, id);
  receiver.answer(() => new Response("thanks"));
  const ask = async (name: string, args: object) => (await agent.call(name, args)).structured;
  const { data: endpoints } = await ask("billing_find_webhook_deliveries", { kind: "endpoints" });
  expect(endpoints.find((one: Json) => one.id === id)).toMatchObject({
    status: "disabled",
    disabled_reason: "It answered 410 Gone",
    figures: { failed: 1, success_rate: 0 },
  });
  const only = { endpoint_id: id, event_type: "product.*" };
  const early = await ask("billing_redeliver_webhook", only);
  expect(early.data).toMatchObject({ redelivered: 0, passed_over: 1 });
  const again = await ask("billing_redeliver_webhook", { ...only, enable: true });
  expect(again.data).toMatchObject({ redelivered: 1, passed_over: 0 });
  expect(await receiver.calls(2)).toHaveLength(2);
  await receiver.stop();
  const refused: [string, object, string][] = [
    ["billing_redeliver_webhook", { enable: true }, "endpoint_id"],
    ["billing_redeliver_webhook", { delivery_id: 1, endpoint_id: id }, "endpoint_id"],
    ["billing_find_webhook_deliveries", { kind: "endpoints", status: "failed" }, "status"],
  ];
  for (const [name, args, field] of refused) {
    const { is_error, text } = await agent.call(name, args);
    expect([is_error, text]).toEqual([true, expect.stringContaining(field)]);
  }
});

test("a plan is quoted for units and for a subscription's month, and running bills are added up", async () => {
  const ask = async (name: string, args: object) => {
    const { is_error, text, structured } = await agent.call(name, args);
    expect([name, is_error, is_error && text]).toEqual([name, false, false]);
    return structured.data;
  };
  const plan = { billing_type_id: 2, name: "By unit", price: 0.5, currency: "USD", description: "" };
  const { id } = (await service.api("POST", "/billing-models", plan)).body.data;
  const quote = { kind: "quote", new_billing_model_id: id };
  expect((await ask("billing_preview_change", { ...quote, units: "30" })).total).toBe("15.00");
  const [acme] = await ask("billing_find_subscriptions", { search: "acme tokens" });
  const of_march = { subscription_id: acme.id, period: "2026-02" };
  const path = "/billing-models/quote";
  const by_rest = await service.api("POST", path, { billing_model_id: id, ...of_march });
  expect((await ask("billing_preview_change", { ...quote, ...of_march })).total).toBe(
    by_rest.body.data.total,
  );
  const running = await ask("billing_get_figures", { kind: "running", group_by: "subscription" });
  expect(running).toEqual((await service.api("GET", "/running-bills?group_by=subscription")).body.data);
  for (const [args, field] of [
    [{ ...quote, at: "period_end" }, "at"],
    [{ kind: "quote" }, "new_billing_model_id"],
    [{ kind: "cancel", at: "period_end" }, "subscription_id"],
    [{ kind: "cancel", at: "period_end", subscription_id: acme.id, units: "1" }, "units"],
  ] as [object, string][]) {
    const { is_error, text } = await agent.call("billing_preview_change", args);
    expect([is_error, text]).toEqual([true, expect.stringContaining(field)]);
  }
  const odd = await agent.call("billing_get_figures", { kind: "running", group_by: "kind" });
  expect([odd.is_error, odd.text]).toEqual([true, expect.stringContaining("group_by")]);
});

test("a plan's concise answer has what it costs: fee, free units and minimum", async () => {
  const plan = {
    billing_type_id: 2,
    name: "Dear",
    price: 0.01,
    currency: "USD",
    description: "",
    recurring_fee: "20.00",
    free_units: 100,
    minimum_charge: "5.00",
  };
  const { id } = (await service.api("POST", "/billing-models", plan)).body.data;
  const { structured } = await agent.call("billing_find_catalog", { kind: "billing_model", id });
  expect(structured.data[0]).toMatchObject({
    recurring_fee: "20",
    free_units: "100",
    minimum_charge: "5",
  });
});
