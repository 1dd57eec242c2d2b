import { describe, expect, test } from "bun:test";
import { eq } from "drizzle-orm";
import { sum } from "../../../src/core/money.ts";
import { billingModelChangeTable } from "../../../src/billing/billing_model_changes/tables.ts";
import type { Json } from "../../support/harness.ts";
import { runNamedJob } from "../../support/jobs.ts";
import { changesOf, changeTo, makeDue, applyDueChanges } from "../billing_model_changes/fixtures.ts";
import { type Company, FLAT, PACKAGE, PER_UNIT, useBilling } from "../fixtures.ts";

// What a run takes into account, and what it reports. Decision 0128.

const billing = useBilling();

const charges = async (company: Company, id: number) =>
  (await company.records(id)).map(({ totalCharges }: Json) => totalCharges);

describe("a change that is due", () => {
  async function scheduleChange() {
    billing.clock.set("2024-03-01T00:00:00Z");
    const company = await billing.addCompany();
    const [ten, twenty] = [
      await company.addModel({ ...FLAT, price: 10 }),
      await company.addModel({ ...FLAT, price: 20 }),
    ];
    const id = await company.subscribe(ten, { started_at: "2024-03-01T00:00:00Z" });
    const { body } = await changeTo(company.api, id, twenty, "2024-03-15T00:00:00Z");
    expect(body.data.status).toBe("scheduled");
    // Nothing applied it meanwhile: the service was away.
    billing.clock.set("2024-04-01T01:00:00Z");
    return { company, id, change_id: body.data.id as number };
  }

  test("is applied by a run before it rates", async () => {
    const { company, id } = await scheduleChange();
    expect(await company.run()).toMatchObject({ counts: { periods: 1, adjustments: 0 } });
    expect(await charges(company, id)).toEqual(["15.49"]);
    expect(await changesOf(company.api, id)).toMatchObject([
      { status: "applied", adjustment_billing_record_ids: [] },
    ]);
    await applyDueChanges(billing.service);
    expect(await charges(company, id)).toEqual(["15.49"]);
  });

  test("is shown by a dry run, which applies nothing", async () => {
    const { company, id } = await scheduleChange();
    const run = await company.run({ dry_run: true });
    expect(run).toMatchObject({
      counts: { periods: 1, failed: 0 },
      totals: [{ currency: "EUR", records: 1, totalCharges: "15.49" }],
    });
    expect(run.records[0].lines).toHaveLength(2);
    expect(await changesOf(company.api, id)).toMatchObject([{ status: "scheduled" }]);
    expect(await charges(company, id)).toEqual([]);
  });

  test("that can't be applied keeps its subscription, and no other, from being billed", async () => {
    const { company, id, change_id } = await scheduleChange();
    const other = await company.subscribe(FLAT, { started_at: "2024-03-01T00:00:00Z" });
    const { store } = billing.service.deps;
    const dollars = await company.addModel({ ...FLAT, currency: "USD" });
    const turnTo = (new_billing_model_id: number) =>
      store.tx(async (q) => {
        const t = q.use(billingModelChangeTable);
        await q.update(t).set({ new_billing_model_id }).where(eq(t.id, change_id));
      });
    await company.run({ period: "2024-03", subscription_ids: [other] });
    const [{ new_billing_model_id: twenty }] = await changesOf(company.api, id);
    // What was closed before can't be rated by it.
    await makeDue(billing.service, change_id, "2024-05-01T00:00:00.000Z");
    await company.run({ subscription_ids: [id] });
    await makeDue(billing.service, change_id, "2024-03-15T00:00:00.000Z");
    await turnTo(dollars);
    billing.clock.set("2024-05-01T01:00:00Z");
    const run = await company.run();
    expect(run.counts).toMatchObject({ periods: 1, failed: 1 });
    expect(run.errors).toMatchObject([{ subscription_id: id, billingStartAt: null }]);
    expect(await charges(company, id)).toEqual(["10.00"]);
    await turnTo(twenty);
    billing.clock.set("2024-05-02T01:00:00Z");
    await company.run();
    expect(sum(await charges(company, id))).toBe("35.49");
  });
});

describe("a subscription that has ended", () => {
  test("is billed when its end is due, once, and adjusted afterwards", async () => {
    billing.clock.set("2024-03-10T12:00:00Z");
    const company = await billing.addCompany();
    const [id, later] = [
      await company.subscribe(FLAT, { started_at: "2024-03-01T00:00:00Z" }),
      await company.subscribe({ ...PER_UNIT, recurring_fee: "31" }, { started_at: "2024-03-01T00:00:00Z" }),
    ];
    await company.use(later, ["2024-03-09T00:00:00Z", "2"]);
    for (const one of [id, later]) await company.api("POST", `/subscriptions/${one}/cancel`, { at: "now" });
    billing.clock.set("2024-03-10T12:59:59.999Z");
    expect((await company.run()).counts).toMatchObject({ periods: 0, not_due: 2 });
    billing.clock.set("2024-03-10T13:00:00Z");
    expect((await company.run()).counts).toMatchObject({ periods: 2, not_due: 0 });
    expect(await company.records(id)).toMatchObject([
      {
        totalCharges: "10.00",
        billingStartAt: "2024-03-01T00:00:00.000Z",
        billingEndAt: "2024-04-01T00:00:00.000Z",
      },
    ]);
    await company.use(later, ["2024-03-09T00:00:00Z", "4"]);
    billing.clock.set("2024-03-11T02:30:10Z");
    await runNamedJob(billing.service, "billing_recheck");
    billing.clock.set("2024-06-01T12:00:00Z");
    expect((await company.run()).counts).toMatchObject({ periods: 0, adjustments: 0, not_due: 0 });
    expect(await charges(company, later)).toEqual(["11.00", "2.00"]);
  });

  test("is billed by a run that names the month as soon as it has ended", async () => {
    billing.clock.set("2024-03-10T12:00:00Z");
    const company = await billing.addCompany();
    const id = await company.subscribe(FLAT, { started_at: "2024-03-01T00:00:00Z" });
    expect((await company.run({ period: "2024-03" })).counts).toMatchObject({ periods: 0, not_due: 1 });
    await company.api("POST", `/subscriptions/${id}/cancel`, { at: "now" });
    expect((await company.run({ period: "2024-03" })).counts).toMatchObject({ periods: 1, not_due: 0 });
  });
});

describe("late usage that changes no amount", () => {
  const recheck = async (at: string) => {
    billing.clock.set(at);
    await runNamedJob(billing.service, "billing_recheck");
  };
  const told = async (company: Company) =>
    (await company.api("GET", "/events?type=billing_record.adjusted&limit=200")).body.meta.total;

  test("is one adjustment a billing month, with its event at the next bill, however often it comes", async () => {
    billing.clock.set("2024-04-01T01:00:00Z");
    const company = await billing.addCompany();
    const id = await company.subscribe(PACKAGE, { started_at: "2024-03-01T00:00:00Z" });
    await company.use(id, ["2024-03-05T00:00:00Z", "1"]);
    await company.run();
    for (const day of ["02", "03", "04", "15", "30"]) {
      billing.clock.set(`2024-04-${day}T01:00:00Z`);
      await company.use(id, ["2024-03-06T00:00:00Z", "1"]);
      await recheck(`2024-04-${day}T02:30:10Z`);
    }
    expect(await charges(company, id)).toEqual(["100.00"]);
    billing.clock.set("2024-05-01T01:00:00Z");
    await company.run();
    await recheck("2024-05-01T02:30:10Z");
    expect(await company.records(id)).toMatchObject([
      { billedUnits: 1, totalCharges: "100.00" },
      { billedUnits: 0, totalCharges: "0.00" },
      { billedUnits: 5, totalCharges: "0.00", kind: "adjustment" },
    ]);
    expect(await told(company)).toBe(1);
    // The next one waits for the month of this one to end.
    await company.use(id, ["2024-03-06T00:00:00Z", "1"]);
    await recheck("2024-05-02T02:30:10Z");
    await recheck("2024-05-31T02:30:10Z");
    expect(await told(company)).toBe(1);
    await recheck("2024-06-01T02:30:10Z");
    expect(await told(company)).toBe(2);
    const last = (await company.records(id)).at(-1);
    expect((await company.api("GET", `/billing-records/${last.id}/verify`)).body.data.matches).toBe(true);
  });

  test.each([
    ["under a minimum", { minimum_charge: "50" }],
    ["above a maximum", { maximum_charge: "5" }],
  ])("is none either %s, where the lines make up for each other", async (_, limit) => {
    billing.clock.set("2024-04-01T01:00:00Z");
    const company = await billing.addCompany();
    const id = await company.subscribe({ ...PER_UNIT, ...limit }, { started_at: "2024-03-01T00:00:00Z" });
    await company.use(id, ["2024-03-05T00:00:00Z", "20"]);
    await company.run();
    for (const day of ["02", "03", "04"]) {
      await company.use(id, ["2024-03-06T00:00:00Z", "2"]);
      await recheck(`2024-04-${day}T02:30:10Z`);
    }
    expect(await told(company)).toBe(0);
    await recheck("2024-05-01T02:30:10Z");
    expect(await company.records(id)).toMatchObject([
      { billedUnits: 20 },
      { billedUnits: 6, totalCharges: "0.00", kind: "adjustment" },
    ]);
  });

  test("goes with what does change one, and with a run that names the month", async () => {
    billing.clock.set("2024-04-01T01:00:00Z");
    const company = await billing.addCompany();
    const [one, two] = [
      await company.subscribe(PACKAGE, { started_at: "2024-03-01T00:00:00Z" }),
      await company.subscribe(PACKAGE, { started_at: "2024-03-01T00:00:00Z" }),
    ];
    for (const id of [one, two]) await company.use(id, ["2024-03-05T00:00:00Z", "1"]);
    await company.run();
    for (const id of [one, two]) await company.use(id, ["2024-03-06T00:00:00Z", "5"]);
    await recheck("2024-04-02T02:30:10Z");
    expect(await told(company)).toBe(0);
    await company.use(one, ["2024-03-06T00:00:00Z", "5"]);
    await recheck("2024-04-03T02:30:10Z");
    expect(await company.records(one)).toMatchObject([{}, { billedUnits: 10, totalCharges: "100.00" }]);
    await company.run({ period: "2024-03", subscription_ids: [two] });
    expect(await company.records(two)).toMatchObject([{}, { billedUnits: 5, totalCharges: "0.00" }]);
  });
});

test("a run tells the sums of all its records by currency, also a dry one of more than it lists", async () => {
  billing.clock.set("2024-04-01T01:00:00Z");
  const company = await billing.addCompany();
  const yen = await company.addModel({ ...FLAT, price: 5, currency: "JPY" });
  const euro = await company.addModel({ ...FLAT, price: 0.1 });
  for (let i = 0; i < 101; i++) await company.subscribe(euro, { started_at: "2024-03-01T00:00:00Z" });
  await company.subscribe(yen, { started_at: "2024-03-01T00:00:00Z" });
  const totals = [
    { currency: "EUR", records: 101, totalCharges: "10.10" },
    { currency: "JPY", records: 1, totalCharges: "5" },
  ];
  const dry = await company.run({ dry_run: true });
  expect([dry.records.length, dry.totals]).toEqual([100, totals]);
  const run = await company.run();
  expect(run.totals).toEqual(totals);
  for (const { id } of [dry, run]) {
    expect((await company.api("GET", `/billing-runs/${id}`)).body.data.totals).toEqual(totals);
  }
  expect((await company.run()).totals).toEqual([]);
});
