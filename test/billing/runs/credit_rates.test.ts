import { expect, test } from "bun:test";
import { ms } from "../../usage/fixtures.ts";
import type { Json } from "../../support/harness.ts";
import { CREDIT, useBilling } from "../fixtures.ts";

const billing = useBilling();

const METERS = [
  { code: "input", name: "Input", aggregation: "sum", value: [{ key: "metadata:input" }] },
  { code: "output", name: "Output", aggregation: "sum", value: [{ key: "metadata:output" }] },
  { code: "peak", name: "Peak", aggregation: "max" },
];

async function addMetered() {
  const company = await billing.addCompany();
  const ids: number[] = [];
  for (const meter of METERS) ids.push((await company.api("POST", "/meters", meter)).body.data.id);
  const [input = 0, output = 0, peak = 0] = ids;
  return { ...company, input, output, peak };
}

test("units of meters take credits at their rates, rounded up once a month; corrections give them back", async () => {
  billing.clock.set("2024-03-01T00:00:00Z");
  const company = await addMetered();
  const { api, input, output } = company;
  const rates = [
    { meter_id: input, credits: "0.001" },
    { meter_id: output, credits: 0.004 },
  ];
  const plan = { monthly_credits: 2, credit_consumption: "per_unit", overage_rate: "1", rates };
  const id = await company.subscribe({ ...CREDIT, credit_plan: plan });
  const { external_subscription_id, billing_model_id } = (await api("GET", `/subscriptions/${id}`)).body.data;
  const shown = (await api("GET", `/billing-models/${billing_model_id}`)).body.data.credit_plan;
  expect(shown.rates).toEqual(rates.map((rate) => ({ ...rate, credits: String(rate.credits) })));
  const use = async (metadata: Json) => {
    const event = { id: crypto.randomUUID(), external_subscription_id, usage: 50, metadata };
    const answer = await api("POST", "/usage/events", { ...event, timestamp: ms("2024-03-10T00:00:00Z") });
    expect(answer.status).toBe(201);
  };
  const balance = async () => (await api("GET", `/subscriptions/${id}/credits`)).body.data;
  billing.clock.set("2024-03-20T00:00:00Z");
  await use({ input: 1_000 });
  expect(await balance()).toMatchObject({ used: 1, remaining: 1 });
  // 1.5 + 1.2 credits.
  await use({ input: 500, output: 300 });
  expect(await balance()).toMatchObject({ used: 2, remaining: 0, overageUsed: 1 });
  const preview = (await api("GET", `/subscriptions/${id}/preview`)).body.data;
  expect(preview.total).toBe("51.00");
  const counted = preview.lines.filter(({ kind }: Json) => kind === "charge");
  expect(counted.map((line: Json) => [line.charge_code, line.quantity, line.amount])).toEqual([
    [`credits:${input}`, "1500", "0.00"],
    [`credits:${output}`, "300", "0.00"],
  ]);
  billing.clock.set("2024-04-01T02:00:00Z");
  await company.run();
  await use({ output: 200 });
  await company.run({ period: "2024-03" });
  await use({ output: -500 });
  await company.run({ period: "2024-03" });
  const records = await company.records(id);
  expect(records.map(({ totalCharges }) => totalCharges)).toEqual(["51.00", "1.00", "-2.00"]);
  for (const record of records)
    expect((await api("GET", `/billing-records/${record.id}/verify`)).body.data).toMatchObject({
      matches: true,
      differences: [],
    });
  expect((await api("DELETE", `/meters/${input}`)).status).toBe(409);
  expect((await api("PUT", `/meters/${input}`, { name: "Input", value: [{ key: "usage" }] })).status).toBe(
    409,
  );
});

test("what can't take credits is refused by name", async () => {
  const company = await addMetered();
  const stranger = await addMetered();
  const { input, peak } = company;
  const refused = async (plan: Json) => {
    const credit_plan = { monthly_credits: 2, credit_consumption: "per_unit", ...plan };
    const model = { ...CREDIT, name: "Credits", description: "", currency: "EUR", credit_plan };
    const { status, body } = await company.api("POST", "/billing-models", model);
    return [status, body.details?.map(({ path }: Json) => path)];
  };
  const of = (meter_id: number, credits: string | number = 1) => ({ meter_id, credits });
  const rates = "/credit_plan/rates";
  expect(await refused({ credit_consumption: "per_api_call", rates: [of(input)] })).toEqual([422, [rates]]);
  expect(await refused({ rates: [of(input, "-1")] })).toEqual([422, [`${rates}/0/credits`]]);
  expect(await refused({ rates: [of(stranger.input)] })).toEqual([422, [`${rates}/0/meter_id`]]);
  expect(await refused({ rates: [of(input), of(peak)] })).toEqual([422, [`${rates}/1/meter_id`]]);
  expect(await refused({ rates: [of(input), of(input)] })).toEqual([422, [`${rates}/1/meter_id`]]);
  expect((await refused({ rates: [] }))[0]).toBe(422);
});

test("a meter that takes credits keeps adding up, also before its plan is used", async () => {
  const company = await addMetered();
  const { api, input } = company;
  const rates = [{ meter_id: input, credits: "1" }];
  const plan = { monthly_credits: 2, credit_consumption: "per_unit", rates };
  const model = await company.addModel({ ...CREDIT, credit_plan: plan });
  const put = (more: Json) => api("PUT", `/meters/${input}`, { name: "Input", ...more });
  const { status, body } = await put({ aggregation: "max" });
  expect([status, body.error]).toEqual([409, expect.stringContaining(`billing model ${model}`)]);
  expect((await put({ aggregation: "count" })).status).toBe(200);
});
