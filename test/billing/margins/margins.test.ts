import { expect, test } from "bun:test";
import type { Json } from "../../support/harness.ts";
import { runNamedJob } from "../../support/jobs.ts";
import { PER_UNIT, useBilling } from "../fixtures.ts";

const billing = useBilling();

test("margins are what was billed less the newest simulation of the cost model, by client, product and charge", async () => {
  billing.clock.set("2026-01-01T00:00:00Z");
  const company = await billing.addCompany();
  const { api } = company;
  const meter_id = (await api("POST", "/meters", { code: "units", name: "Units", aggregation: "sum" })).body
    .data.id;
  const charge = (price: string) => ({ code: "units", name: "Units", meter_id, type: "per_unit", price });
  const plan = await company.addModel({ ...PER_UNIT, charges: [charge("1")] });
  const cost = await company.addModel({
    billing_type_id: 1,
    price: 2,
    purpose: "cost",
    charges: [charge("1.25")],
  });
  const other_client = (await api("POST", "/clients", { name: "Loss" })).body.data.id;
  const first = await company.subscribe(plan);
  const second = await company.subscribe({ billing_type_id: 1, price: 10 }, { client_id: other_client });
  await company.use(first, ["2026-01-05T00:00:00Z", "100"]);
  await company.use(second, ["2026-01-05T00:00:00Z", "40"]);
  billing.clock.set("2026-02-01T02:00:00Z");
  await company.run();
  const report = (query: string) => api("GET", `/revenue/margins?${query}`);
  const months = `cost_model_id=${cost}&from=2026-01&to=2026-01`;
  const early = await report(months);
  expect([early.status, early.body.error]).toEqual([
    409,
    expect.stringContaining(`{"billing_model_id": ${cost}, "from": "2026-01", "to": "2026-01"}`),
  ]);
  const simulate = async (body: Json) => {
    const asked = { billing_model_id: cost, from: "2026-01", to: "2026-01", ...body };
    const { data } = (await api("POST", "/simulations", asked)).body;
    await runNamedJob(billing.service, "simulations");
    return data.id;
  };
  // One of some subscriptions is no report of all.
  await simulate({ of: { subscription_ids: [first] } });
  expect((await report(months)).status).toBe(409);
  const simulation_id = await simulate({});
  const found = (await report(months)).body.data;
  // 150.00 and 10.00 were billed; 125.00 + 2.00 and 50.00 + 2.00 is what it cost.
  expect(found).toEqual({
    cost_model_id: cost,
    simulation_id,
    stale: [],
    from: "2026-01",
    to: "2026-01",
    currency: "EUR",
    totals: { revenue: "160.00", cost: "179.00", margin: "-19.00" },
    groups: 2,
    rows: [
      { id: other_client, name: "Loss", revenue: "10.00", cost: "52.00", margin: "-42.00" },
      { id: company.client_id, name: "Client", revenue: "150.00", cost: "127.00", margin: "23.00" },
    ],
  });
  const page = (await report(`${months}&limit=1&page=2`)).body.data;
  expect([page.groups, page.rows.map(({ name }: Json) => name)]).toEqual([2, ["Client"]]);
  const by_product = (await report(`${months}&group_by=product`)).body.data.rows;
  expect(by_product).toMatchObject([{ name: "Product", margin: "-19.00" }]);
  const by_charge = (await report(`${months}&group_by=charge`)).body.data.rows;
  expect(by_charge.map(({ name, margin }: Json) => [name, margin])).toEqual([
    ["units", "-75.00"],
    ["fee", "6.00"],
    ["usage", "50.00"],
  ]);
});

test("a charge whose code is the name of a kind has a row of its own", async () => {
  billing.clock.set("2026-01-01T00:00:00Z");
  const company = await billing.addCompany();
  const { api } = company;
  const meter_id = (await api("POST", "/meters", { code: "units", name: "Units", aggregation: "sum" })).body
    .data.id;
  const charge = { code: "usage", name: "Usage", meter_id, type: "per_unit", price: "1" };
  const plan = await company.addModel({ ...PER_UNIT, charges: [charge] });
  const cost = await company.addModel({ ...PER_UNIT, price: "0.25", purpose: "cost" });
  const id = await company.subscribe(plan);
  await company.use(id, ["2026-01-05T00:00:00Z", "100"]);
  billing.clock.set("2026-02-01T02:00:00Z");
  await company.run();
  await api("POST", "/simulations", { billing_model_id: cost, from: "2026-01", to: "2026-01" });
  await runNamedJob(billing.service, "simulations");
  const months = `cost_model_id=${cost}&from=2026-01&to=2026-01`;
  const { rows } = (await api("GET", `/revenue/margins?${months}&group_by=charge`)).body.data;
  expect(rows).toEqual([
    { id: null, name: "usage", charge_code: null, revenue: "50.00", cost: "25.00", margin: "25.00" },
    { id: null, name: "usage", charge_code: "usage", revenue: "100.00", cost: "0.00", margin: "100.00" },
  ]);
});

test("margins say when their simulation is out of date: costs that changed, months billed or adjusted since", async () => {
  billing.clock.set("2026-01-01T00:00:00Z");
  const company = await billing.addCompany({ timezone: "Asia/Kuala_Lumpur" });
  const other = await billing.addCompany();
  const { api } = company;
  const id = await company.subscribe(PER_UNIT);
  const cost = await company.addModel({ ...PER_UNIT, price: "0.25", purpose: "cost" });
  await company.use(id, ["2026-01-05T00:00:00Z", "100"]);
  billing.clock.set("2026-02-01T02:00:00Z");
  await company.run();
  const simulate = async () => {
    await api("POST", "/simulations", { billing_model_id: cost, from: "2026-01", to: "2026-01" });
    await runNamedJob(billing.service, "simulations");
  };
  const report = async () => {
    const query = `cost_model_id=${cost}&from=2026-01&to=2026-01`;
    const { stale, totals } = (await api("GET", `/revenue/margins?${query}`)).body.data;
    return [stale, totals.revenue, totals.cost];
  };
  await simulate();
  expect(await report()).toEqual([[], "50.00", "25.00"]);
  // Another company's bills, the bills of the next month, and a name change nothing.
  await other.subscribe(PER_UNIT);
  billing.clock.set("2026-03-01T02:00:00Z");
  await other.run({ period: "2026-02" });
  await company.run({ period: "2026-02" });
  await api("PUT", `/billing-models/${cost}`, { name: "Costs", description: "of units" });
  expect(await report()).toEqual([[], "50.00", "25.00"]);
  // Late usage is none of the simulation's until its month is adjusted.
  await company.use(id, ["2026-01-06T00:00:00Z", "10"]);
  expect((await report())[0]).toEqual([]);
  await company.run({ period: "2026-01" });
  expect(await report()).toEqual([["billed_since"], "50.00", "25.00"]);
  await api("PUT", `/billing-models/${cost}`, { name: "Costs", description: "", price: "0.3" });
  expect(await report()).toEqual([["costs_changed", "billed_since"], "50.00", "25.00"]);
  await simulate();
  expect(await report()).toEqual([[], "55.00", "33.00"]);
});

test("what is no cost, another company's, or a client user's question is refused", async () => {
  billing.clock.set("2026-01-01T00:00:00Z");
  const company = await billing.addCompany();
  const stranger = await billing.addCompany();
  const plan = await company.addModel(PER_UNIT);
  const cost = await company.addModel({ ...PER_UNIT, purpose: "cost" });
  const asked = (api: typeof company.api, id: number, from = "2026-01") =>
    api("GET", `/revenue/margins?cost_model_id=${id}&from=${from}&to=2026-01`);
  const paths = async (answer: Promise<Json>) => {
    const { status, body } = await answer;
    return [status, body.details?.[0].path];
  };
  expect(await paths(asked(company.api, plan))).toEqual([422, "/cost_model_id"]);
  expect(await paths(asked(stranger.api, cost))).toEqual([422, "/cost_model_id"]);
  expect(await paths(asked(company.api, cost, "2026-02"))).toEqual([422, "/to"]);
  expect((await paths(asked(company.api, cost, "2026-13")))[0]).toBe(422);
  const analyst = await company.addUser("analyst");
  const client = await company.addUser("client", company.client_id);
  expect((await asked(analyst, cost)).status).toBe(409);
  expect((await asked(client, cost)).status).toBe(403);
});
