import { expect, test } from "bun:test";
import type { Json } from "../../support/harness.ts";
import { runNamedJob } from "../../support/jobs.ts";
import { FLAT, PER_UNIT, useBilling } from "../fixtures.ts";

// Prices tried on months that were billed.

const billing = useBilling();

async function simulate(api: (method: string, path: string, body?: Json) => Promise<Json>, body: Json) {
  const { status, body: answer } = await api("POST", "/simulations", body);
  expect([status, answer.error]).toEqual([202, undefined]);
  expect(answer.data).toMatchObject({ status: "running", reproduces: null, finished_at: null });
  await runNamedJob(billing.service, "simulations");
  return (await api("GET", `/simulations/${answer.data.id}`)).body.data;
}

const model = (price: number, more: Json = {}) => ({
  name: "Draft",
  description: "",
  currency: "EUR",
  ...PER_UNIT,
  price,
  ...more,
});

test("a draft is tried on the months that were billed, and nothing else is written", async () => {
  const company = await billing.addCompany();
  const { api } = company;
  billing.clock.set("2025-12-01T00:00:00Z");
  const plan = await company.addModel(PER_UNIT);
  const large = await company.subscribe(plan);
  const small = await company.subscribe(plan);
  const other = await company.subscribe(FLAT);
  billing.clock.set("2026-01-31T12:00:00Z");
  await company.use(large, ["2026-01-05T00:00:00Z", "100"], ["2025-12-05T00:00:00Z", "7"]);
  await company.use(small, ["2026-01-05T00:00:00Z", "3"]);
  billing.clock.set("2026-02-28T12:00:00Z");
  await company.use(large, ["2026-02-05T00:00:00Z", "50"]);
  billing.clock.set("2026-03-01T02:00:00Z");
  await company.run();
  // Late usage is in no record, so no simulation counts it; that of January is adjusted.
  await company.use(small, ["2026-02-05T00:00:00Z", "1000"], ["2026-01-06T00:00:00Z", "1"]);
  await company.run({ period: "2026-01" });
  const before = (await api("GET", "/billing-records?limit=200")).body;
  const found = await simulate(api, {
    billing_model: model(0.4, { recurring_fee: "1" }),
    of: { billing_model_id: plan },
    from: "2026-01",
    to: "2026-02",
  });
  expect(found).toMatchObject({
    status: "finished",
    billing_model_id: null,
    currency: "EUR",
    progress: { subscriptions: 3, done: 3 },
    counts: { subscriptions: 2, periods: 4, not_reproduced: 0, other_currency: 0, failed: 0 },
    totals: { billed: "77.00", simulated: "65.60", difference: "-11.40" },
    reproduces: true,
    months: [
      { month: "2026-01", periods: 2, billed: "52.00", simulated: "43.60", difference: "-8.40" },
      { month: "2026-02", periods: 2, billed: "25.00", simulated: "22.00", difference: "-3.00" },
    ],
    spread: {
      p5: "-13.00",
      p50: "-13.00",
      p95: "1.60",
      largest: { subscription_id: large, difference: "-13.00" },
    },
    mismatches: [],
    error: null,
  });
  expect(found.charges).toEqual([
    {
      kind: "usage",
      charge_code: null,
      billed_units: "154",
      simulated_units: "154",
      billed: "77.00",
      simulated: "61.60",
      difference: "-15.40",
    },
    {
      kind: "fee",
      charge_code: null,
      billed_units: "0",
      simulated_units: "0",
      billed: "0.00",
      simulated: "4.00",
      difference: "4.00",
    },
  ]);
  const rows = (await api("GET", `/simulations/${found.id}/rows?limit=1&page=2`)).body;
  expect(rows.meta).toEqual({ page: 2, limit: 1, total: 2, total_pages: 2 });
  expect(rows.data).toEqual([
    {
      subscription_id: small,
      external_subscription_id: "external 2",
      periods: 2,
      billed: "2.00",
      simulated: "3.60",
      difference: "1.60",
      reproduces: true,
    },
  ]);
  expect((await api("GET", "/billing-records?limit=200")).body).toEqual(before);
  expect((await api("GET", "/billing-models")).body.data).toHaveLength(2);
  // The plan that was in force makes no difference, whether it is stored or a draft of the same prices.
  for (const same of [{ billing_model_id: plan }, { billing_model: model(0.5) }]) {
    const again = await simulate(api, {
      ...same,
      of: { subscription_ids: [large] },
      from: "2025-12",
      to: "2026-02",
    });
    expect(again).toMatchObject({
      reproduces: true,
      counts: { periods: 3 },
      totals: { billed: "78.50", simulated: "78.50", difference: "0.00" },
    });
  }
  const flat = await simulate(api, {
    billing_model: model(2),
    of: { client_ids: [company.client_id] },
    from: "2026-01",
    to: "2026-01",
  });
  expect(flat.totals).toEqual({ billed: "83.00", simulated: "208.00", difference: "125.00" });
  const everyone = await simulate(api, { billing_model: model(2), from: "2026-01", to: "2026-01" });
  expect(everyone.totals).toEqual(flat.totals);
  expect(everyone.counts.subscriptions).toBe(3);
  expect(other).toBeGreaterThan(0);
});

test("what can't be simulated is refused, and names the field", async () => {
  const company = await billing.addCompany();
  const { api } = company;
  const stranger = await billing.addCompany();
  billing.clock.set("2026-03-10T00:00:00Z");
  const plan = await company.addModel(PER_UNIT);
  const yen = await company.addModel({ ...PER_UNIT, currency: "JPY" });
  const id = await company.subscribe(plan);
  const months = { from: "2026-01", to: "2026-02" };
  const refusals: [Json, string][] = [
    [{ ...months }, "/billing_model"],
    [{ ...months, billing_model_id: plan, billing_model: model(1) }, "/billing_model"],
    [{ ...months, billing_model_id: 999_999 }, "/billing_model_id"],
    [{ ...months, billing_model: model(-1) }, "/billing_model/price"],
    [{ ...months, billing_model: { ...model(1), billing_type_id: 9 } }, "/billing_model/billing_type_id"],
    [{ ...months, billing_model: { ...model(1), colour: "red" } }, "/billing_model/colour"],
    [{ ...months, billing_model: { ...model(1), meter_id: 999_999 } }, "/billing_model/meter_id"],
    [{ ...months, billing_model_id: plan, of: {} }, "/of"],
    [{ ...months, billing_model_id: plan, of: { client_ids: [1], subscription_ids: [id] } }, "/of"],
    [
      { ...months, billing_model_id: plan, of: { subscription_ids: [id, 999_999] } },
      "/of/subscription_ids/1",
    ],
    [{ ...months, billing_model_id: plan, of: { billing_model_id: yen } }, "/of/billing_model_id"],
    [{ ...months, billing_model_id: plan, of: { client_ids: [stranger.client_id] } }, "/of/client_ids/0"],
    [{ from: "2026-02", to: "2026-01", billing_model_id: plan }, "/to"],
    [{ from: "2023-01", to: "2026-01", billing_model_id: plan }, "/to"],
    [{ from: "2026-13", to: "2026-13", billing_model_id: plan }, "/from"],
  ];
  for (const [body, path] of refusals) {
    const answer = await api("POST", "/simulations", body);
    expect([answer.status, answer.body.details?.[0]?.path], JSON.stringify(body)).toEqual([422, path]);
  }
  const never = await api("POST", "/simulations", { from: "2026-01", to: "soon", billing_model_id: plan });
  expect(never.body.details[0]).toEqual({
    path: "/to",
    message: "must be a month such as 2026-10: the last one, counted too",
  });
  // Another company sees neither the model, nor the subscription, nor what became of it.
  const theirs = await stranger.api("POST", "/simulations", { ...months, billing_model_id: plan });
  expect(theirs.status).toBe(422);
  const mine = (await api("POST", "/simulations", { ...months, billing_model_id: plan })).body.data;
  for (const path of ["", "/rows", "/file"])
    expect((await stranger.api("GET", `/simulations/${mine.id}${path}`)).status).toBe(404);
  expect((await stranger.api("DELETE", `/simulations/${mine.id}`)).status).toBe(404);
  expect((await stranger.api("GET", "/simulations")).body.data).toEqual([]);
  // Two at once, and no file before the end.
  expect((await api("GET", `/simulations/${mine.id}/file`)).status).toBe(409);
  expect((await api("POST", "/simulations", { ...months, billing_model_id: plan })).status).toBe(202);
  expect((await api("POST", "/simulations", { ...months, billing_model_id: plan })).status).toBe(409);
  expect((await api("DELETE", `/simulations/${mine.id}`)).status).toBe(200);
  expect((await api("GET", `/simulations/${mine.id}`)).status).toBe(404);
  // Analysts may, client users may not.
  const analyst = await company.addUser("analyst");
  expect((await analyst("POST", "/simulations", { ...months, billing_model_id: plan })).status).toBe(202);
  const client = await company.addUser("client", company.client_id);
  expect((await client("GET", "/simulations")).status).toBe(403);
  expect((await client("POST", "/simulations", { ...months, billing_model_id: plan })).status).toBe(403);
  await runNamedJob(billing.service, "simulations");
  const { data } = (await api("GET", "/simulations")).body;
  expect(data.map((one: Json) => [one.status, one.counts.periods, one.reproduces])).toEqual([
    ["finished", 0, true],
    ["finished", 0, true],
  ]);
  await runNamedJob(billing.service, "simulations_prune");
  expect((await api("GET", "/simulations")).body.meta.total).toBe(2);
  billing.clock.set("2026-06-10T00:00:00Z");
  await runNamedJob(billing.service, "simulations_prune");
  billing.clock.set("2026-03-10T00:00:00Z");
  expect((await api("GET", "/simulations")).body.meta.total).toBe(0);
});

test("plan changes, late usage and add-ons are reproduced; one plan's stretches are replaced alone", async () => {
  const company = await billing.addCompany({ timezone: "Europe/Berlin" });
  const { api } = company;
  billing.clock.set("2026-01-01T00:00:00Z");
  const [old, next] = [await company.addModel(PER_UNIT), await company.addModel({ ...PER_UNIT, price: 2 })];
  const id = await company.subscribe(old);
  billing.clock.set("2026-01-31T12:00:00Z");
  await company.use(id, ["2026-01-05T00:00:00Z", "10"], ["2026-01-20T00:00:00Z", "10"]);
  billing.clock.set("2026-02-01T02:00:00Z");
  await company.run();
  const change = { new_billing_model_id: next, effective_at: "2026-01-15T00:00:00Z" };
  expect((await api("POST", `/subscriptions/${id}/billing-model-changes`, change)).status).toBe(200);
  const support = { code: "support", name: "Support", currency: "EUR", charge: { type: "fixed", price: 10 } };
  const add_on_id = (await api("POST", "/add-ons", support)).body.data.id;
  const booking = { add_on_id, from: "2026-01-01T00:00:00Z" };
  expect((await api("POST", `/subscriptions/${id}/add-ons`, booking)).status).toBe(201);
  const months = { from: "2026-01", to: "2026-01" };
  const all = await simulate(api, { ...months, billing_model: model(1) });
  expect(all).toMatchObject({ reproduces: true, counts: { periods: 1 } });
  const one = await simulate(api, { ...months, billing_model: model(1), of: { billing_model_id: old } });
  expect(one).toMatchObject({ reproduces: true, counts: { periods: 1 } });
  // 5.00 + 20.00 by two plans: 20.00 by the draft alone, 10.00 + 20.00 where it replaces the first.
  expect([all.totals.difference, one.totals.difference]).toEqual(["-5.00", "5.00"]);
  expect(all.charges.find((line: Json) => line.kind === "add_on")).toMatchObject({
    billed: "10.00",
    difference: "0.00",
  });
});

test("a level that began with removed usage leaves its periods out, and no others", async () => {
  const company = await billing.addCompany();
  const { api, company_id } = company;
  billing.clock.set("2025-12-01T00:00:00Z");
  const plan = await company.addModel(PER_UNIT);
  const early = await company.subscribe(plan);
  billing.clock.set("2026-02-01T00:00:00Z");
  const late = await company.subscribe(plan);
  billing.clock.set("2026-02-28T12:00:00Z");
  await company.use(early, ["2026-02-05T00:00:00Z", "10"]);
  await company.use(late, ["2026-02-01T00:00:00Z", "4"]);
  billing.clock.set("2026-03-01T02:00:00Z");
  await company.run();
  const seats = { code: "seats", name: "Seats", aggregation: "weighted_sum" };
  const meter_id = (await api("POST", "/meters", seats)).body.data.id;
  const charge = { code: "seats", name: "Seats", meter_id, type: "per_unit", price: "2" };
  const question = { of: { client_ids: [company.client_id] }, from: "2026-02", to: "2026-02" };
  await billing.service.deps.usage.closeBefore(company_id, Date.parse("2026-01-15T00:00:00Z"));
  const levels = await simulate(api, { ...question, billing_model: model(0.5, { charges: [charge] }) });
  expect(levels).toMatchObject({
    status: "finished",
    error: null,
    counts: { subscriptions: 1, periods: 1, without_events: 1, failed: 0 },
    totals: { billed: "2.00", simulated: "10.00" },
  });
  const sums = await simulate(api, { ...question, billing_model: model(0.5) });
  expect(sums).toMatchObject({
    counts: { subscriptions: 2, periods: 2, without_events: 0 },
    totals: { billed: "7.00", simulated: "7.00" },
  });
});
