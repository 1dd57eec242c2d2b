import { expect, test } from "bun:test";
import type { Json } from "../../support/harness.ts";
import { proveEveryBill } from "../../support/prove_bills.ts";
import { type Company, CREDIT, FLAT, GRADUATED, PER_UNIT, useBilling } from "../fixtures.ts";

// Clients whose usage is billed when it has cost so much.

const billing = useBilling();

const profile = ({ api, client_id }: Company, body: Json) =>
  api("PUT", `/clients/${client_id}/billing-profile`, body);

async function runAt(company: Company, time: string, body?: Json): Promise<Json> {
  billing.clock.set(time);
  return company.run(body);
}

async function kinds(company: Company, id: number): Promise<string[]> {
  const records = await company.records(id);
  return records.map(
    ({ billingStartAt, kind, totalCharges }) => `${billingStartAt.slice(0, 10)} ${kind} ${totalCharges}`,
  );
}

async function expectProved(company: Company, id: number): Promise<void> {
  for (const { id: record_id } of await company.records(id)) {
    const { body } = await company.api("GET", `/billing-records/${record_id}/verify`);
    expect(body.data.differences).toEqual([]);
  }
}

test("usage is billed when it has cost so much; the close bills the rest, with tiers over the whole period", async () => {
  const company = await billing.addCompany({ currency: "EUR" });
  billing.clock.set("2026-03-01T00:00:00Z");
  expect((await profile(company, { interim_at: "100" })).body.data).toEqual({
    client_id: company.client_id,
    interim_at: "100",
    currency: "EUR",
  });
  const id = await company.subscribe({ ...GRADUATED, name: "Tiers", price: 31, setup_fee: "9" });
  await company.use(id, ["2026-03-02T00:00:00Z", "8"]);
  // 8 × 10 + 2 and the setup fee come to 91.00.
  expect((await runAt(company, "2026-03-02T01:00:00Z")).counts).not.toHaveProperty("interims");
  await company.use(id, ["2026-03-03T00:00:00Z", "2"]);
  expect((await runAt(company, "2026-03-03T01:00:00Z")).counts).toMatchObject({ interims: 1, periods: 0 });
  // Not again before as much more was used.
  await company.use(id, ["2026-03-04T00:00:00Z", "10"]);
  await runAt(company, "2026-03-04T01:00:00Z");
  expect(await kinds(company, id)).toEqual(["2026-03-01 interim 111.00"]);
  await company.use(id, ["2026-03-05T00:00:00Z", "9"]);
  await runAt(company, "2026-03-05T01:00:00Z");
  await company.use(id, ["2026-03-06T00:00:00Z", "1"]);
  await expectProved(company, id);
  const { body } = await company.api("GET", `/subscriptions/${id}/preview`);
  expect(body.data.total).toBe("248.00");
  await runAt(company, "2026-04-01T02:00:00Z");
  // 10 × 10 + 2, 10 × 5 + 3, 10 × 5 + 3, the fee and the setup fee.
  expect(await kinds(company, id)).toEqual([
    "2026-03-01 interim 111.00",
    "2026-03-01 interim 101.00",
    "2026-03-01 period 36.00",
  ]);
  await company.use(id, ["2026-03-07T00:00:00Z", "1"]);
  await company.run({ period: "2026-03" });
  expect((await kinds(company, id)).slice(3)).toEqual(["2026-03-01 adjustment 5.00"]);
  await expectProved(company, id);
});

test("all subscriptions of a client count, those of others and of other currencies do not", async () => {
  const company = await billing.addCompany({ currency: "EUR" });
  billing.clock.set("2026-03-01T00:00:00Z");
  await profile(company, { interim_at: "10" });
  const [first, second] = [await company.subscribe(PER_UNIT), await company.subscribe(PER_UNIT)];
  const dollars = await company.subscribe({ ...PER_UNIT, currency: "USD" });
  const other = await company.subscribe(PER_UNIT, { client_id: await company.addClient() });
  for (const id of [dollars, other]) await company.use(id, ["2026-03-02T00:00:00Z", "100"]);
  for (const id of [first, second]) await company.use(id, ["2026-03-02T00:00:00Z", "10"]);
  const dry = await runAt(company, "2026-03-02T01:00:00Z", { dry_run: true });
  expect(dry.records.map(({ kind, totalCharges }: Json) => [kind, totalCharges])).toEqual([
    ["interim", "5.00"],
    ["interim", "5.00"],
  ]);
  await Promise.all([company.run(), company.run()]);
  expect(await kinds(company, first)).toEqual(["2026-03-01 interim 5.00"]);
  expect(await kinds(company, second)).toEqual(["2026-03-01 interim 5.00"]);
  for (const id of [dollars, other]) expect(await kinds(company, id)).toEqual([]);
  await profile(company, { interim_at: null });
  await company.use(first, ["2026-03-03T00:00:00Z", "100"]);
  await runAt(company, "2026-03-03T01:00:00Z");
  expect(await kinds(company, first)).toEqual(["2026-03-01 interim 5.00"]);
  await runAt(company, "2026-04-01T02:00:00Z");
  expect((await kinds(company, first)).slice(1)).toEqual(["2026-03-01 period 50.00"]);
});

test("a correction takes back what was billed in between, and the sum is what the period comes to", async () => {
  const company = await billing.addCompany({ currency: "EUR" });
  billing.clock.set("2026-03-01T00:00:00Z");
  await profile(company, { interim_at: "10" });
  const [first, second] = [await company.subscribe(PER_UNIT), await company.subscribe(PER_UNIT)];
  await company.use(first, ["2026-03-02T00:00:00Z", "40"]);
  await runAt(company, "2026-03-02T01:00:00Z");
  await company.use(first, ["2026-03-02T00:00:00Z", "-30"]);
  // What is to be taken back alone makes no record: the client has not come to its amount again.
  await runAt(company, "2026-03-03T01:00:00Z");
  expect(await kinds(company, first)).toEqual(["2026-03-01 interim 20.00"]);
  await company.use(second, ["2026-03-03T00:00:00Z", "60"]);
  await runAt(company, "2026-03-03T02:00:00Z");
  expect(await kinds(company, first)).toEqual(["2026-03-01 interim 20.00", "2026-03-01 interim -15.00"]);
  expect(await kinds(company, second)).toEqual(["2026-03-01 interim 30.00"]);
  await expectProved(company, first);
  await company.use(first, ["2026-03-04T00:00:00Z", "-10"]);
  await runAt(company, "2026-04-01T02:00:00Z");
  expect((await kinds(company, first)).slice(2)).toEqual(["2026-03-01 period -5.00"]);
  await expectProved(company, first);
  await expectProved(company, second);
});

test("limits, credits, fees in advance, a plan change and a cancellation bill everything once", async () => {
  const company = await billing.addCompany({ currency: "EUR" });
  const { api } = company;
  billing.clock.set("2026-03-01T00:00:00Z");
  await profile(company, { interim_at: "1" });
  const capped = { ...PER_UNIT, name: "Capped", recurring_fee: "31", fee_timing: "in_advance" };
  const limits = { minimum_charge: "20", maximum_charge: "40", commitment: { maximum: "30" } };
  const id = await company.subscribe({ ...capped, ...limits });
  const credits = await company.subscribe({ ...CREDIT, trial_days: 5 });
  await runAt(company, "2026-03-01T00:10:00Z");
  for (const [day, units] of [
    ["02", "10"],
    ["04", "100"],
    ["07", "300"],
  ] as const) {
    for (const each of [id, credits]) await company.use(each, [`2026-03-${day}T00:00:00Z`, units]);
    await runAt(company, `2026-03-${day}T01:00:00Z`);
  }
  expect(await kinds(company, id)).toEqual([
    "2026-03-01 advance 31.00",
    "2026-03-01 interim 5.00",
    "2026-03-01 interim 25.00",
  ]);
  expect(await kinds(company, credits)).toEqual(["2026-03-01 interim 6.00"]);
  await expectProved(company, id);
  const flat = await company.addModel({ ...FLAT, name: "Flat" });
  billing.clock.set("2026-03-11T12:00:00Z");
  for (const each of [id, credits]) {
    const changed = await api("POST", `/subscriptions/${each}/billing-model-changes`, {
      new_billing_model_id: flat,
      effective_at: "2026-03-11T12:00:00Z",
    });
    expect(changed.status).toBe(200);
  }
  await runAt(company, "2026-03-12T01:00:00Z");
  billing.clock.set("2026-03-20T12:00:00Z");
  for (const each of [id, credits]) await api("POST", `/subscriptions/${each}/cancel`, { at: "now" });
  await runAt(company, "2026-03-21T12:00:00Z");
  const sum = async (each: number) =>
    (await company.records(each)).reduce((all, { totalCharges }) => all + Number(totalCharges), 0);
  // 10 days of 31.00, usage at its maximum, 10 days of Flat.
  expect(await sum(id)).toBeCloseTo(10 + 30 + 10, 2);
  await expectProved(company, id);
  await expectProved(company, credits);
});

test("a billing profile is the company's own, and says what is wrong with it", async () => {
  const company = await billing.addCompany({ currency: "MYR" });
  const { api, client_id } = company;
  const path = `/clients/${client_id}/billing-profile`;
  const unset = { client_id, interim_at: null, currency: "MYR" };
  expect((await api("GET", path)).body.data).toEqual(unset);
  expect((await profile(company, { interim_at: 12.5, currency: "EUR" })).body.data).toEqual({
    client_id,
    interim_at: "12.5",
    currency: "EUR",
  });
  expect((await api("GET", path)).body.data.interim_at).toBe("12.5");
  expect((await profile(company, {})).body.data).toEqual(unset);
  for (const [body, at] of [
    [{ interim_at: "0" }, "/interim_at"],
    [{ interim_at: "-1" }, "/interim_at"],
    [{ interim_at: "much" }, "/interim_at"],
    [{ currency: "euro" }, "/currency"],
    [{ grace: 1 }, "/grace"],
  ] as const) {
    const { status, body: answer } = await profile(company, body);
    expect([status, answer.details[0].path]).toEqual([422, at]);
  }
  expect((await api("GET", "/clients/999999/billing-profile")).status).toBe(404);
  const other = await billing.addCompany({ currency: "EUR" });
  expect((await other.api("GET", path)).status).toBe(404);
  expect((await other.api("PUT", path, { interim_at: "1" })).status).toBe(404);
  const analyst = await company.addUser("analyst");
  expect((await analyst("GET", path)).status).toBe(200);
  expect((await analyst("PUT", path, {})).status).toBe(403);
});

test("all bills of this file are proved by what happened since", async () => {
  const { bills, unproved } = await proveEveryBill(billing.service.deps);
  expect(bills).toBeGreaterThan(10);
  expect(unproved).toEqual([]);
});
