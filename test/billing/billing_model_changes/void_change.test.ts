import { beforeAll, describe, expect, test } from "bun:test";
import { sum } from "../../../src/core/money.ts";
import type { Answer, Json } from "../../support/harness.ts";
import { type Company, CREDIT, FLAT, PER_UNIT, useBilling } from "../fixtures.ts";
import { tally } from "../subscriptions/fixtures.ts";
import { addFlatModels, changeTo, changesOf, eventsOf, applyDueChanges } from "./fixtures.ts";

// POST /subscriptions/{id}/billing-model-changes/{changeId}/void

let company: Company;
/** Flat models of 10, 20 and 30 EUR a month. */
let ten: number;
let twenty: number;
let thirty: number;

const NOW = "2024-04-20T12:00:00.000Z";
const MARCH = { started_at: "2024-03-01T00:00:00Z" };

const billing = useBilling();

beforeAll(async () => {
  billing.clock.set(NOW);
  ({ company, ten, twenty, thirty } = await addFlatModels(billing));
});

const change = async (id: number, model: number, at: string): Promise<Json> => {
  const { status, body } = await changeTo(company.api, id, model, at);
  expect(status, JSON.stringify(body)).toBe(200);
  return body.data;
};
const pathOf = (id: number, change_id: number) => `/subscriptions/${id}/billing-model-changes/${change_id}`;
const voided = (id: number, change_id: number): Promise<Answer> =>
  company.api("POST", `${pathOf(id, change_id)}/void`, {});
const modelOf = async (id: number) =>
  (await company.api("GET", `/subscriptions/${id}`)).body.data.billing_model_id;
const totalOf = async (id: number) =>
  sum((await company.records(id)).map(({ totalCharges }: Json) => totalCharges));
const stepsOf = async (id: number) =>
  (await changesOf(company.api, id)).map((one: Json) => [
    one.status,
    one.voided_at !== null,
    one.old_billing_model_id,
    one.new_billing_model_id,
  ]);
const billMarch = (id: number) => company.run({ period: "2024-03", subscription_ids: [id] });

describe("a voided change", () => {
  test("is as if it had not been: closed periods are adjusted, the log and an event tell of it", async () => {
    billing.clock.set(NOW);
    const id = await company.subscribe(ten, MARCH);
    await billMarch(id);
    const made = await change(id, twenty, "2024-03-15T09:00:00Z");
    expect(await totalOf(id)).toBe("15.49");
    const { status, body } = await voided(id, made.id);
    expect(status, JSON.stringify(body)).toBe(200);
    const [, , third] = await company.records(id);
    expect(body.data).toEqual({
      ...made,
      status: "cancelled",
      cancelled_at: NOW,
      voided_at: NOW,
      adjustment_billing_record_ids: [...made.adjustment_billing_record_ids, third?.id],
    });
    expect([await totalOf(id), await modelOf(id)]).toEqual(["10", ten]);
    expect(await changesOf(company.api, id)).toEqual([body.data]);
    expect(await eventsOf(billing.service, company, id)).toEqual([
      "billing_model_change.applied",
      "billing_model_change.voided",
    ]);
    const { data } = (await company.api("GET", "/audit-log?operation=void_billing_model_change&limit=1"))
      .body;
    expect(data[0]).toMatchObject({
      operation: "void_billing_model_change",
      target: { type: "billing_model_change", id: made.id },
      changes: expect.objectContaining({ status: { old: "applied", new: "cancelled" } }),
    });
    for (const record of await company.records(id)) {
      const proof = await company.api("GET", `/billing-records/${record.id}/verify`);
      expect(proof.body.data.matches).toBeTrue();
    }
    expect((await billMarch(id)).counts).toMatchObject({ adjustments: 0, unchanged: 1 });
    // Its instant is free again.
    await change(id, thirty, "2024-03-15T09:00:00Z");
  });

  test("leaves the changes after it, which take over from the model before it", async () => {
    billing.clock.set(NOW);
    const id = await company.subscribe(ten, MARCH);
    const first = await change(id, twenty, "2024-03-10T00:00:00Z");
    await change(id, thirty, "2024-03-21T00:00:00Z");
    await change(id, ten, "2024-05-01T00:00:00Z");
    expect((await voided(id, first.id)).status).toBe(200);
    expect(await stepsOf(id)).toEqual([
      ["cancelled", true, ten, twenty],
      ["applied", false, ten, thirty],
      ["scheduled", false, thirty, ten],
    ]);
    await billMarch(id);
    // 20 days of 10, 11 of 30.
    expect([await totalOf(id), await modelOf(id)]).toEqual(["17.1", thirty]);
  });

  test("takes those with it that would then change nothing: an applied one is voided, a scheduled one cancelled", async () => {
    billing.clock.set(NOW);
    const id = await company.subscribe(ten, MARCH);
    const first = await change(id, twenty, "2024-03-10T00:00:00Z");
    await change(id, ten, "2024-03-21T00:00:00Z");
    const other = await company.subscribe(ten, MARCH);
    const only = await change(other, twenty, "2024-03-10T00:00:00Z");
    await change(other, ten, "2024-05-01T00:00:00Z");
    expect((await voided(id, first.id)).body.data.id).toBe(first.id);
    expect((await voided(other, only.id)).status).toBe(200);
    expect(await stepsOf(id)).toEqual([
      ["cancelled", true, ten, twenty],
      ["cancelled", true, twenty, ten],
    ]);
    expect(await stepsOf(other)).toEqual([
      ["cancelled", true, ten, twenty],
      ["cancelled", false, twenty, ten],
    ]);
    expect([await modelOf(id), await modelOf(other)]).toEqual([ten, ten]);
  });

  test("may be at the very start, or of a subscription that has ended", async () => {
    billing.clock.set("2024-03-20T12:00:00Z");
    const id = await company.subscribe(ten, MARCH);
    const made = await change(id, twenty, MARCH.started_at);
    await company.api("POST", `/subscriptions/${id}/cancel`, { at: "period_end" });
    billing.clock.set(NOW);
    await billMarch(id);
    expect(await totalOf(id)).toBe("20");
    expect((await voided(id, made.id)).status).toBe(200);
    expect([await totalOf(id), await modelOf(id)]).toEqual(["10", ten]);
  });

  test("gives the credits of an upgrade back: what was used of them is overage", async () => {
    billing.clock.set("2024-03-15T10:00:00Z");
    const small = await company.addModel({ ...CREDIT, price: 31, name: "Small" });
    const plan = { ...CREDIT.credit_plan, monthly_credits: 1000 };
    const large = await company.addModel({ ...CREDIT, price: 62, name: "Large", credit_plan: plan });
    const middle = await company.addModel({
      ...CREDIT,
      price: 40,
      name: "Middle",
      credit_plan: { ...plan, monthly_credits: 500 },
    });
    const id = await company.subscribe(small, MARCH);
    const { data } = (
      await company.api("POST", `/subscriptions/${id}/upgrade`, { new_billing_model_id: large })
    ).body;
    const way = `/subscriptions/${id}/downgrade`;
    expect((await company.api("POST", way, { new_billing_model_id: middle })).status).toBe(200);
    await company.use(id, ["2024-03-15T10:00:00Z", "550"]);
    const balance = async () => (await company.api("GET", `/subscriptions/${id}/credits`)).body.data;
    expect(await balance()).toMatchObject({ allocated: 594, used: 550, overageUsed: 0 });
    expect((await voided(id, data.id)).status).toBe(200);
    expect(await balance()).toMatchObject({ allocated: 100, used: 100, overageUsed: 450 });
    // From Small on, Middle is no downgrade any more.
    expect(await stepsOf(id)).toEqual([
      ["cancelled", true, small, large],
      ["cancelled", false, large, middle],
    ]);
    billing.clock.set(NOW);
    await billMarch(id);
    expect(await totalOf(id)).toBe("40");
  });
});

describe("a void is refused", () => {
  test("of a change that is not applied, or is voided already: 409; DELETE of an applied one stays a 404", async () => {
    billing.clock.set(NOW);
    const id = await company.subscribe(ten, MARCH);
    const applied = await change(id, twenty, "2024-03-10T00:00:00Z");
    const scheduled = await change(id, thirty, "2024-05-01T00:00:00Z");
    expect(await voided(id, scheduled.id)).toMatchObject({
      status: 409,
      body: { error: expect.stringContaining("it is scheduled, and can be cancelled") },
    });
    await company.api("DELETE", pathOf(id, scheduled.id));
    expect((await voided(id, scheduled.id)).body.error).toContain("it was cancelled before");
    expect((await company.api("DELETE", pathOf(id, applied.id))).status).toBe(404);
    await voided(id, applied.id);
    expect((await voided(id, applied.id)).body.error).toContain("it is voided already");
    expect((await company.api("DELETE", pathOf(id, applied.id))).status).toBe(404);
  });

  test("where a model that was deleted would be in force again", async () => {
    billing.clock.set(NOW);
    const gone = await company.addModel({ ...FLAT, name: "Gone" });
    const id = await company.subscribe(gone, MARCH);
    const made = await change(id, twenty, "2024-03-10T00:00:00Z");
    expect((await company.api("DELETE", `/billing-models/${gone}`)).status).toBe(200);
    expect(await voided(id, made.id)).toMatchObject({
      status: 409,
      body: { error: expect.stringContaining(`billing model ${gone}, which would be in force again`) },
    });
    expect(await stepsOf(id)).toEqual([["applied", false, gone, twenty]]);
  });

  test("to whoever may not make it, and of what is not there", async () => {
    billing.clock.set(NOW);
    const id = await company.subscribe(ten, MARCH);
    const made = await change(id, twenty, "2024-03-10T00:00:00Z");
    const path = `${pathOf(id, made.id)}/void`;
    const other = await billing.addCompany();
    const analyst = await company.addUser("analyst");
    const client = await company.addUser("client", company.client_id);
    const statuses = [
      await billing.service.anonymous("POST", path, {}),
      await analyst("POST", path, {}),
      await client("POST", path, {}),
      await other.api("POST", path, {}),
      await voided(await company.subscribe(ten, MARCH), made.id),
      await voided(id, 999_999),
      await company.api("POST", `/subscriptions/${id}/billing-model-changes/x/void`, {}),
      await company.api("POST", path, { reason: "a mistake" }),
    ].map(({ status }) => status);
    expect(statuses).toEqual([401, 403, 403, 404, 404, 404, 422, 422]);
    expect(await stepsOf(id)).toEqual([["applied", false, ten, twenty]]);
  });
});

describe("at once", () => {
  test("of twenty voids one is made, and adjusts once", async () => {
    billing.clock.set(NOW);
    const id = await company.subscribe(ten, MARCH);
    await billMarch(id);
    const made = await change(id, twenty, "2024-03-15T09:00:00Z");
    const answers = await Promise.all(Array.from({ length: 20 }, () => voided(id, made.id)));
    expect(tally(answers)).toEqual({ 200: 1, 409: 19 });
    expect((await company.records(id)).length).toBe(3);
    expect(await totalOf(id)).toBe("10");
  });

  test("with runs, late usage and other changes the sums are those of the timeline that is left", async () => {
    const half = await company.addModel({ ...PER_UNIT, name: "Half" });
    const whole = await company.addModel({ ...PER_UNIT, name: "Whole", price: 1 });
    for (let round = 0; round < 8; round++) {
      billing.clock.set(NOW);
      const id = await company.subscribe(half, MARCH);
      await company.use(id, ["2024-03-20T00:00:00Z", "100"]);
      await billMarch(id);
      const made = await change(id, whole, "2024-03-10T00:00:00Z");
      const learn = async () => {
        for (let i = 0; i < 3; i++) {
          await company.use(id, ["2024-03-21T00:00:00Z", "10"]);
          await billMarch(id);
        }
      };
      const [, gone, , next] = await Promise.all([
        learn(),
        voided(id, made.id),
        applyDueChanges(billing.service),
        changeTo(company.api, id, ten, "2024-04-10T00:00:00Z"),
      ]);
      expect([gone.status, next.status], JSON.stringify([gone.body, next.body])).toEqual([200, 200]);
      await billMarch(id);
      expect(await totalOf(id)).toBe("65");
      expect(await modelOf(id)).toBe(ten);
    }
  });
});
