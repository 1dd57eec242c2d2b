import { beforeAll, describe, expect, test } from "bun:test";
import { LIMITS } from "../../../src/billing/limits.ts";
import type { Json } from "../../support/harness.ts";
import { type Company, FLAT, GRADUATED, PER_UNIT, useBilling } from "../fixtures.ts";

const billing = useBilling();
let company: Company;

beforeAll(async () => {
  company = await billing.addCompany();
});

/** April has begun, and the hour of grace is over. */
const APRIL = "2024-04-01T01:00:00Z";
const JANUARY = { started_at: "2024-01-01T00:00:00Z" };

function bounds(records: Json[]): [string, string][] {
  return records.map((record) => [record.billingStartAt, record.billingEndAt]);
}

/** The months in which the records' periods start. */
function months(records: Json[]): string[] {
  return records.map((record) => record.billingStartAt.slice(0, 7));
}

/** The moment before an instant. */
function before(time: string): string {
  return Temporal.Instant.from(time).subtract({ milliseconds: 1 }).toString();
}

function amounts(records: Json[]): string[] {
  return records.map((record) => `${record.kind} ${record.sequence} ${record.totalCharges}`);
}

describe("what a period costs: worked_examples.test.ts, and", () => {
  test("units are summed exactly, beyond the digits of a JSON number", async () => {
    billing.clock.set(APRIL);
    const id = await company.subscribe({ ...PER_UNIT, price: 1 }, JANUARY);
    await company.use(id, ["2024-03-01T00:00:00Z", "999999999999.000001"], ["2024-03-02T00:00:00Z", "0.009"]);
    const run = await company.run({ period: "2024-03", subscription_ids: [id] });
    expect(run.records[0].totalCharges).toBe("999999999999.01");
    expect(run.records[0].lines[0].quantity).toBe("999999999999.009001");
  });
});

describe("periods", () => {
  test("are cut from the anchor, and the first one is billed by its days", async () => {
    billing.clock.set("2024-06-01T01:00:00Z");
    const from = { started_at: "2024-01-31T00:00:00Z", billing_anchor_day: 31 };
    const id = await company.subscribe(FLAT, from);
    await company.run({ subscription_ids: [id] });
    const days = ["2024-01-31", "2024-02-29", "2024-03-31", "2024-04-30", "2024-05-31"];
    const midnights = days.map((day) => `${day}T00:00:00.000Z`);
    const records = await company.records(id);
    expect(bounds(records)).toEqual(
      midnights.slice(0, -1).map((start, i): [string, string] => [start, midnights[i + 1] ?? ""]),
    );
    expect(records.map((record) => record.totalCharges)).toEqual(["31.00", "31.00", "31.00", "31.00"]);
  });

  test.each([
    ["Asia/Kuala_Lumpur", "2024-02-29T16:00:00.000Z", "2024-03-31T16:00:00.000Z"],
    ["Asia/Kathmandu", "2024-02-29T18:15:00.000Z", "2024-03-31T18:15:00.000Z"],
    ["America/New_York", "2024-03-01T05:00:00.000Z", "2024-04-01T04:00:00.000Z"],
  ])("are half-open at local midnights: %s", async (timezone, start, end) => {
    billing.clock.set("2024-04-02T00:00:00Z");
    const local = await billing.addCompany({ timezone });
    const id = await local.subscribe({ ...PER_UNIT, price: 1 }, JANUARY);
    await local.use(id, [before(start), "1000"], [start, "100"], [before(end), "10"], [end, "1"]);
    const { records } = await local.run({ period: "2024-03" });
    expect(bounds(records)).toEqual([[start, end]]);
    expect(records[0]).toMatchObject({ billedUnits: 110, totalCharges: "110.00" });
    expect(records[0].lines[0]).toMatchObject({ kind: "usage", event_count: 2, from: start, to: end });
  });

  test("follow a company's new time zone from the next period on", async () => {
    billing.clock.set("2024-02-10T00:00:00Z");
    const moving = await billing.addCompany();
    const id = await moving.subscribe(FLAT, JANUARY);
    const place = { name: "Moved", timezone: "Asia/Kuala_Lumpur", currency: "EUR" };
    expect((await moving.api("PUT", "/company", place)).status).toBe(200);
    billing.clock.set("2024-04-01T01:00:00Z");
    await moving.run();
    expect(bounds(await moving.records(id))).toEqual([
      ["2024-01-01T00:00:00.000Z", "2024-02-01T00:00:00.000Z"],
      ["2024-02-01T00:00:00.000Z", "2024-03-01T00:00:00.000Z"],
      ["2024-03-01T00:00:00.000Z", "2024-03-31T16:00:00.000Z"],
    ]);
  });

  test("are billed a grace after their end, and not a moment before", async () => {
    billing.clock.set("2024-04-01T00:59:59.999Z");
    const punctual = await billing.addCompany();
    const id = await punctual.subscribe(FLAT, { started_at: "2024-03-01T00:00:00Z" });
    expect((await punctual.run()).counts).toMatchObject({ subscriptions: 1, periods: 0, not_due: 2 });
    billing.clock.set("2024-04-01T01:00:00Z");
    expect((await punctual.run()).counts).toMatchObject({ subscriptions: 1, periods: 1, not_due: 1 });
    expect(await punctual.records(id)).toHaveLength(1);
  });

  test("that are named are billed as soon as they have ended, however old", async () => {
    billing.clock.set("2024-03-31T23:59:59.999Z");
    const id = await company.subscribe(FLAT, { started_at: "2019-05-31T12:00:00Z" });
    const run = (period: string) => company.run({ period, subscription_ids: [id] });
    expect((await run("2024-03")).counts).toMatchObject({ periods: 0, not_due: 1 });
    expect((await run("9999-12")).counts).toMatchObject({ periods: 0, not_due: 1 });
    billing.clock.set("2024-04-01T00:00:00Z");
    expect((await run("2024-03")).counts).toMatchObject({ periods: 1, not_due: 0 });
    expect((await run("2019-05")).records).toMatchObject([{ totalCharges: "1.00" }]);
    expect((await run("2019-04")).counts).toMatchObject({ periods: 0, not_due: 0, unchanged: 0 });
    expect((await run("0000-01")).counts).toMatchObject({ periods: 0, not_due: 0, unchanged: 0 });
  });

  test("that were missed are all made good, oldest first, once", async () => {
    billing.clock.set("2024-06-01T01:00:00Z");
    const late = await billing.addCompany();
    const id = await late.subscribe(FLAT, { started_at: "2023-11-16T00:00:00Z" });
    const other = await late.subscribe(FLAT, { started_at: "2024-04-01T00:00:00Z" });
    const run = await late.run({ subscription_ids: [id] });
    const missed = ["2023-11", "2023-12", "2024-01", "2024-02", "2024-03", "2024-04", "2024-05"];
    expect(months(run.records)).toEqual(missed);
    expect(run.records[0].totalCharges).toBe("15.50");
    expect(months(await late.records(id))).toEqual(missed);
    expect(await late.records(other)).toEqual([]);
    expect((await late.run()).counts).toMatchObject({ periods: 2 });
    expect((await late.run()).counts).toMatchObject({ periods: 0, adjustments: 0, failed: 0 });
  });

  test("of many subscriptions are billed batch by batch, each once", async () => {
    billing.clock.set("2024-06-01T01:00:00Z");
    const many = await billing.addCompany();
    for (let i = 0; i < 7; i++) await many.subscribe(FLAT, JANUARY);
    const { billing_batch_subscriptions, billing_batch_periods } = LIMITS;
    Object.assign(LIMITS, { billing_batch_subscriptions: 3, billing_batch_periods: 4 });
    try {
      expect((await many.run()).counts).toMatchObject({ subscriptions: 7, periods: 35, not_due: 7 });
      expect((await many.run()).counts).toMatchObject({ subscriptions: 7, periods: 0, not_due: 7 });
    } finally {
      Object.assign(LIMITS, { billing_batch_subscriptions, billing_batch_periods });
    }
  });

  test("before one that was billed out of turn are found and billed", async () => {
    billing.clock.set("2024-05-01T01:00:00Z");
    const id = await company.subscribe(FLAT, JANUARY);
    for (const period of ["2024-02", "2024-04"]) await company.run({ period, subscription_ids: [id] });
    const run = await company.run({ subscription_ids: [id] });
    expect(months(run.records)).toEqual(["2024-01", "2024-03"]);
    billing.clock.set("2024-06-01T01:00:00Z");
    const next = await company.run({ subscription_ids: [id] });
    expect(months(next.records)).toEqual(["2024-05"]);
  });

  test("end with a cancellation: the last one is truncated, then there is nothing", async () => {
    billing.clock.set("2024-03-15T12:00:00Z");
    const id = await company.subscribe({ ...PER_UNIT, recurring_fee: "31", price: 1 }, JANUARY);
    const at_end = await company.subscribe(FLAT, JANUARY);
    const cancel = (of: number, at: string) => company.api("POST", `/subscriptions/${of}/cancel`, { at });
    expect((await cancel(id, "now")).status).toBe(200);
    expect((await cancel(at_end, "period_end")).status).toBe(200);
    await company.use(id, ["2024-03-15T11:59:59.999Z", "3"], ["2024-03-15T12:00:00Z", "500"]);
    billing.clock.set("2024-08-01T01:00:00Z");
    await company.run({ subscription_ids: [id, at_end] });
    const records = await company.records(id);
    expect(records.map((record) => record.totalCharges)).toEqual(["31.00", "31.00", "18.00"]);
    expect(records[2]).toMatchObject({ billingEndAt: "2024-04-01T00:00:00.000Z", billedUnits: 3 });
    expect((await company.records(at_end)).map((record) => record.totalCharges)).toEqual(
      Array(3).fill("31.00"),
    );
    expect((await company.run({ subscription_ids: [id, at_end] })).counts.periods).toBe(0);
    expect((await company.run({ period: "2024-04", subscription_ids: [id] })).counts.periods).toBe(0);
  });
});

describe("what is learned later", () => {
  test("becomes an adjustment, once; the record stays as it was", async () => {
    billing.clock.set(APRIL);
    const id = await company.subscribe(GRADUATED, JANUARY);
    await company.use(id, ["2024-03-10T00:00:00Z", "10"]);
    const run = () => company.run({ period: "2024-03", subscription_ids: [id] });
    const [first] = (await run()).records;
    billing.clock.set("2024-04-02T00:00:00Z");
    await company.use(id, ["2024-03-11T00:00:00Z", "1"], ["2024-03-12T00:00:00Z", "1"]);
    const late = await run();
    expect(late.counts).toMatchObject({ periods: 0, adjustments: 1, unchanged: 0 });
    expect(late.records).toMatchObject([
      {
        kind: "adjustment",
        sequence: 1,
        adjusts_billing_record_id: first.id,
        totalCharges: "13.00",
        billedUnits: 2,
      },
    ]);
    expect(late.records[0].lines).toMatchObject([{ kind: "usage", quantity: "2", event_count: 2 }]);
    expect((await run()).counts).toMatchObject({ periods: 0, adjustments: 0, unchanged: 1 });

    billing.clock.set("2024-04-03T00:00:00Z");
    await company.use(id, ["2024-03-31T23:59:59.999Z", "-12"]);
    await run();
    expect((await run()).counts).toMatchObject({ adjustments: 0, unchanged: 1 });
    expect(amounts(await company.records(id))).toEqual([
      "period 0 102.00",
      "adjustment 1 13.00",
      "adjustment 2 -115.00",
    ]);
  });

  test("by another call is not undone by one that knows less", async () => {
    billing.clock.set(APRIL);
    const id = await company.subscribe(PER_UNIT, JANUARY);
    const run = () => company.run({ period: "2024-03", subscription_ids: [id] });
    billing.clock.set("2024-04-05T00:00:00Z");
    await company.use(id, ["2024-03-10T00:00:00Z", "10"]);
    await run();
    billing.clock.set("2024-04-04T00:00:00Z");
    expect((await run()).counts).toMatchObject({ periods: 0, adjustments: 0, unchanged: 1 });
    expect(amounts(await company.records(id))).toEqual(["period 0 5.00"]);
  });

  test("counts when it is stored in the very millisecond of the run", async () => {
    billing.clock.set(APRIL);
    const id = await company.subscribe(PER_UNIT, JANUARY);
    await company.use(id, ["2024-03-10T00:00:00Z", "10"]);
    const { records } = await company.run({ period: "2024-03", subscription_ids: [id] });
    expect(records[0]).toMatchObject({ totalCharges: "5.00", usage_until: "2024-04-01T01:00:00.001Z" });
  });
});
