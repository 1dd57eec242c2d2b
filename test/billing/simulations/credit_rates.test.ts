import { expect, test } from "bun:test";
import type { Json } from "../../support/harness.ts";
import { runNamedJob } from "../../support/jobs.ts";
import { CREDIT, FLAT, useBilling } from "../fixtures.ts";

// Credits by meters, tried before they are sold.

const billing = useBilling();
const MONTH = { from: "2026-01", to: "2026-01" };
const USED = [
  ["2026-01-05T00:00:00Z", "1", { input: 1_000, output: 300 }],
  ["2026-01-20T00:00:00Z", "1", { input: 500, output: -100 }],
  ["2026-01-21T00:00:00Z", "1", {}],
] as const;

/** A company that has billed a flat January, and a meter for each kind of token. */
async function start() {
  billing.clock.set("2026-01-01T00:00:00Z");
  const company = await billing.addCompany();
  const { api } = company;
  const addMeter = async (code: string, aggregation = "sum"): Promise<number> => {
    const meter = { code, name: code, aggregation, value: [{ key: `metadata:${code}` }] };
    return (await api("POST", "/meters", meter)).body.data.id;
  };
  const [input, output] = [await addMeter("input"), await addMeter("output")];
  const plan = await company.addModel(FLAT);
  const subscription = await company.subscribe(plan);
  await company.use(subscription, ...USED.map(([...event]): [string, string, Json] => event));
  billing.clock.set("2026-02-01T02:00:00Z");
  await company.run();
  const rates = [
    { meter_id: input, credits: "0.001" },
    { meter_id: output, credits: "0.004" },
  ];
  const plan_of_two = { monthly_credits: 2, credit_consumption: "per_unit", overage_rate: "0.5", rates };
  const draft = (credit_plan: Json = {}): Json => {
    const model = { ...CREDIT, name: "Draft", description: "", currency: "EUR" };
    return { ...model, credit_plan: { ...plan_of_two, ...credit_plan } };
  };
  const simulate = async (body: Json): Promise<Json> => {
    const { body: answer } = await api("POST", "/simulations", { ...body, ...MONTH });
    await runNamedJob(billing.service, "simulations");
    return (await api("GET", `/simulations/${answer.data.id}`)).body.data;
  };
  return { company, api, addMeter, input, output, plan, subscription, draft, simulate };
}

test("a draft with rates comes to what its plan then previews and bills of the same usage", async () => {
  const { company, api, input, subscription, draft, simulate } = await start();
  const tried = await simulate({ billing_model: draft(), of: { subscription_ids: [subscription] } });
  // 1500 × 0.001 + 200 × 0.004 = 2.3, so 3 credits: one beyond the two of the month.
  expect(tried).toMatchObject({
    status: "finished",
    reproduces: true,
    counts: { periods: 1, failed: 0 },
    totals: { billed: "31.00", simulated: "50.50", difference: "19.50" },
  });
  const charges = tried.charges.map((row: Json) => [
    row.kind,
    row.charge_code,
    row.simulated_units,
    row.simulated,
  ]);
  expect(charges.toSorted()).toEqual([
    ["fee", null, "0", "50.00"],
    ["overage", null, "1", "0.50"],
    ["usage", null, "3", "0.00"],
  ]);
  const sold = await company.addModel(draft());
  expect((await simulate({ billing_model_id: sold })).totals).toEqual(tried.totals);
  billing.clock.set("2026-01-01T00:00:00Z");
  const id = await company.subscribe(sold);
  billing.clock.set("2026-01-31T00:00:00Z");
  await company.use(id, ...USED.map(([...event]): [string, string, Json] => event));
  const preview = (await api("GET", `/subscriptions/${id}/preview`)).body.data;
  expect(preview.total).toBe("50.50");
  expect(preview.unmetered).toEqual({ event_count: 1, usage: "1" });
  billing.clock.set("2026-02-01T02:00:00Z");
  await company.run();
  const [written] = await company.records(id);
  const record = (await api("GET", `/billing-records/${written.id}`)).body.data;
  expect([record.totalCharges, record.lines]).toEqual(["50.50", preview.lines]);
  // What a simulation of the plan in force makes of its own bill.
  expect(await simulate({ billing_model: draft(), of: { billing_model_id: sold } })).toMatchObject({
    reproduces: true,
    totals: { billed: "50.50", simulated: "50.50", difference: "0.00" },
  });
  expect((await api("DELETE", `/meters/${input}`)).status).toBe(409);
});

test("in place of one plan's stretch, rates take the credits of its days alone", async () => {
  const { api, company, plan, subscription, draft, simulate } = await start();
  const other = await company.addModel({ ...FLAT, price: 62 });
  const change = { new_billing_model_id: other, effective_at: "2026-01-11T00:00:00Z" };
  const changed = await api("POST", `/subscriptions/${subscription}/billing-model-changes`, change);
  expect(changed.status).toBe(200);
  const tried = await simulate({ billing_model: draft(), of: { billing_model_id: plan } });
  // Ten days: 16.13 for one credit of 2 × 10 / 31. 1.0 + 1.2 take three, so two are beyond. Then 21 days of 62.00.
  expect(tried).toMatchObject({
    reproduces: true,
    totals: { billed: "52.00", simulated: "59.13", difference: "7.13" },
  });
});

test("a draft whose rates can't take credits is refused, and names the field below the draft", async () => {
  const { api, addMeter, input, draft } = await start();
  const stranger = await start();
  const peak = await addMeter("peak", "max");
  const refused = async (credit_plan: Json) => {
    const answer = await api("POST", "/simulations", { billing_model: draft(credit_plan), ...MONTH });
    return [answer.status, answer.body.details?.map(({ path }: Json) => path)];
  };
  const of = (meter_id: number, credits: Json = "1") => ({ meter_id, credits });
  const rates = "/billing_model/credit_plan/rates";
  expect(await refused({ rates: [of(stranger.input)] })).toEqual([422, [`${rates}/0/meter_id`]]);
  expect(await refused({ rates: [of(input), of(peak)] })).toEqual([422, [`${rates}/1/meter_id`]]);
  expect(await refused({ rates: [of(input), of(input)] })).toEqual([422, [`${rates}/1/meter_id`]]);
  expect(await refused({ rates: [of(input, "-1")] })).toEqual([422, [`${rates}/0/credits`]]);
  expect(await refused({ credit_consumption: "per_api_call" })).toEqual([422, [rates]]);
  expect((await api("GET", "/simulations")).body.meta.total).toBe(0);
});

test("a meter that only a draft's rates name stays while its simulation goes on", async () => {
  const { api, input, draft } = await start();
  const { id } = (await api("POST", "/simulations", { billing_model: draft(), ...MONTH })).body.data;
  const change = () => api("PUT", `/meters/${input}`, { name: "Input", aggregation: "count" });
  expect((await change()).body.error).toContain(`simulation ${id} goes on and counts by it`);
  expect((await api("DELETE", `/meters/${input}`)).body.error).toContain(`simulation ${id} goes on`);
  await runNamedJob(billing.service, "simulations");
  expect((await api("GET", `/simulations/${id}`)).body.data).toMatchObject({
    status: "finished",
    totals: { simulated: "50.50" },
  });
  expect((await change()).status).toBe(200);
});
