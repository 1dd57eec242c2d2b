import { beforeAll, describe, expect, test } from "bun:test";
import type { Answer, Json } from "../../support/harness.ts";
import { type Company, FLAT, GRADUATED, PER_UNIT, useBilling } from "../fixtures.ts";
import { addFlatModels, JANUARY, NOW, changeTo, changesOf, eventsOf, applyDueChanges } from "./fixtures.ts";

let company: Company;
/** Flat models of 10, 20 and 30 EUR a month. */
let ten: number;
let twenty: number;
let thirty: number;

const billing = useBilling();

beforeAll(async () => {
  billing.clock.set(NOW);
  ({ company, ten, twenty, thirty } = await addFlatModels(billing));
});

const change = (id: number, model: number, at: string) => changeTo(company.api, id, model, at);
const amounts = (records: Json[]) =>
  records.map(
    ({ kind, billingStartAt, totalCharges }) => `${kind} ${billingStartAt.slice(0, 7)} ${totalCharges}`,
  );
const problem = ({ status, body }: Answer) => [status, body.details?.[0]];

describe("a change now or in the past", () => {
  test("is applied in the request, and the subscription has the new model", async () => {
    billing.clock.set(NOW);
    const id = await company.subscribe(ten, JANUARY);
    const { status, body } = await change(id, twenty, "2024-03-15T00:00:00+00:00");
    expect(status).toBe(200);
    expect(body.data).toEqual({
      id: body.data.id,
      subscription_id: id,
      old_billing_model_id: ten,
      new_billing_model_id: twenty,
      kind: "change",
      status: "applied",
      effective_at: "2024-03-15T00:00:00.000Z",
      applied_at: NOW,
      cancelled_at: null,
      voided_at: null,
      requested_by: expect.any(Number),
      credits_added: null,
      adjustment_billing_record_ids: [],
      last_error: null,
      attempts: 0,
      created_at: NOW,
      updated_at: NOW,
    });
    const subscription = (await company.api("GET", `/subscriptions/${id}`)).body.data;
    expect([subscription.billing_model_id, subscription.billing_model.name]).toEqual([twenty, "Twenty"]);
    expect(await changesOf(company.api, id)).toEqual([body.data]);
    expect(await eventsOf(billing.service, company, id)).toEqual(["billing_model_change.applied"]);
    expect(
      (await company.api("DELETE", `/subscriptions/${id}/billing-model-changes/${body.data.id}`)).status,
    ).toBe(404);
  });

  test("10 → 20 on 15 March bills 4.52 + 10.97", async () => {
    billing.clock.set("2024-03-15T09:30:00Z");
    const id = await company.subscribe(ten, JANUARY);
    expect((await change(id, twenty, "2024-03-15T09:30:00Z")).status).toBe(200);
    billing.clock.set("2024-04-01T01:00:00Z");
    const [record] = (await company.run({ period: "2024-03", subscription_ids: [id] })).records;
    expect(record).toMatchObject({ totalCharges: "15.49", billing_model_id: twenty });
    expect(record.lines.map((line: Json) => [line.amount, line.proration, line.billing_model_id])).toEqual([
      ["4.52", { numerator: 14, denominator: 31 }, ten],
      ["10.97", { numerator: 17, denominator: 31 }, twenty],
    ]);
    billing.clock.set(NOW);
  });

  test("over closed periods adjusts each of them at once and names the adjustments", async () => {
    billing.clock.set("2024-05-10T00:00:00Z");
    const id = await company.subscribe(ten, JANUARY);
    await company.run({ subscription_ids: [id] });
    const { body } = await change(id, twenty, "2024-03-15T00:00:00Z");
    const records = await company.records(id);
    expect(amounts(records)).toEqual([
      "period 2024-01 10.00",
      "period 2024-02 10.00",
      "period 2024-03 10.00",
      "period 2024-04 10.00",
      "adjustment 2024-03 5.49",
      "adjustment 2024-04 10.00",
    ]);
    const named = records.slice(4).map((record) => record.id);
    expect(body.data.adjustment_billing_record_ids).toEqual(named);
    expect((await changesOf(company.api, id))[0].adjustment_billing_record_ids).toEqual(named);
    // What is on record says all: a run finds nothing to add.
    for (const period of ["2024-03", "2024-04"]) {
      const { counts } = await company.run({ period, subscription_ids: [id] });
      expect(counts).toMatchObject({ periods: 0, adjustments: 0, unchanged: 1, failed: 0 });
    }
    const [march] = records.slice(4);
    const { lines } = (await company.api("GET", `/billing-records/${march.id}`)).body.data;
    expect(lines.map((line: Json) => line.amount).toSorted()).toEqual(["-10.00", "10.97", "4.52"]);
    billing.clock.set(NOW);
  });

  test("parts the usage of a closed period by the exact instant of the change", async () => {
    billing.clock.set("2024-05-10T00:00:00Z");
    const metered = await company.subscribe({ ...PER_UNIT, price: 1 }, JANUARY);
    const tiered = await company.addModel(GRADUATED);
    await company.use(metered, ["2024-03-15T11:59:59.999Z", "7"], ["2024-03-15T12:00:00Z", "11"]);
    await company.run({ subscription_ids: [metered] });
    expect((await change(metered, tiered, "2024-03-15T12:00:00Z")).status).toBe(200);
    expect(amounts(await company.records(metered)).slice(2)).toEqual([
      "period 2024-03 18.00",
      "period 2024-04 0.00",
      "adjustment 2024-03 99.00",
    ]);
    billing.clock.set(NOW);
  });

  test.each([
    ["Asia/Kuala_Lumpur", "2024-03-14T16:00:00.000Z", "5.49"],
    ["Asia/Kuala_Lumpur", "2024-03-14T15:59:59.999Z", "5.80"],
    ["America/New_York", "2024-03-15T03:59:59.999Z", "5.80"],
    ["America/New_York", "2024-03-15T04:00:00.000Z", "5.49"],
  ])("counts its day where the company is: %s, %s", async (timezone, at, march) => {
    billing.clock.set("2024-05-10T00:00:00Z");
    const local = await billing.addCompany({ timezone });
    const id = await local.subscribe({ ...FLAT, price: 10 }, JANUARY);
    const dearer = await local.addModel({ ...FLAT, price: 20 });
    await local.run({ subscription_ids: [id] });
    const { body } = await changeTo(local.api, id, dearer, at);
    expect(body.data.adjustment_billing_record_ids).toHaveLength(2);
    const adjustments = (await local.records(id)).filter(({ kind }) => kind === "adjustment");
    expect(adjustments.map(({ totalCharges }) => totalCharges)).toEqual([march, "10.00"]);
    billing.clock.set(NOW);
  });

  test("several in turn adjust what the ones before have adjusted", async () => {
    billing.clock.set("2024-04-10T00:00:00Z");
    const id = await company.subscribe(ten, JANUARY);
    await company.run({ subscription_ids: [id] });
    await change(id, twenty, "2024-03-11T00:00:00Z");
    await change(id, thirty, "2024-03-21T00:00:00Z");
    await change(id, ten, "2024-03-31T00:00:00Z");
    const march = (await company.records(id)).filter(({ billingStartAt }) =>
      billingStartAt.startsWith("2024-03"),
    );
    // 10/31 of 10, 10/31 of 20, 10/31 of 30 and 1/31 of 10.
    const total = march.reduce((sum, { totalCharges }) => sum + Number(totalCharges), 0);
    expect(total.toFixed(2)).toBe((3.23 + 6.45 + 9.68 + 0.32).toFixed(2));
    billing.clock.set(NOW);
  });
});

describe("a change in the future", () => {
  test("is scheduled, applied when its time comes, and billed from then on", async () => {
    billing.clock.set(NOW);
    const id = await company.subscribe(ten, JANUARY);
    const { status, body } = await change(id, twenty, "2024-04-16T00:00:00Z");
    expect([status, body.data.status, body.data.applied_at]).toEqual([200, "scheduled", null]);
    expect((await company.api("GET", `/subscriptions/${id}`)).body.data.billing_model_id).toBe(ten);
    billing.clock.set("2024-04-15T23:59:59.999Z");
    await applyDueChanges(billing.service);
    expect((await changesOf(company.api, id))[0].status).toBe("scheduled");
    billing.clock.set("2024-04-16T00:00:01Z");
    await applyDueChanges(billing.service);
    await applyDueChanges(billing.service);
    const applied = { ...body.data, status: "applied", applied_at: "2024-04-16T00:00:01.000Z" };
    expect(await changesOf(company.api, id)).toEqual([
      { ...applied, updated_at: "2024-04-16T00:00:01.000Z" },
    ]);
    expect((await company.api("GET", `/subscriptions/${id}`)).body.data.billing_model_id).toBe(twenty);
    expect(await eventsOf(billing.service, company, id)).toEqual([
      "billing_model_change.scheduled",
      "billing_model_change.applied",
    ]);
    billing.clock.set("2024-05-01T01:00:00Z");
    const { records } = await company.run({ period: "2024-04", subscription_ids: [id] });
    expect(records[0].totalCharges).toBe("15.00");
    billing.clock.set(NOW);
  });

  test("missed for months is applied in order, before the months that it reaches into are billed", async () => {
    billing.clock.set(NOW);
    const id = await company.subscribe(ten, JANUARY);
    await change(id, thirty, "2024-06-01T00:00:00Z");
    await change(id, twenty, "2024-05-01T00:00:00Z");
    billing.clock.set("2024-07-02T00:00:00Z");
    await company.run({ subscription_ids: [id] });
    await applyDueChanges(billing.service);
    const changes = await changesOf(company.api, id);
    expect(
      changes.map((one: Json) => [one.old_billing_model_id, one.new_billing_model_id, one.status]),
    ).toEqual([
      [ten, twenty, "applied"],
      [twenty, thirty, "applied"],
    ]);
    expect(amounts(await company.records(id)).slice(4)).toEqual([
      "period 2024-05 20.00",
      "period 2024-06 30.00",
    ]);
    expect(changes.map((one: Json) => one.adjustment_billing_record_ids.length)).toEqual([0, 0]);
    billing.clock.set(NOW);
  });

  test("that is due is applied before a new one is made", async () => {
    billing.clock.set(NOW);
    const id = await company.subscribe(ten, JANUARY);
    await change(id, twenty, "2024-03-21T00:00:00Z");
    billing.clock.set("2024-03-22T00:00:00Z");
    expect(problem(await change(id, twenty, "2024-03-22T00:00:00Z"))[0]).toBe(422);
    expect((await change(id, ten, "2024-03-22T00:00:00Z")).status).toBe(200);
    expect((await changesOf(company.api, id)).map((one: Json) => one.status)).toEqual(["applied", "applied"]);
    billing.clock.set(NOW);
  });

  test("is cancelled once, and a change that would then do nothing goes with it", async () => {
    billing.clock.set(NOW);
    const id = await company.subscribe(ten, JANUARY);
    const [b, a, c] = [
      (await change(id, twenty, "2024-04-01T00:00:00Z")).body.data,
      (await change(id, ten, "2024-05-01T00:00:00Z")).body.data,
      (await change(id, thirty, "2024-06-01T00:00:00Z")).body.data,
    ];
    const path = `/subscriptions/${id}/billing-model-changes/${b.id}`;
    const { status, body } = await company.api("DELETE", path);
    expect(status).toBe(200);
    expect(body.data).toEqual({ ...b, status: "cancelled", cancelled_at: NOW });
    expect((await company.api("DELETE", path)).status).toBe(404);
    const changes = await changesOf(company.api, id);
    expect(changes.map((one: Json) => [one.id, one.status, one.old_billing_model_id])).toEqual([
      [b.id, "cancelled", ten],
      [a.id, "cancelled", twenty],
      [c.id, "scheduled", ten],
    ]);
    expect((await eventsOf(billing.service, company, id)).slice(3)).toEqual([
      "billing_model_change.cancelled",
      "billing_model_change.cancelled",
    ]);
    // Its instant is free again.
    expect((await change(id, twenty, "2024-04-01T00:00:00Z")).status).toBe(200);
    expect((await changesOf(company.api, id)).at(-1)).toMatchObject({
      id: c.id,
      old_billing_model_id: twenty,
    });
  });

  test("after the end of a subscription is cancelled with it", async () => {
    billing.clock.set(NOW);
    const id = await company.subscribe(ten, JANUARY);
    await change(id, twenty, "2024-03-25T00:00:00Z");
    await change(id, thirty, "2024-04-01T00:00:00Z");
    await change(id, ten, "2024-04-02T00:00:00Z");
    await company.api("POST", `/subscriptions/${id}/cancel`, { at: "period_end" });
    const statuses = async () => (await changesOf(company.api, id)).map((one: Json) => one.status);
    expect(await statuses()).toEqual(["scheduled", "cancelled", "cancelled"]);
    await company.api("POST", `/subscriptions/${id}/cancel`, { at: "now" });
    expect(await statuses()).toEqual(["cancelled", "cancelled", "cancelled"]);
  });

  test("keeps its model from being deleted, and its price from being changed", async () => {
    billing.clock.set(NOW);
    const id = await company.subscribe(ten, JANUARY);
    const model = await company.addModel({ ...FLAT, price: 5 });
    const path = `/billing-models/${model}`;
    const reprice = () => company.api("PUT", path, { name: "x", description: "", price: 6 });
    const made = (await change(id, model, "2024-04-16T00:00:00Z")).body.data;
    expect([(await company.api("DELETE", path)).status, (await reprice()).status]).toEqual([409, 409]);
    await company.api("DELETE", `/subscriptions/${id}/billing-model-changes/${made.id}`);
    expect([(await reprice()).status, (await company.api("DELETE", path)).status]).toEqual([409, 200]);
  });
});

describe("GET billing-model-changes", () => {
  test("is ordered by effective_at, then id, whole or by page, for clients their own", async () => {
    billing.clock.set(NOW);
    const id = await company.subscribe(ten, JANUARY);
    const first = (await change(id, twenty, "2024-05-01T00:00:00Z")).body.data;
    await company.api("DELETE", `/subscriptions/${id}/billing-model-changes/${first.id}`);
    const second = (await change(id, twenty, "2024-05-01T00:00:00Z")).body.data;
    const third = (await change(id, thirty, "2024-04-01T00:00:00Z")).body.data;
    const base = `/subscriptions/${id}/billing-model-changes`;
    const ids = ({ body }: Answer) => body.data.map((one: Json) => one.id);
    const whole = await company.api("GET", base);
    expect(ids(whole)).toEqual([third.id, first.id, second.id]);
    expect(whole.body.meta).toBeUndefined();
    const page = await company.api("GET", `${base}?page=2&limit=2`);
    expect([ids(page), page.body.meta]).toEqual([
      [second.id],
      { page: 2, limit: 2, total: 3, total_pages: 2 },
    ]);
    expect((await company.api("GET", `${base}?status=applied`)).status).toBe(422);

    const mine = await company.addUser("client", company.client_id);
    const theirs = await company.addUser("client", await company.addClient());
    expect((await mine("GET", `/my${base}`)).body).toEqual(whole.body);
    expect((await theirs("GET", `/my${base}`)).status).toBe(404);
    expect((await mine("GET", base)).status).toBe(403);
    expect((await company.api("GET", `/my${base}`)).status).toBe(403);
    const analyst = await company.addUser("analyst");
    expect((await analyst("GET", base)).status).toBe(200);
    expect((await analyst("POST", base, { new_billing_model_id: ten, effective_at: NOW })).status).toBe(403);
    expect((await analyst("DELETE", `${base}/${second.id}`)).status).toBe(403);
  });
});
