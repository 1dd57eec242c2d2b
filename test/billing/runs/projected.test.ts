import { expect, test } from "bun:test";
import { ms } from "../../usage/fixtures.ts";
import type { Json } from "../../support/harness.ts";
import { FLAT, PER_UNIT, useBilling } from "../fixtures.ts";

const billing = useBilling();

test("sums and counts grow with the rest of the period; fees, maxima and what was not asked for stay", async () => {
  billing.clock.set("2024-04-01T00:00:00Z");
  const company = await billing.addCompany();
  const { api } = company;
  const meter = async (code: string, aggregation: string) =>
    (await api("POST", "/meters", { code, name: code, aggregation })).body.data.id;
  const charge = (code: string, meter_id: number, price: string) => ({
    code,
    name: code,
    meter_id,
    type: "per_unit",
    price,
  });
  const charges = [
    charge("sum", await meter("sum", "sum"), "1"),
    charge("calls", await meter("calls", "count"), "10"),
    charge("peak", await meter("peak", "max"), "100"),
  ];
  const id = await company.subscribe({
    ...PER_UNIT,
    recurring_fee: "7",
    charges,
    commitment: { maximum: "450" },
  });
  const late = await company.subscribe(PER_UNIT, { started_at: "2024-04-11T00:00:00Z" });
  const preview = async (of: number, query = "?projected=true") =>
    (await api("GET", `/subscriptions/${of}/preview${query}`)).body.data;
  const use = async (of: number, at: string, usage: number) => {
    const { external_subscription_id } = (await api("GET", `/subscriptions/${of}`)).body.data;
    await api("POST", "/usage/events", { external_subscription_id, usage, timestamp: ms(at) });
  };
  billing.clock.set("2024-04-01T00:00:00Z");
  expect((await preview(id)).projected_total).toBe("7.00");
  // A third of the 30 days has passed.
  billing.clock.set("2024-04-11T00:00:00Z");
  await use(id, "2024-04-02T00:00:00Z", 2);
  const found = await preview(id);
  // Fee 7, usage 2 × 0.5, sum 2, one call 10, peak 2 × 100; then 7 + 3 + 6 + 30 + 200.
  expect([found.total, found.projected_total]).toEqual(["220.00", "246.00"]);
  expect(await preview(id, "")).not.toHaveProperty("projected_total");
  await use(id, "2024-04-03T00:00:00Z", 4);
  // The cap is of what is projected, 9 + 18 + 60 + 400: 7 + 450.
  expect((await preview(id)).projected_total).toBe("457.00");
  // The subscription that began later has used 3 in two of its twenty days.
  billing.clock.set("2024-04-13T00:00:00Z");
  await use(late, "2024-04-12T00:00:00Z", 3);
  expect(await preview(late)).toMatchObject({ total: "1.50", projected_total: "15.00" });
  const client = await company.addUser("client", company.client_id);
  const mine: Json = (await client("GET", `/my/subscriptions/${late}/preview?projected=true`)).body.data;
  expect(mine.projected_total).toBe("15.00");
  expect((await api("GET", `/subscriptions/${id}/preview?projected=maybe`)).status).toBe(422);
});

test("what was used before a plan change stays, and the plan that runs goes on", async () => {
  billing.clock.set("2024-04-01T00:00:00Z");
  const company = await billing.addCompany();
  const id = await company.subscribe(PER_UNIT);
  const dearer = await company.addModel({ ...PER_UNIT, price: 2 });
  billing.clock.set("2024-04-11T00:00:00Z");
  await company.use(id, ["2024-04-02T00:00:00Z", "10"]);
  const change = { new_billing_model_id: dearer, effective_at: "2024-04-11T00:00:00Z" };
  const changed = await company.api("POST", `/subscriptions/${id}/billing-model-changes`, change);
  expect(changed.status).toBeLessThan(300);
  billing.clock.set("2024-04-21T00:00:00Z");
  await company.use(id, ["2024-04-12T00:00:00Z", "10"]);
  const { total, projected_total } = (await company.api("GET", `/subscriptions/${id}/preview?projected=true`))
    .body.data;
  // 10 × 0.5 + 10 × 2; in the twenty days of the new plan it will be 20 × 2.
  expect([total, projected_total]).toEqual(["25.00", "45.00"]);
});

test("a flat plan is projected as it is", async () => {
  billing.clock.set("2024-04-01T00:00:00Z");
  const company = await billing.addCompany();
  const id = await company.subscribe(FLAT);
  billing.clock.set("2024-04-11T00:00:00Z");
  await company.use(id, ["2024-04-02T00:00:00Z", "10"]);
  const { body } = await company.api("GET", `/subscriptions/${id}/preview?projected=true`);
  expect(body.data).toMatchObject({ total: "31.00", projected_total: "31.00" });
});
