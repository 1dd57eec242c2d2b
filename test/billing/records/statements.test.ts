import { beforeAll, describe, expect, test } from "bun:test";
import { eq } from "drizzle-orm";
import { billingRecordTable } from "../../../src/billing/records/tables.ts";
import { subscriptionTable } from "../../../src/billing/subscriptions/tables.ts";
import { type Api, interceptTotals, type Json } from "../../support/harness.ts";
import { type Company, CREDIT, FLAT, GRADUATED, PER_UNIT, useBilling } from "../fixtures.ts";

const billing = useBilling();
let company: Company;
let other: Company;
let client: Api;
let stranger: Api;

beforeAll(async () => {
  billing.clock.set("2024-04-01T01:00:00Z");
  company = await billing.addCompany();
  other = await billing.addCompany();
  client = await company.addUser("client", company.client_id);
  stranger = await company.addUser("client", await company.addClient());
});

const JANUARY = { started_at: "2024-01-01T00:00:00Z" };

async function preview(id: number): Promise<Json> {
  const { status, body } = await company.api("GET", `/subscriptions/${id}/preview`);
  expect(status).toBe(200);
  return body.data;
}

async function verified(id: number): Promise<Json> {
  const { status, body } = await company.api("GET", `/billing-records/${id}/verify`);
  expect(status).toBe(200);
  return body.data;
}

describe("a preview", () => {
  test("has the running period's lines so far, and is what is then billed", async () => {
    billing.clock.set("2024-04-10T00:00:00Z");
    const id = await company.subscribe({ ...GRADUATED, price: 30 }, { started_at: "2024-04-04T00:00:00Z" });
    await company.use(id, ["2024-04-05T00:00:00Z", "10"]);
    const bounds = { from: "2024-04-01T00:00:00.000Z", to: "2024-05-01T00:00:00.000Z", currency: "EUR" };
    const early = await preview(id);
    expect(early).toMatchObject({ ...bounds, total: "129.00" });
    expect(early.lines.map((line: Json) => [line.kind, line.amount])).toEqual([
      ["fee", "27.00"],
      ["usage", "102.00"],
    ]);
    await company.use(id, ["2024-04-09T00:00:00Z", "1"]);
    const last = await preview(id);
    expect(last.total).toBe("137.00");
    expect(await company.records(id)).toEqual([]);

    billing.clock.set("2024-05-01T01:00:00Z");
    const { records } = await company.run({ period: "2024-04", subscription_ids: [id] });
    expect(records[0].lines).toEqual(last.lines);
    expect(records[0].totalCharges).toBe(last.total);
    expect(await preview(id)).toMatchObject({
      from: bounds.to,
      to: "2024-06-01T00:00:00.000Z",
      total: "30.00",
    });
  });

  test("follows the anchor day and the company's zone", async () => {
    billing.clock.set("2024-04-30T15:59:59.999Z");
    const local = await billing.addCompany({ timezone: "Asia/Kuala_Lumpur" });
    const id = await local.subscribe(FLAT, { ...JANUARY, billing_anchor_day: 31 });
    const bounds = async () => {
      const { from, to } = (await local.api("GET", `/subscriptions/${id}/preview`)).body.data;
      return [from, to];
    };
    expect(await bounds()).toEqual(["2024-04-29T16:00:00.000Z", "2024-05-30T16:00:00.000Z"]);
    billing.clock.set("2024-04-29T15:59:59.999Z");
    expect(await bounds()).toEqual(["2024-03-30T16:00:00.000Z", "2024-04-29T16:00:00.000Z"]);
  });

  test("of a cancelled subscription is of its last period, of one to come of its first", async () => {
    billing.clock.set("2024-03-15T12:00:00Z");
    const ended = await company.subscribe({ ...PER_UNIT, recurring_fee: "31", price: 1 }, JANUARY);
    const never = await company.subscribe(FLAT, { started_at: "2024-07-16T00:00:00Z" });
    const coming = await company.subscribe(FLAT, { started_at: "2024-07-16T00:00:00Z" });
    const at_end = await company.subscribe(FLAT, JANUARY);
    const cancel = (of: number, at: string) => company.api("POST", `/subscriptions/${of}/cancel`, { at });
    for (const id of [ended, never]) expect((await cancel(id, "now")).status).toBe(200);
    expect((await cancel(at_end, "period_end")).status).toBe(200);
    await company.use(ended, ["2024-03-15T11:59:59.999Z", "3"], ["2024-03-15T12:00:00Z", "500"]);
    billing.clock.set("2024-06-10T00:00:00Z");
    expect(await preview(ended)).toMatchObject({ from: "2024-03-01T00:00:00.000Z", total: "18.00" });
    expect(await preview(at_end)).toMatchObject({ from: "2024-03-01T00:00:00.000Z", total: "31.00" });
    expect(await preview(coming)).toMatchObject({ from: "2024-07-01T00:00:00.000Z", total: "16.00" });
    expect(await preview(never)).toEqual({
      from: "2024-07-01T00:00:00.000Z",
      to: "2024-08-01T00:00:00.000Z",
      lines: [],
      total: "0.00",
      currency: "EUR",
    });
  });

  test("is the client's own under /my, and nobody else's", async () => {
    const id = await company.subscribe(CREDIT, JANUARY);
    const mine = await client("GET", `/my/subscriptions/${id}/preview`);
    expect(mine).toMatchObject({ status: 200, body: { data: await preview(id) } });
    expect((await stranger("GET", `/my/subscriptions/${id}/preview`)).status).toBe(404);
    expect((await other.api("GET", `/subscriptions/${id}/preview`)).status).toBe(404);
    expect((await client("GET", `/subscriptions/${id}/preview`)).status).toBe(403);
    expect((await company.api("GET", `/my/subscriptions/${id}/preview`)).status).toBe(403);
    expect((await billing.service.anonymous("GET", `/subscriptions/${id}/preview`)).status).toBe(401);
    expect((await company.api("GET", "/subscriptions/9007199254740991/preview")).status).toBe(404);
    expect((await company.api("GET", "/subscriptions/0/preview")).status).toBe(422);
    const analyst = await company.addUser("analyst");
    expect((await analyst("GET", `/subscriptions/${id}/preview`)).status).toBe(200);
  });
});

describe("verifying a record", () => {
  const months = async (id: number) => {
    const records = await company.records(id);
    return Promise.all(records.map(async (record) => (await verified(record.id)).matches));
  };

  test("counts its events again, and stays true when usage arrives later", async () => {
    billing.clock.set("2024-04-01T01:00:00Z");
    const id = await company.subscribe(PER_UNIT, JANUARY);
    await company.use(id, ["2024-03-10T00:00:00Z", "10"], ["2024-03-11T00:00:00Z", "0.5"]);
    const run = () => company.run({ period: "2024-03", subscription_ids: [id] });
    const [record] = (await run()).records;
    const [line] = record.lines;
    const proof = { quantity: "10.5", event_count: 2, usage_digest: line.usage_digest };
    const { billing_model_id, from, to } = line;
    const lines = [{ billing_model_id, from, to, expected: proof, actual: proof }];
    const told = { matches: true, lines, differences: [] };
    expect(await verified(record.id)).toEqual(told);

    billing.clock.set("2024-04-02T00:00:00Z");
    await company.use(id, ["2024-03-12T00:00:00Z", "-20"]);
    expect(await verified(record.id)).toEqual(told);
    const [adjustment] = (await run()).records;
    expect(adjustment).toMatchObject({ kind: "adjustment", totalCharges: "-5.25" });
    expect((await verified(adjustment.id)).lines[0].expected).toEqual({
      quantity: "-10.5",
      event_count: 1,
      usage_digest: adjustment.lines[0].usage_digest,
    });
    // Corrections beyond what they correct are rated as zero, which later usage fills up first.
    for (const [day, units] of [
      ["03", "4"],
      ["04", "8"],
    ] as const) {
      billing.clock.set(`2024-04-${day}T00:00:00Z`);
      await company.use(id, ["2024-03-13T00:00:00Z", units]);
      await run();
    }
    expect(await months(id)).toEqual([true, true, true, true]);
  });

  test("counts no event that was sent before the record and stored after it", async () => {
    billing.clock.set("2024-04-01T01:00:00Z");
    const id = await company.subscribe(PER_UNIT, JANUARY);
    await company.use(id, ["2024-03-10T00:00:00Z", "10"]);
    const run = () => company.run({ period: "2024-03", subscription_ids: [id] });
    await run();
    // Its request began earlier, in the same millisecond and a minute before: it waited for its commit.
    await company.use(id, ["2024-03-11T00:00:00Z", "4"]);
    billing.clock.set("2024-04-01T00:59:00Z");
    await company.use(id, ["2024-03-12T00:00:00Z", "2"]);
    billing.clock.set("2024-04-01T01:00:00Z");
    expect(await months(id)).toEqual([true]);
    await run();
    const records = await company.records(id);
    expect(records.map(({ kind, totalCharges }) => [kind, totalCharges])).toEqual([
      ["period", "5.00"],
      ["adjustment", "3.00"],
    ]);
    expect(await months(id)).toEqual([true, true]);
    expect((await verified(records[1].id)).lines[0].actual.event_count).toBe(2);
  });

  test("holds of two runs at once, whichever asked first: neither takes back what the other knows", async () => {
    billing.clock.set("2024-04-01T01:00:00Z");
    const id = await company.subscribe(PER_UNIT, JANUARY);
    await company.use(id, ["2024-03-10T00:00:00Z", "10"]);
    const run = () => company.run({ period: "2024-03", subscription_ids: [id] });
    const end = interceptTotals(billing.service, async (count, ...question) => {
      end();
      const counted = await count(...question);
      await company.use(id, ["2024-03-11T00:00:00Z", "4"]);
      expect((await run()).counts).toMatchObject({ periods: 1 });
      return counted;
    });
    try {
      expect((await run()).counts).toMatchObject({ periods: 0, adjustments: 0, unchanged: 1 });
    } finally {
      end();
    }
    expect((await company.records(id)).map(({ totalCharges }) => totalCharges)).toEqual(["7.00"]);
    expect(await months(id)).toEqual([true]);
  });

  test("goes by the instant alone where a record has no number", async () => {
    billing.clock.set("2024-04-01T01:00:00Z");
    const id = await company.subscribe(PER_UNIT, JANUARY);
    await company.use(id, ["2024-03-10T00:00:00Z", "10"]);
    const run = () => company.run({ period: "2024-03", subscription_ids: [id] });
    await run();
    await billing.service.deps.store.tx(async (q) => {
      const billing_records = q.use(billingRecordTable);
      await q.update(billing_records).set({ usage_seq: null }).where(eq(billing_records.subscription_id, id));
    });
    billing.clock.set("2024-04-02T00:00:00Z");
    await company.use(id, ["2024-03-11T00:00:00Z", "4"]);
    await run();
    expect(await months(id)).toEqual([true, true]);
  });

  test("holds where a stretch is taken back and charged anew", async () => {
    billing.clock.set("2024-04-01T01:00:00Z");
    const id = await company.subscribe(PER_UNIT, JANUARY);
    await company.use(id, ["2024-03-10T00:00:00Z", "10"]);
    const run = () => company.run({ period: "2024-03", subscription_ids: [id] });
    await run();
    const { store } = billing.service.deps;
    const startAt = (started_at: string) =>
      store.tx(async (q) => {
        const subscriptions = q.use(subscriptionTable);
        await q.update(subscriptions).set({ started_at }).where(eq(subscriptions.id, id));
      });
    // A start that moves stands for any retroactive change: the stretch on record is expected no more.
    for (const [day, start] of [
      ["02", "2024-03-05"],
      ["03", "2024-01-01"],
      ["04", "2024-03-05"],
    ] as const) {
      billing.clock.set(`2024-04-${day}T00:00:00Z`);
      await company.use(id, ["2024-03-20T00:00:00Z", day]);
      await startAt(`${start}T00:00:00.000Z`);
      await run();
    }
    const records = await company.records(id);
    expect(records).toHaveLength(4);
    expect(records.map(({ totalCharges }) => totalCharges)).toEqual(["5.00", "1.00", "1.50", "2.00"]);
    expect(await months(id)).toEqual([true, true, true, true]);
    const counts = (await verified(records[1].id)).lines.map((line: Json) => line.expected.event_count);
    expect(counts).toEqual([-1, 2]);
  });

  test("of a record without usage lines finds nothing to doubt", async () => {
    billing.clock.set("2024-04-01T01:00:00Z");
    const id = await company.subscribe(FLAT, JANUARY);
    const [record] = (await company.run({ period: "2024-03", subscription_ids: [id] })).records;
    expect(await verified(record.id)).toEqual({ matches: true, lines: [], differences: [] });
  });

  test("is for company users, of their own company's records", async () => {
    const [{ id }] = (await company.api("GET", "/billing-records?limit=1")).body.data;
    const analyst = await company.addUser("analyst");
    expect((await analyst("GET", `/billing-records/${id}/verify`)).status).toBe(200);
    expect((await other.api("GET", `/billing-records/${id}/verify`)).status).toBe(404);
    expect((await client("GET", `/billing-records/${id}/verify`)).status).toBe(403);
    expect((await company.api("GET", "/billing-records/x/verify")).status).toBe(422);
  });
});
