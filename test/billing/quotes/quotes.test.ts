import { expect, test } from "bun:test";
import { dice, pick } from "../../support/dice.ts";
import type { Json } from "../../support/harness.ts";
import { type Company, CREDIT, FLAT, GRADUATED, PACKAGE, PER_UNIT, useBilling, VOLUME } from "../fixtures.ts";

const billing = useBilling();

const quote = ({ api }: Company, body: Json) => api("POST", "/billing-models/quote", body);
const typed = (model: Json): Json => ({ name: "Plan", description: "", currency: "EUR", price: 0, ...model });

async function open(): Promise<Company> {
  billing.clock.set("2026-03-10T12:00:00Z");
  return billing.addCompany({ timezone: "Asia/Kuala_Lumpur" });
}

test("units of each type, typed or saved, with a curve that has a point where tiers end", async () => {
  const company = await open();
  const found = async (model: Json, units: string) =>
    (await quote(company, { billing_model: typed(model), units })).body.data;
  expect((await found(FLAT, "5")).total).toBe("31.00");
  expect((await found(PER_UNIT, "7")).total).toBe("3.50");
  expect((await found(GRADUATED, "21")).total).toBe("163.00");
  expect((await found(VOLUME, "101")).total).toBe("101.00");
  expect((await found(PACKAGE, "121")).total).toBe("1300.00");
  // 150.2 take 151 credits of 100.
  expect((await found(CREDIT, "150.2")).total).toBe("51.02");
  const saved = await company.addModel(GRADUATED);
  const { data } = (
    await quote(company, { billing_model_id: saved, units: 21, curve: { to: "40", points: 6 } })
  ).body;
  expect(data).toMatchObject({
    billing_model_id: saved,
    from: "2026-02-28T16:00:00.000Z",
    to: "2026-03-31T16:00:00.000Z",
    currency: "EUR",
    total: "163.00",
    curve: { meter_id: null, match: null },
  });
  expect(data.lines).toEqual([
    {
      kind: "usage",
      description: "Plan: usage, graduated tiers",
      from: data.from,
      to: data.to,
      quantity: "21",
      unit_price: null,
      amount: "163.00",
      proration: null,
    },
  ]);
  expect(data.curve.points).toEqual([
    { units: "0", total: "0.00" },
    { units: "10", total: "102.00" },
    { units: "13.333333", total: "121.67" },
    { units: "20", total: "155.00" },
    { units: "26.666667", total: "191.33" },
    { units: "40", total: "258.00" },
  ]);
  const full = (await quote(company, { billing_model_id: saved, units: 21 })).body.data.curve.points;
  expect([full.length, full.at(-1)]).toEqual([50, { units: "42", total: "268.00" }]);
});

test("quantities by meters, at the price that their metadata has; a setup fee in the first month only", async () => {
  const company = await open();
  const add = async (code: string) =>
    (await company.api("POST", "/meters", { code, name: code, aggregation: "sum", group_keys: ["model"] }))
      .body.data.id;
  const [input, output, unused] = [await add("input"), await add("output"), await add("unused")];
  const model = typed({
    ...FLAT,
    price: 20,
    setup_fee: "50",
    trial_days: 30,
    charges: [
      {
        code: "input",
        name: "Input",
        type: "per_unit",
        meter_id: input,
        price: "3",
        per: "1000",
        prices: [{ match: { model: "small" }, price: "0.5" }],
      },
      { code: "output", name: "Output", type: "per_unit", meter_id: output, price: "0.01" },
    ],
  });
  const quantities = [
    { meter_id: input, match: { model: "small" }, quantity: "4000" },
    { meter_id: input, match: { model: "large" }, quantity: "1000" },
    { meter_id: input, quantity: "1000" },
    { meter_id: output, quantity: 200 },
  ];
  const { data } = (await quote(company, { billing_model: model, quantities, curve: { points: 2 } })).body;
  // 20 + 4 × 0.5 + 2 × 3 + 200 × 0.01.
  expect([data.billing_model_id, data.total]).toEqual([null, "30.00"]);
  expect(
    data.lines.map(({ charge_code, quantity, amount }: Json) => [charge_code, quantity, amount]),
  ).toEqual([
    [undefined, "1", "20.00"],
    ["input", "4000", "2.00"],
    ["input", "2000", "6.00"],
    ["output", "200", "2.00"],
  ]);
  expect(data.curve).toEqual({
    meter_id: input,
    match: null,
    points: [
      { units: "0", total: "24.00" },
      { units: "4000", total: "36.00" },
    ],
  });
  const small = { meter_id: input, match: { model: "small" }, to: "10000", points: 2 };
  const curve = (await quote(company, { billing_model: model, quantities, curve: small })).body.data.curve;
  expect(curve.points.map((point: Json) => point.total)).toEqual(["28.00", "33.00"]);
  expect((await quote(company, { billing_model: model, quantities, is_first: true })).body.data.total).toBe(
    "80.00",
  );
  const wrong = await quote(company, {
    billing_model: model,
    quantities: [{ meter_id: unused, quantity: 1 }],
  });
  expect([wrong.status, wrong.body.details[0].path]).toEqual([422, "/quantities/0/meter_id"]);
});

test("credits by rates and for calls", async () => {
  const company = await open();
  const meter = { code: "tokens", name: "Tokens", aggregation: "sum" };
  const meter_id = (await company.api("POST", "/meters", meter)).body.data.id;
  const rates = [{ meter_id, credits: "0.1" }];
  const by_rate = typed({ ...CREDIT, credit_plan: { ...CREDIT.credit_plan, rates } });
  const quoted = await quote(company, {
    billing_model: by_rate,
    quantities: [{ meter_id, quantity: "2000" }],
  });
  expect([quoted.body.data.total, quoted.body.data.curve.meter_id]).toEqual(["52.00", meter_id]);
  const calls = typed({
    ...CREDIT,
    credit_plan: { ...CREDIT.credit_plan, credit_consumption: "per_api_call" },
  });
  const { data } = (await quote(company, { billing_model: calls, units: 201, curve: { to: 7, points: 5 } }))
    .body;
  expect([data.total, data.curve.points.map(({ units }: Json) => units)]).toEqual([
    "52.02",
    ["0", "2", "4", "5", "7"],
  ]);
  expect((await quote(company, { billing_model: calls, units: "1.5" })).status).toBe(422);
});

test("random models and units: a quote is what a month of that usage is billed", async () => {
  const roll = dice(7);
  for (let round = 0; round < 12; round++) {
    billing.clock.set("2026-03-01T00:00:00Z");
    // By Berlin's time it begins with March, by UTC an hour before: then March is its second month.
    const timezone = pick(roll, ["UTC", "Europe/Berlin"]);
    const company = await billing.addCompany({ timezone });
    const limits = { minimum_charge: String(roll(40)), maximum_charge: String(40 + roll(900)) };
    const model = pick(roll, [
      FLAT,
      { ...PER_UNIT, recurring_fee: "3.21", free_units: String(roll(30)), ...limits },
      { ...GRADUATED, ...limits },
      { ...VOLUME, price: 4, ...limits },
      { ...PACKAGE, free_units: "7", ...limits },
      { ...CREDIT, setup_fee: "9.99" },
      {
        ...PER_UNIT,
        commitment: { minimum: "33", maximum: "66" },
        recurring_fee: "90",
        fee_timing: "in_advance",
      },
    ]);
    const units = `${roll(300)}.${roll(1000)}`;
    const billing_model_id = await company.addModel(model);
    const id = await company.subscribe(billing_model_id, { started_at: "2026-02-28T23:00:00Z" });
    const is_first = timezone === "Europe/Berlin";
    await company.use(id, ["2026-03-10T00:00:00Z", units]);
    const quoted = (await quote(company, { billing_model_id, units, is_first })).body.data;
    const used = (await quote(company, { billing_model_id, subscription_id: id, period: "2026-03" })).body
      .data;
    billing.clock.set("2026-04-02T00:00:00Z");
    await company.run({ period: "2026-03" });
    const [record] = (await company.records(id)).filter((one) => one.billingEndAt > "2026-03-30");
    const { lines } = (await company.api("GET", `/billing-records/${record?.id}`)).body.data;
    expect(used.total, JSON.stringify([model, units])).toBe(record?.totalCharges);
    expect(used.lines.map((line: Json) => [line.kind, line.amount])).toEqual(
      lines.map((line: Json) => [line.kind, line.amount]),
    );
    expect(quoted.total, JSON.stringify([model, units])).toBe(record?.totalCharges);
    const at = used.curve.points.find((point: Json) => Number(point.units) === Number(units));
    if (at) expect(at.total).toBe(used.total);
  }
});

test("what can't be quoted is refused by its field", async () => {
  const company = await open();
  const other = await billing.addCompany();
  const billing_model_id = await company.addModel(PER_UNIT);
  const id = await company.subscribe(billing_model_id, { started_at: "2026-02-10T00:00:00Z" });
  const theirs = await other.subscribe(PER_UNIT);
  const refused: [body: Json, path: string][] = [
    [{}, "/billing_model"],
    [{ billing_model_id, billing_model: typed(FLAT) }, "/billing_model"],
    [{ billing_model_id: 987_654 }, "/billing_model_id"],
    [{ billing_model: typed({ billing_type_id: 3 }) }, "/billing_model/usage_tiers"],
    [{ billing_model: typed(FLAT), units: "-1" }, "/units"],
    [{ billing_model: typed(FLAT), units: "1e3" }, "/units"],
    [{ billing_model_id, period: "2026-03" }, "/period"],
    [{ billing_model_id, subscription_id: id }, "/period"],
    [{ billing_model_id, subscription_id: id, period: "2026-01" }, "/period"],
    [{ billing_model_id, subscription_id: id, period: "2026-03", units: 1 }, "/units"],
    [{ billing_model_id, subscription_id: theirs, period: "2026-03" }, "/subscription_id"],
    [
      { billing_model: typed({ ...FLAT, currency: "USD" }), subscription_id: id, period: "2026-03" },
      "/subscription_id",
    ],
    [{ billing_model_id, curve: { points: 51 } }, "/curve/points"],
    [{ billing_model_id, curve: { to: 0 } }, "/curve/to"],
    [{ billing_model_id, curve: { meter_id: 1 } }, "/curve/meter_id"],
    [{ billing_model_id, curve: { match: { a: "b" } } }, "/curve/match"],
  ];
  for (const [body, path] of refused) {
    const answer = await quote(company, body);
    expect([answer.status, answer.body.details?.[0].path], JSON.stringify(body)).toEqual([422, path]);
  }
  const client = await company.addUser("client", company.client_id);
  expect((await client("POST", "/billing-models/quote", { billing_model_id })).status).toBe(403);
});
