import { expect, test } from "bun:test";
import { runNamedJob } from "../../support/jobs.ts";
import type { Json } from "../../support/harness.ts";
import { proveEveryBill } from "../../support/prove_bills.ts";
import { type Company, PER_UNIT, useBilling } from "../fixtures.ts";

// Commitments to a year, as worked out by hand: decision 0258.

const billing = useBilling();
const YEAR = { ...PER_UNIT, price: 1, recurring_fee: "7", name: "Plan" };

async function begin(commitment: Json, more: Json = {}, options: Json = {}) {
  billing.clock.set("2025-01-01T00:00:00Z");
  const company = await billing.addCompany({ currency: "EUR" });
  const plan = { ...YEAR, commitment: { ...commitment, interval: "year" }, ...more };
  const id = await company.subscribe(plan, options);
  return { company, api: company.api, id };
}

const dayOf = (month: number, day: number) => `2025-${String(month).padStart(2, "0")}-0${day}T00:00:00Z`;

/** The first of a month of 2025 or, above 12, of later years, an hour and a bit later. */
const closeOf = (month: number) => {
  const next = Temporal.PlainDate.from("2025-01-01").add({ months: month });
  return `${next.toString()}T02:00:00Z`;
};

/** The lines of commitments on each record of a subscription that has any: its period, kind and what they are. */
async function commitments(company: Company, id: number) {
  const found: Json[] = [];
  for (const { id: record_id, billingStartAt, kind } of await company.records(id)) {
    const { lines } = (await company.api("GET", `/billing-records/${record_id}`)).body.data;
    for (const line of lines)
      if (line.commitment_interval)
        found.push([billingStartAt.slice(0, 7), kind, line.description, line.amount]);
  }
  return found;
}

async function expectProved(company: Company, id: number): Promise<void> {
  for (const { id: record_id } of await company.records(id)) {
    const { body } = await company.api("GET", `/billing-records/${record_id}/verify`);
    expect(body.data.differences).toEqual([]);
  }
}

test("what is under a year's minimum is in its twelfth record, and late usage gives it back", async () => {
  const { company, id } = await begin({ minimum: "1000" });
  for (let month = 1; month <= 12; month++) {
    billing.clock.set(dayOf(month, 9));
    await company.use(id, [dayOf(month, 5), "50"]);
    billing.clock.set(closeOf(month));
    await company.run();
  }
  expect(await commitments(company, id)).toEqual([
    ["2025-12", "period", "Plan: yearly commitment of 1,000", "400.00"],
  ]);
  // The next year begins anew.
  billing.clock.set("2026-01-20T00:00:00Z");
  await company.use(id, ["2026-01-05T00:00:00Z", "20"], [dayOf(3, 5), "30"], [dayOf(12, 7), "1"]);
  await company.run({ period: "2025-03" });
  await company.run({ period: "2025-12" });
  billing.clock.set("2026-02-01T02:00:00Z");
  await company.run();
  expect((await commitments(company, id)).slice(1)).toEqual([
    ["2025-03", "adjustment", "Plan: yearly commitment of 1,000", "-30.00"],
    ["2025-12", "adjustment", "Adjustment: Plan: yearly commitment of 1,000", "-1.00"],
  ]);
  // More than is missing: the rest is usage over the minimum.
  await company.use(id, [dayOf(7, 5), "500"]);
  await company.run({ period: "2025-07" });
  expect((await commitments(company, id)).slice(3)).toEqual([
    ["2025-07", "adjustment", "Plan: yearly commitment of 1,000", "-369.00"],
  ]);
  await expectProved(company, id);
});

test("a year's maximum caps from the month on that reaches it, in previews and dry runs too", async () => {
  const { company, api, id } = await begin({ maximum: "100.50" });
  billing.clock.set("2025-03-20T00:00:00Z");
  for (const month of [1, 2, 3]) await company.use(id, [dayOf(month, 5), "60"]);
  // Three months at once, none of which is on record.
  const dry = await company.run({ dry_run: true });
  expect(dry.records.map(({ totalCharges }: Json) => totalCharges)).toEqual(["67.00", "47.50"]);
  await company.run();
  const preview = (await api("GET", `/subscriptions/${id}/preview?projected=true`)).body.data;
  expect([preview.total, preview.projected_total]).toEqual(["7.00", "7.00"]);
  billing.clock.set(closeOf(3));
  await company.run();
  expect(await commitments(company, id)).toEqual([
    ["2025-02", "period", "Plan: usage and charges of the year capped at 100.5", "-19.50"],
    ["2025-03", "period", "Plan: usage and charges of the year capped at 100.5", "-60.00"],
  ]);
  // A correction of the first month makes room for 10.
  await company.use(id, [dayOf(1, 6), "-10"]);
  await company.run({ period: "2025-01" });
  expect((await commitments(company, id)).slice(2)).toEqual([
    ["2025-01", "adjustment", "Plan: usage and charges of the year capped at 100.5", "10.00"],
  ]);
  await expectProved(company, id);
  const total = (await company.records(id)).map(({ totalCharges }) => Number(totalCharges));
  expect(total.reduce((a, b) => a + b)).toBe(100.5 + 3 * 7);
});

test("who leaves owes the minimum by days in the last record", async () => {
  const { company, api, id } = await begin({ minimum: "3650" });
  billing.clock.set("2025-03-10T12:00:00Z");
  await company.use(id, [dayOf(1, 5), "100"]);
  await company.run();
  expect(await commitments(company, id)).toEqual([]);
  expect((await api("POST", `/subscriptions/${id}/cancel`, { at: "now" })).status).toBe(200);
  billing.clock.set("2025-03-10T14:00:00Z");
  await company.run();
  // January, February and ten days: 69 × 10.
  expect(await commitments(company, id)).toEqual([
    ["2025-03", "period", "Plan: yearly commitment of 3,650", "590.00"],
  ]);
  await expectProved(company, id);
});

test("a plan owes by its days of the year; a change back in time moves them", async () => {
  const { company, api, id } = await begin({ minimum: "3650" }, {}, { trial_days: 10 });
  const other = await company.addModel({ ...PER_UNIT, name: "Other" });
  for (let month = 1; month <= 12; month++) {
    billing.clock.set(closeOf(month));
    await company.run();
  }
  // 365 days less ten of trial.
  expect(await commitments(company, id)).toEqual([
    ["2025-12", "period", "Plan: yearly commitment of 3,650", "3550.00"],
  ]);
  const change = { new_billing_model_id: other, effective_at: "2025-12-22T00:00:00Z" };
  expect((await api("POST", `/subscriptions/${id}/billing-model-changes`, change)).status).toBe(200);
  const earlier = { new_billing_model_id: other, effective_at: "2025-11-01T00:00:00Z" };
  expect((await api("POST", `/subscriptions/${id}/billing-model-changes`, earlier)).status).toBe(422);
  expect((await commitments(company, id)).slice(1)).toEqual([
    ["2025-12", "adjustment", "Adjustment: Plan: yearly commitment of 3,650", "-100.00"],
  ]);
  await expectProved(company, id);
});

test("what a voided plan had settled is taken back, and its bills stay proved", async () => {
  billing.clock.set("2025-01-01T00:00:00Z");
  const company = await billing.addCompany({ currency: "EUR" });
  const id = await company.subscribe({ ...YEAR, name: "Other" });
  const capped = await company.addModel({ ...YEAR, commitment: { maximum: "100", interval: "year" } });
  const path = `/subscriptions/${id}/billing-model-changes`;
  billing.clock.set("2025-01-03T00:00:00Z");
  const change = { new_billing_model_id: capped, effective_at: "2025-01-02T00:00:00Z" };
  const { body: made } = await company.api("POST", path, change);
  for (const month of [1, 2]) {
    await company.use(id, [dayOf(month, 5), "60"]);
    billing.clock.set(closeOf(month));
    await company.run();
  }
  const cap = "Plan: usage and charges of the year capped at 100";
  expect(await commitments(company, id)).toEqual([["2025-02", "period", cap, "-20.00"]]);
  await expectProved(company, id);
  expect((await company.api("POST", `${path}/${made.data.id}/void`)).status).toBe(200);
  expect((await commitments(company, id)).slice(1)).toEqual([
    ["2025-02", "adjustment", `Reversal: ${cap}`, "20.00"],
  ]);
  await expectProved(company, id);
});

test("interim bills are capped, and months alone are as before", async () => {
  const { company, api, id } = await begin({ maximum: "100" });
  await api("PUT", `/clients/${company.client_id}/billing-profile`, { interim_at: "50" });
  billing.clock.set("2025-01-10T00:00:00Z");
  await company.use(id, [dayOf(1, 5), "90"]);
  await company.run();
  billing.clock.set("2025-01-20T00:00:00Z");
  // 10 are left, and not 60: no bill of its own.
  await company.use(id, [dayOf(1, 9), "60"]);
  await company.run();
  billing.clock.set(closeOf(1));
  await company.run();
  const records = await company.records(id);
  expect(records.map(({ kind, totalCharges }) => [kind, totalCharges])).toEqual([
    ["interim", "90.00"],
    ["period", "17.00"],
  ]);
  await expectProved(company, id);
});

test("simulations reproduce years, and settle those of what is tried by the months that are simulated", async () => {
  const { company, api, id } = await begin({ minimum: "1200", maximum: "1300" });
  for (let month = 1; month <= 12; month++) {
    billing.clock.set(dayOf(month, 9));
    await company.use(id, [dayOf(month, 5), month === 6 ? "500" : "50"]);
    billing.clock.set(closeOf(month));
    await company.run();
  }
  const simulate = async (body: Json, from: string, to: string) => {
    const { body: answer } = await api("POST", "/simulations", { ...body, from, to });
    await runNamedJob(billing.service, "simulations");
    const { reproduces, totals, months } = (await api("GET", `/simulations/${answer.data.id}`)).body.data;
    return { reproduces, totals, months: months.map(({ simulated }: Json) => simulated) };
  };
  const model = { ...YEAR, name: "Draft", description: "", currency: "EUR" };
  const draft = { billing_model: { ...model, commitment: { minimum: "1825", interval: "year" } } };
  const [own] = (await api("GET", "/billing-models")).body.data;
  // 11 × 50 + 500, and 150 to the minimum; the fee of 7.
  expect(await simulate({ billing_model_id: own.id }, "2025-01", "2025-12")).toMatchObject({
    reproduces: true,
    totals: { billed: "1284.00", simulated: "1284.00" },
  });
  expect((await simulate(draft, "2025-01", "2025-12")).totals.simulated).toBe("1909.00");
  // 31 + 28 days are 59 × 5, of which 100 were used.
  expect(await simulate(draft, "2025-01", "2025-02")).toEqual({
    reproduces: true,
    totals: { billed: "114.00", simulated: "309.00", difference: "195.00" },
    months: ["57.00", "252.00"],
  });
  const capped = { billing_model: { ...model, commitment: { maximum: "120", interval: "year" } } };
  expect((await simulate(capped, "2025-02", "2025-04")).months).toEqual(["57.00", "57.00", "27.00"]);
  expect((await simulate(capped, "2025-01", "2025-12")).reproduces).toBe(true);
  await expectProved(company, id);
});

test("a simulation in place of one plan leaves what another owes of the year as it is", async () => {
  const { company, api, id } = await begin({ minimum: "3650" });
  const other = await company.addModel({ ...YEAR, name: "Other" });
  billing.clock.set(closeOf(6));
  const change = { new_billing_model_id: other, effective_at: "2025-07-01T00:00:00Z" };
  expect((await api("POST", `/subscriptions/${id}/billing-model-changes`, change)).status).toBe(200);
  billing.clock.set(dayOf(9, 9));
  await company.use(id, [dayOf(8, 5), "100"]);
  billing.clock.set(closeOf(12));
  await company.run();
  // 181 days under the first plan.
  expect(await commitments(company, id)).toEqual([
    ["2025-12", "period", "Plan: yearly commitment of 3,650", "1810.00"],
  ]);
  const simulate = async (commitment: Json) => {
    const model = { ...YEAR, name: "Draft", description: "", currency: "EUR", commitment };
    const of = { billing_model_id: other };
    const body = { billing_model: model, of, from: "2025-01", to: "2025-12" };
    const { body: answer } = await api("POST", "/simulations", body);
    await runNamedJob(billing.service, "simulations");
    const { reproduces, totals } = (await api("GET", `/simulations/${answer.data.id}`)).body.data;
    return { reproduces, difference: totals.difference };
  };
  expect(await simulate({ maximum: "1000" })).toEqual({ reproduces: true, difference: "0.00" });
  expect(await simulate({ maximum: "60", interval: "year" })).toEqual({
    reproduces: true,
    difference: "-40.00",
  });
  // 184 days, of which 100 are used.
  expect(await simulate({ minimum: "365", interval: "year" })).toEqual({
    reproduces: true,
    difference: "84.00",
  });
});

test("all bills of this file are proved by what happened since", async () => {
  const { bills, unproved } = await proveEveryBill(billing.service.deps);
  expect(bills).toBeGreaterThan(10);
  expect(unproved).toEqual([]);
});
