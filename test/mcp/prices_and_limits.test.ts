import { afterAll, beforeAll, expect, test } from "bun:test";
import { runNamedJob } from "../support/jobs.ts";
import { type Service, startService, TestClock } from "../support/harness.ts";
import { type McpClient, agentFor } from "../support/mcp_clients.ts";
import { fillCompany, NOW, type FilledCompany } from "./fixtures.ts";

const clock = new TestClock(NOW);
let service: Service;
let company: FilledCompany;
let agent: McpClient;

beforeAll(async () => {
  service = await startService({ clock });
  company = await fillCompany(service, clock);
  agent = await agentFor(service, service.admin_email);
  // From here on every answer is checked against what its tool says.
  await agent.list();
});
afterAll(async () => {
  await agent.close();
  await service.stop();
});

test("prices are tried on past months: once for one request_id, and with whom they would hit", async () => {
  const { subscription } = company;
  const draft = { name: "Draft", description: "", billing_type_id: 2, price: "1", currency: "USD" };
  const asked = {
    billing_model: draft,
    of: { subscription_ids: [subscription] },
    from: "2026-02",
    to: "2026-02",
  };
  const simulate = () => agent.call("billing_simulate_prices", { ...asked, request_id: "try-1" });
  const [begun, repeated] = [await simulate(), await simulate()];
  expect(repeated).toEqual(begun);
  const { id: simulation_id } = begun.structured.data;
  await runNamedJob(service, "simulations");
  const shown = await agent.call("billing_find_simulations", { simulation_id, response_format: "detailed" });
  expect(shown.structured.data).toEqual([
    (await service.api("GET", `/simulations/${simulation_id}`)).body.data,
  ]);
  expect(shown.structured.data[0]).toMatchObject({
    status: "finished",
    reproduces: true,
    totals: { billed: "17.50", simulated: "35.00", difference: "17.50" },
  });
  const listed = await agent.call("billing_find_simulations", { response_format: "detailed" });
  expect(listed.structured).toEqual((await service.api("GET", "/simulations?page=1")).body);
  const rows = await agent.call("billing_find_simulations", { simulation_id, rows: true });
  expect(rows.structured).toEqual(
    (await service.api("GET", `/simulations/${simulation_id}/rows?page=1`)).body,
  );
  expect(rows.structured.data).toMatchObject([{ subscription_id: subscription, difference: "17.50" }]);
  const of_none = await agent.call("billing_find_simulations", { rows: true });
  expect(of_none.text).toContain("simulation_id is required with rows");
  const unclear = await agent.call("billing_simulate_prices", { ...asked, of: { everybody: true } });
  expect([unclear.is_error, unclear.text]).toEqual([true, expect.stringContaining("of.everybody")]);
});

test("limits are listed with their use, and checked", async () => {
  const { subscription: subscription_id, metered } = company;
  const entitlements = [{ feature: "tokens", limit: 130, window: "month" }];
  await service.api("POST", "/features", { code: "tokens", name: "Tokens", kind: "limit" });
  const { name, description } = (await service.api("GET", `/billing-models/${metered}`)).body.data;
  const granted = await service.api("PUT", `/billing-models/${metered}`, { name, description, entitlements });
  expect(granted.status).toBe(200);
  const check = (more: object) => agent.call("billing_check_usage", { subscription_id, ...more });
  const { body } = await service.api("GET", `/subscriptions/${subscription_id}/entitlements`);
  expect((await check({})).structured).toEqual(body);
  expect(body.data).toMatchObject([{ feature: "tokens", used: "121", remaining: "9" }]);
  const asked = { feature: "tokens", units: 10 };
  const external_subscription_id = "acme-tokens";
  const rest = await service.api("POST", "/usage/check", { external_subscription_id, ...asked });
  const checked = await check(asked);
  expect(checked.structured).toEqual(rest.body);
  expect(checked.structured.data).toMatchObject({ allowed: false, reason: "limit", remaining: "9" });
  expect((await check({ feature: "tokens", units: 9 })).structured.data.allowed).toBe(true);
  expect((await check({ units: 9 })).text).toContain("units must be left out for a list of all features");
  expect((await check({ feature: "images" })).text).toContain("names no feature");
});

test("billing runs are found where bills are, without the filters of bills", async () => {
  const [run] = (await service.api("GET", "/billing-runs")).body.data;
  const one = await agent.call("billing_find_records", { run_id: run.id, response_format: "detailed" });
  expect(one.structured.data).toEqual([(await service.api("GET", `/billing-runs/${run.id}`)).body.data]);
  const filtered = await agent.call("billing_find_records", { kind: "run", subscription_id: 1 });
  expect(filtered.text).toContain("subscription_id must be left out for billing runs");
});
