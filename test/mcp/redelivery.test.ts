import { afterAll, beforeAll, expect, test } from "bun:test";
import { type Service, startService, TestClock } from "../support/harness.ts";
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
}, 180_000);
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
