import { expect, test } from "bun:test";
import { useService } from "../support/harness.ts";
import { agentFor } from "../support/mcp_clients.ts";

const service = useService();

test("a meter is tried and saved, and a plan charges by it", async () => {
  const agent = await agentFor(service, service.admin_email);
  const meter = { aggregation: "count", group_keys: ["model"] };
  const time = { from: "2026-02-01T00:00:00Z", to: "2026-03-01T00:00:00Z" };
  const tried = await agent.call("billing_try_meter", { meter, ...time });
  expect(tried.structured).toEqual((await service.api("POST", "/meters/try", { meter, ...time })).body);
  const saved = await agent.call("billing_save_meter", { code: "calls", name: "Calls", ...meter });
  const { id } = saved.structured.data;
  expect((await agent.call("billing_find_catalog", { kind: "meter", id })).structured.data).toMatchObject([
    { code: "calls", group_keys: ["model"] },
  ]);
  const charge = { code: "calls", name: "Calls", type: "per_unit", meter_id: id, price: "0.01" };
  const plan = { name: "By calls", description: "", billing_type_id: 1, price: 5, currency: "USD" };
  const sold = await agent.call("billing_save_billing_model", { ...plan, charges: [charge] });
  expect(sold.structured.data.charges).toMatchObject([charge]);
  const prices = [{ match: { user: "a" }, price: "1" }];
  const refused = await agent.call("billing_save_billing_model", {
    ...plan,
    charges: [{ ...charge, prices }],
  });
  expect([refused.is_error, refused.text]).toEqual([
    true,
    expect.stringContaining(`charges.0.prices.0.match must name group_keys of meter ${id} (model), not user`),
  ]);
  for (const bad of [
    { meter: { aggregation: "most" }, ...time },
    { meter: { ...meter, sql: "1" }, ...time },
  ])
    expect((await agent.call("billing_try_meter", bad)).is_error).toBe(true);
  await agent.close();
});
