import { expect, test } from "bun:test";
import type { Json } from "../../support/harness.ts";
import { runNamedJob } from "../../support/jobs.ts";
import { proveEveryBill } from "../../support/prove_bills.ts";
import { type Company, FLAT, PER_UNIT, useBilling } from "../fixtures.ts";

// Fees that are billed when their month, quarter, half-year or year begins.

const billing = useBilling();

const YEARLY = { ...FLAT, name: "Yearly", price: 365, fee_interval: "year", fee_timing: "in_advance" };
const AHEAD = { ...PER_UNIT, name: "Ahead", recurring_fee: "31", fee_timing: "in_advance" };

async function runAt(company: Company, time: string, body?: Json): Promise<Json> {
  billing.clock.set(time);
  return company.run(body);
}

/** Changes the plan now. */
const change = ({ api }: Company, id: number, new_billing_model_id: number) =>
  api("POST", `/subscriptions/${id}/billing-model-changes`, {
    new_billing_model_id,
    effective_at: billing.clock.now().toString(),
  });

const monthOf = ({ billingStartAt }: Json): string => billingStartAt.slice(0, 10);

async function kinds(company: Company, id: number): Promise<string[]> {
  const records = await company.records(id);
  return records.map((record) => `${monthOf(record)} ${record.kind} ${record.totalCharges}`);
}

/** Every bill of a subscription is what its lines come to. */
async function expectVerified(company: Company, id: number): Promise<void> {
  for (const { id: record_id } of await company.records(id)) {
    const { body } = await company.api("GET", `/billing-records/${record_id}/verify`);
    expect(body.data.differences).toEqual([]);
  }
}

test("365.00 a year in advance, cancelled on 10 April: 365.00, then −265.00", async () => {
  const company = await billing.addCompany();
  billing.clock.set("2026-01-01T00:00:00Z");
  const id = await company.subscribe(YEARLY);
  expect((await runAt(company, "2026-01-01T00:10:00Z")).counts).toMatchObject({ advances: 1, periods: 0 });
  expect((await runAt(company, "2026-01-01T01:10:00Z")).counts).not.toHaveProperty("advances");
  await runAt(company, "2026-04-05T00:00:00Z");
  billing.clock.set("2026-04-10T15:00:00Z");
  expect((await company.api("POST", `/subscriptions/${id}/cancel`, { at: "now" })).status).toBe(200);
  await runAt(company, "2027-02-02T00:00:00Z");
  expect(await kinds(company, id)).toEqual([
    "2026-01-01 advance 365.00",
    "2026-01-01 period 0.00",
    "2026-02-01 period 0.00",
    "2026-03-01 period 0.00",
    "2026-01-01 adjustment -265.00",
    "2026-04-01 period 0.00",
  ]);
  const [advance, , , , adjustment] = await company.records(id);
  expect(adjustment?.adjusts_billing_record_id).toBe(advance?.id);
  const { body } = await company.api("GET", `/billing-records/${adjustment?.id}`);
  expect(body.data.lines.map(({ description, amount }: Json) => [description, amount])).toEqual([
    ["Yearly: yearly fee, 100 of 365 days", "100.00"],
    ["Reversal: Yearly: yearly fee", "-365.00"],
  ]);
  await expectVerified(company, id);
});

test("a month's fee in advance, then what its close adds; a change inside adjusts at once, by days", async () => {
  const company = await billing.addCompany();
  const { api } = company;
  billing.clock.set("2026-03-15T09:00:00Z");
  const id = await company.subscribe({ ...AHEAD, setup_fee: "50" });
  await runAt(company, "2026-03-15T10:00:00Z");
  await company.use(id, ["2026-03-20T00:00:00Z", "10"]);
  // The daily recheck closes no period that runs.
  await runAt(company, "2026-03-20T10:00:00Z");
  await runAt(company, "2026-04-01T00:00:10Z");
  await runAt(company, "2026-04-01T02:00:00Z");
  const arrears = await company.addModel({ ...FLAT, name: "Arrears", price: 60 });
  billing.clock.set("2026-04-11T12:00:00Z");
  const changed = await change(company, id, arrears);
  expect(changed.body.data.adjustment_billing_record_ids).toHaveLength(1);
  await runAt(company, "2026-05-01T02:00:00Z");
  expect(await kinds(company, id)).toEqual([
    "2026-03-01 advance 67.00",
    "2026-04-01 advance 31.00",
    "2026-03-01 period 5.00",
    "2026-04-01 adjustment -20.67",
    "2026-04-01 period 40.00",
  ]);
  const voided = await api(
    "POST",
    `/subscriptions/${id}/billing-model-changes/${changed.body.data.id}/void`,
    {},
  );
  expect(voided.status).toBe(200);
  await runAt(company, "2026-05-01T03:00:00Z");
  expect((await kinds(company, id)).slice(5)).toEqual([
    "2026-04-01 adjustment -19.33",
    "2026-05-01 advance 31.00",
  ]);
  await expectVerified(company, id);
});

test("late usage of a running period waits for its close, of a closed one it is an adjustment", async () => {
  const company = await billing.addCompany();
  billing.clock.set("2026-03-01T00:00:00Z");
  const id = await company.subscribe(AHEAD);
  await runAt(company, "2026-03-01T00:30:00Z");
  await company.use(id, ["2026-03-10T00:00:00Z", "10"]);
  const job = async (time: string) => {
    billing.clock.set(time);
    await runNamedJob(billing.service, "billing_recheck");
  };
  await job("2026-03-11T04:00:00Z");
  expect(await kinds(company, id)).toEqual(["2026-03-01 advance 31.00"]);
  await runAt(company, "2026-04-01T03:00:00Z");
  await company.use(id, ["2026-03-11T00:00:00Z", "4"]);
  await job("2026-04-03T04:00:00Z");
  expect((await kinds(company, id)).toSorted()).toEqual([
    "2026-03-01 adjustment 2.00",
    "2026-03-01 advance 31.00",
    "2026-03-01 period 5.00",
    "2026-04-01 advance 31.00",
  ]);
  await expectVerified(company, id);
});

test("a server that stood still bills what it missed once, and ahead only what runs", async () => {
  const company = await billing.addCompany({ timezone: "America/Sao_Paulo" });
  billing.clock.set("2026-01-20T12:00:00Z");
  const id = await company.subscribe({
    ...AHEAD,
    name: "Quarterly",
    recurring_fee: "90",
    fee_interval: "quarter",
  });
  const monthly = await company.subscribe(AHEAD);
  await runAt(company, "2026-05-10T00:00:00Z");
  expect(await kinds(company, id)).toEqual([
    "2026-01-01 period 71.00",
    "2026-02-01 period 0.00",
    "2026-03-01 period 0.00",
    "2026-04-01 period 90.00",
  ]);
  expect(await kinds(company, monthly)).toEqual([
    "2026-01-01 period 12.00",
    "2026-02-01 period 31.00",
    "2026-03-01 period 31.00",
    "2026-04-01 period 31.00",
    "2026-05-01 advance 31.00",
  ]);
  await expectVerified(company, id);
});

test("a change inside a year shares it by days, whatever interval follows, and cancelling it is taken back", async () => {
  const company = await billing.addCompany();
  billing.clock.set("2026-01-01T00:00:00Z");
  const id = await company.subscribe(YEARLY);
  await runAt(company, "2026-01-01T01:00:00Z");
  await runAt(company, "2026-04-02T00:00:00Z");
  const larger = await company.addModel({ ...YEARLY, name: "Larger", price: 730 });
  billing.clock.set("2026-04-11T12:00:00Z");
  const changed = await change(company, id, larger);
  expect(changed.status).toBe(200);
  // 265 days are left.
  expect((await kinds(company, id)).slice(4)).toEqual(["2026-01-01 adjustment 265.00"]);
  const monthly = await company.addModel(AHEAD);
  billing.clock.set("2026-04-21T12:00:00Z");
  await change(company, id, monthly);
  expect((await kinds(company, id)).slice(5)).toEqual(["2026-01-01 adjustment -510.00"]);
  await runAt(company, "2026-04-21T13:00:00Z");
  expect((await kinds(company, id)).slice(6)).toEqual(["2026-04-01 advance 10.33"]);
  await runAt(company, "2027-01-02T00:00:00Z");
  const amounts = (await company.records(id)).map(({ totalCharges }) => Number(totalCharges));
  // 100 days at 1.00, 10 at 2.00, then months of 31.00.
  expect(amounts.reduce((all, amount) => all + amount, 0)).toBeCloseTo(100 + 20 + 10.33 + 9 * 31, 2);
  await expectVerified(company, id);
});

test("a cancellation with the month, a new time zone and two runs at once bill each day once", async () => {
  const company = await billing.addCompany({ timezone: "Asia/Kuala_Lumpur" });
  const { api } = company;
  billing.clock.set("2025-12-31T16:00:00Z");
  const id = await company.subscribe(YEARLY);
  billing.clock.set("2025-12-31T16:00:01Z");
  await Promise.all([company.run(), company.run(), company.run()]);
  expect(await kinds(company, id)).toEqual(["2025-12-31 advance 365.00"]);
  billing.clock.set("2026-03-05T00:00:00Z");
  expect((await api("PUT", "/company", { name: "C", timezone: "UTC", currency: "EUR" })).status).toBe(200);
  billing.clock.set("2026-05-20T00:00:00Z");
  await company.run();
  expect((await api("POST", `/subscriptions/${id}/cancel`, { at: "period_end" })).status).toBe(200);
  await runAt(company, "2026-07-20T00:00:00Z");
  const amounts = (await company.records(id)).map(({ totalCharges }) => Number(totalCharges));
  // 151 days: January to May.
  expect(amounts.reduce((all, amount) => all + amount, 0)).toBe(151);
  await expectVerified(company, id);
});

test("a cancellation in the middle of a run is adjusted, whichever is first", async () => {
  const company = await billing.addCompany();
  const { api } = company;
  billing.clock.set("2026-01-01T00:00:00Z");
  const model = await company.addModel(YEARLY);
  const ids: number[] = [];
  for (let i = 0; i < 4; i++) ids.push(await company.subscribe(model));
  billing.clock.set("2026-01-10T12:00:00Z");
  const cancel = (id: number) => api("POST", `/subscriptions/${id}/cancel`, { at: "now" });
  const [, ...answers] = await Promise.all([company.run(), ...ids.map(cancel), company.run()]);
  expect(answers.slice(0, ids.length).map((answer) => answer.status)).toEqual(ids.map(() => 200));
  await runAt(company, "2026-01-11T12:00:00Z");
  for (const id of ids) {
    const amounts = (await company.records(id)).map(({ totalCharges }) => Number(totalCharges));
    expect(amounts.reduce((all, amount) => all + amount, 0)).toBe(10);
  }
});

test("a dry run says what would be billed in advance, and a named month that runs bills it", async () => {
  const company = await billing.addCompany();
  billing.clock.set("2026-03-01T00:00:00Z");
  const id = await company.subscribe({ ...AHEAD, trial_days: 10 });
  const free = await company.subscribe({ ...AHEAD, trial_days: 60 });
  billing.clock.set("2026-03-01T00:00:01Z");
  const dry = await company.run({ dry_run: true });
  expect(dry.records.map(({ kind, totalCharges }: Json) => [kind, totalCharges])).toEqual([
    ["advance", "21.00"],
  ]);
  expect(await kinds(company, id)).toEqual([]);
  const named = await company.run({ period: "2026-03" });
  expect(named.counts).toMatchObject({ advances: 1, not_due: 2, unchanged: 0 });
  expect(named.totals).toEqual([{ currency: "EUR", records: 1, totalCharges: "21.00" }]);
  expect((await company.run({ period: "2026-03" })).counts).toMatchObject({ unchanged: 0, periods: 0 });
  await runAt(company, "2026-04-02T00:00:00Z");
  expect(await kinds(company, id)).toEqual([
    "2026-03-01 advance 21.00",
    "2026-03-01 period 0.00",
    "2026-04-01 advance 31.00",
  ]);
  expect(await kinds(company, free)).toEqual(["2026-03-01 period 0.00", "2026-04-01 advance 1.03"]);
  const { body } = await company.api("GET", `/billing-records?subscription_id=${id}&kind=advance`);
  expect(body.meta.total).toBe(2);
  await expectVerified(company, id);
});

test("all bills of this file are proved by what happened since", async () => {
  const { bills, unproved } = await proveEveryBill(billing.service.deps);
  expect(bills).toBeGreaterThan(50);
  expect(unproved).toEqual([]);
});

test.each([
  [{ fee_interval: "year" }, "/fee_timing"],
  [{ fee_interval: "quarter", fee_timing: "in_arrears" }, "/fee_timing"],
  [{ fee_interval: "week" }, "/fee_interval"],
  [{ fee_timing: "later" }, "/fee_timing"],
])("%j is refused", async (fields, path) => {
  const { api } = await billing.addCompany();
  const plan = { ...FLAT, name: "Plan", description: "", currency: "EUR" };
  const { status, body } = await api("POST", "/billing-models", { ...plan, ...fields });
  expect(status).toBe(422);
  expect(body.details[0].path).toBe(path);
});
