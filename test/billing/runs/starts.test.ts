import { expect, test } from "bun:test";
import type { Api, Json } from "../../support/harness.ts";
import { CREDIT, FLAT, PER_UNIT, useBilling } from "../fixtures.ts";

// What the start of a subscription costs: a setup fee, and a trial.

const billing = useBilling();

const shown = ({ lines }: Json) =>
  lines.map(({ kind, description, amount, trial }: Json) => [kind, description, amount, trial ?? false]);

async function detailed(api: Api, records: Json[]): Promise<Json[]> {
  return Promise.all(records.map(async ({ id }) => (await api("GET", `/billing-records/${id}`)).body.data));
}

async function proved(api: Api, records: Json[]): Promise<void> {
  for (const { id } of records) {
    const { body } = await api("GET", `/billing-records/${id}/verify`);
    expect(body.data.differences).toEqual([]);
    expect(body.data.matches).toBe(true);
  }
}

test("a setup fee is in the first record alone, and a plan change leaves it where it is", async () => {
  const company = await billing.addCompany();
  const { api } = company;
  billing.clock.set("2026-03-15T09:00:00Z");
  const id = await company.subscribe({ ...FLAT, name: "Basic", setup_fee: "99" });
  billing.clock.set("2026-05-02T00:00:00Z");
  await company.run();
  const other = await company.addModel({ ...FLAT, name: "Other", price: 62, setup_fee: "5" });
  const change = await api("POST", `/subscriptions/${id}/billing-model-changes`, {
    new_billing_model_id: other,
    effective_at: "2026-03-25T00:00:00Z",
  });
  expect(change.status).toBe(200);
  const records = await detailed(api, await company.records(id));
  expect(records.map((record) => [record.kind, record.totalCharges])).toEqual([
    ["period", "116.00"],
    ["period", "31.00"],
    ["adjustment", "7.00"],
    ["adjustment", "31.00"],
  ]);
  expect(shown(records[0])).toContainEqual(["setup", "Basic: setup fee", "99.00", false]);
  expect(records.flatMap(({ lines }) => lines).filter(({ kind }: Json) => kind === "setup")).toHaveLength(1);
  await proved(api, records);
});

test("a trial's days and usage are lines at 0.00; a subscription may have its own", async () => {
  const company = await billing.addCompany({ timezone: "Asia/Kuala_Lumpur", currency: "MYR" });
  const { api } = company;
  billing.clock.set("2026-03-10T20:00:00Z"); // 11 March in Kuala Lumpur
  const plan = { ...PER_UNIT, currency: "MYR", name: "Plan", recurring_fee: "31", minimum_charge: "31" };
  const model = await company.addModel({ ...plan, trial_days: 14 });
  const id = await company.subscribe(model);
  const own = await company.subscribe(model, { trial_days: 3 });
  const none = await company.subscribe(model, { trial_days: 0 });
  expect((await api("GET", `/subscriptions/${id}`)).body.data).not.toHaveProperty("trial_days");
  expect((await api("GET", `/subscriptions/${own}`)).body.data.trial_days).toBe(3);
  expect((await api("GET", `/subscriptions/${own}`)).body.data.billing_model.trial_days).toBe(14);
  await company.use(id, ["2026-03-24T15:59:59Z", "1000"], ["2026-03-24T16:00:00Z", "10"]);
  billing.clock.set("2026-04-01T00:00:00Z");
  await company.run();
  const [record] = await detailed(api, await company.records(id));
  expect(shown(record)).toEqual([
    ["fee", "Plan: trial, monthly fee, 14 of 31 days", "0.00", true],
    ["usage", "Plan: trial, usage", "0.00", true],
    ["fee", "Plan: monthly fee, 7 of 31 days", "7.00", false],
    ["usage", "Plan: usage", "5.00", false],
    ["minimum_true_up", "Plan: minimum usage charge 31", "2.00", false],
  ]);
  expect(record.totalCharges).toBe("14.00");
  const totals = async (subscription: number) =>
    (await company.records(subscription)).map(({ totalCharges }) => totalCharges);
  expect(await totals(own)).toEqual(["36.00"]);
  expect(await totals(none)).toEqual(["42.00"]);
  // What came late for the trial is an adjustment that costs nothing.
  await company.use(id, ["2026-03-20T00:00:00Z", "50"]);
  await company.run({ period: "2026-03", subscription_ids: [id] });
  const all = await detailed(api, await company.records(id));
  expect(all.map(({ totalCharges, billedUnits }) => [totalCharges, billedUnits])).toEqual([
    ["14.00", 1010],
    ["0.00", 50],
  ]);
  await proved(api, all);
});

test("overage of credits costs nothing in a trial", async () => {
  const company = await billing.addCompany();
  billing.clock.set("2026-03-01T00:00:00Z");
  const id = await company.subscribe({ ...CREDIT, name: "Credits", trial_days: 10 });
  await company.use(id, ["2026-03-05T00:00:00Z", "150"], ["2026-03-20T00:00:00Z", "50"]);
  billing.clock.set("2026-04-02T00:00:00Z");
  await company.run();
  const records = await detailed(company.api, await company.records(id));
  expect(shown(records[0]).filter(([kind]: Json) => kind === "overage")).toEqual([
    ["overage", "Credits: trial, credits beyond the allocation", "0.00", true],
    ["overage", "Credits: credits beyond the allocation", "1.00", false],
  ]);
  await proved(company.api, records);
});

test.each([
  [{ setup_fee: "-1" }, "/setup_fee", "must be 0 or more"],
  [{ setup_fee: "many" }, "/setup_fee", "decimal"],
  [{ trial_days: -1 }, "/trial_days", "0"],
  [{ trial_days: 731 }, "/trial_days", "730"],
  [{ trial_days: 1.5 }, "/trial_days", "whole number"],
])("%j is refused", async (fields, path, message) => {
  const company = await billing.addCompany();
  const { api, client_id } = company;
  const { status, body } = await api("POST", "/billing-models", {
    ...FLAT,
    name: "Plan",
    description: "",
    currency: "EUR",
    ...fields,
  });
  expect(status).toBe(422);
  expect(body.details[0].path).toBe(path);
  expect(body.details[0].message.toLowerCase()).toContain(message);
  if (path === "/setup_fee") return;
  const billing_model_id = await company.addModel(FLAT);
  const ids = { client_id, product_id: 1, billing_model_id, external_subscription_id: "x" };
  expect((await api("POST", "/subscriptions", { name: "S", ...ids, ...fields })).status).toBe(422);
});

test("what a start costs can't be changed once a subscription has used it, and shows only where it is set", async () => {
  const company = await billing.addCompany();
  const id = await company.addModel({ ...FLAT, setup_fee: "10", trial_days: 5 });
  const put = (fields: Json) =>
    company.api("PUT", `/billing-models/${id}`, { name: "Plan", description: "", ...fields });
  const cleared = await put({ setup_fee: 0, trial_days: 0 });
  expect(cleared.status).toBe(200);
  expect(cleared.body.data).not.toHaveProperty("setup_fee");
  expect(cleared.body.data).not.toHaveProperty("trial_days");
  expect((await put({ setup_fee: "7.50" })).body.data.setup_fee).toBe("7.5");
  await company.subscribe(id);
  expect((await put({ setup_fee: "8" })).status).toBe(409);
  expect((await put({ trial_days: 1 })).status).toBe(409);
});
