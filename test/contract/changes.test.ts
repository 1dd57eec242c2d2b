import { beforeAll, describe, expect, test } from "bun:test";
import { type Json, TestClock, useService } from "../support/harness.ts";
import { addCatalog, subscribe } from "../billing/subscriptions/fixtures.ts";
import { DATE_TIME, expectList, expectShape, type Shape, stamps } from "./shapes.ts";

// The rows of the interface document on credits and on changes of billing models, as in interface.test.ts.

const clock = new TestClock("2026-03-10T12:00:00Z");
const ids: Record<string, number> = {};

const service = useService({ clock });

beforeAll(async () => {
  const catalog = await addCatalog(service);
  const started_at = "2026-01-20T00:00:00Z";
  ids.client = catalog.client_id;
  ids.product = catalog.product_id;
  ids.billing_model = catalog.billing_model_id;
  ids.subscription = (await subscribe(service.api, catalog, { started_at })).id;
});

/** Its fields are not shown there: those that the state table names. */
const BillingModelChange: Shape = {
  id: "integer",
  subscription_id: "integer",
  new_billing_model_id: "integer",
  status: /^(scheduled|applied|cancelled)$/,
  effective_at: DATE_TIME,
  ...stamps,
};
describe("Company: credits", () => {
  /** A credit plan with so many credits a month. */
  const addPlan = async (monthly_credits: number): Promise<number> => {
    const credit_plan = { monthly_credits, credit_consumption: "per_unit", overage_rate: "0.02" };
    const model = { billing_type_id: 6, name: "Credits", price: 10, currency: "USD", description: "" };
    return (await service.api("POST", "/billing-models", { ...model, credit_plan })).body.data.id;
  };
  const turn = (way: "upgrade" | "downgrade", new_billing_model_id: unknown) =>
    service.api("POST", `/subscriptions/${ids.credit_subscription}/${way}`, { new_billing_model_id });

  test("GET /subscriptions/{id}/credits", async () => {
    const { body } = await service.api("POST", "/subscriptions", {
      name: "Credits",
      external_subscription_id: "acme-credits",
      product_id: ids.product,
      client_id: ids.client,
      billing_model_id: await addPlan(1000),
      started_at: "2026-03-01T00:00:00Z",
    });
    ids.credit_subscription = body.data.id;
    const balance = await service.api("GET", `/subscriptions/${ids.credit_subscription}/credits`);
    expect(balance).toMatchObject({ status: 200 });
    expect(balance.body).toEqual({
      data: {
        allocated: 1000,
        used: 0,
        remaining: 1000,
        overageUsed: 0,
        overageRate: 0.02,
        creditConsumption: "per_unit",
        planName: "Credits",
        currency: "USD",
      },
    });
    const other = await service.api("GET", `/subscriptions/${ids.subscription}/credits`);
    expect(other).toMatchObject({ status: 400, body: { error: expect.any(String) } });
  });
  test("POST /subscriptions/{id}/upgrade", async () => {
    const answer = await turn("upgrade", await addPlan(2000));
    expect(answer.status).toBe(200);
    expectShape(answer.body.data, BillingModelChange);
    expect(answer.body.data).toMatchObject({ kind: "upgrade", status: "applied" });
    expect((await turn("upgrade", await addPlan(2000))).status).toBe(422);
    expect((await turn("upgrade", undefined)).body.details[0].path).toBe("/new_billing_model_id");
  });
  test("POST /subscriptions/{id}/downgrade", async () => {
    const answer = await turn("downgrade", await addPlan(500));
    expect(answer.status).toBe(200);
    expectShape(answer.body.data, BillingModelChange);
    expect(answer.body.data).toMatchObject({
      kind: "downgrade",
      status: "scheduled",
      effective_at: "2026-04-01T00:00:00.000Z",
    });
    expect((await turn("downgrade", await addPlan(2000))).status).toBe(422);
    expect((await turn("downgrade", undefined)).body.details[0].path).toBe("/new_billing_model_id");
  });
});

describe("Company: billing model changes", () => {
  const path = () => `/subscriptions/${ids.subscription}/billing-model-changes`;
  const change = (new_billing_model_id: unknown, effective_at: unknown) =>
    service.api("POST", path(), { new_billing_model_id, effective_at });

  test("POST /subscriptions/{id}/billing-model-changes", async () => {
    const model = { billing_type_id: 1, name: "Flat", price: 5, currency: "USD", description: "" };
    const flat = (await service.api("POST", "/billing-models", model)).body.data.id;
    const applied = await change(flat, "2026-03-10T12:00:00Z");
    expect([applied.status, applied.body.data.status]).toEqual([200, "applied"]);
    expectShape(applied.body.data, BillingModelChange);
    const scheduled = await change(ids.billing_model, "2026-03-20T00:00:00Z");
    expect([scheduled.status, scheduled.body.data.status]).toEqual([200, "scheduled"]);
    ids.change = scheduled.body.data.id;
    const refused = [await change(flat, "2026-03-15T00:00:00Z"), await change(flat, "2026-03-20T00:00:00Z")];
    expect(refused.map(({ status }) => status)).toEqual([422, 422]);
    expect((await change(undefined, "2026-03-20T00:00:00Z")).status).toBe(422);
    expect((await change(flat, undefined)).status).toBe(422);
  });
  test("GET /subscriptions/{id}/billing-model-changes", async () => {
    const { status, body } = await service.api("GET", path());
    expect(status).toBe(200);
    expectList(body, BillingModelChange);
    expect(body.data.map((one: Json) => one.status)).toEqual(["applied", "scheduled"]);
  });
  test("DELETE /subscriptions/{id}/billing-model-changes/{changeId}", async () => {
    const { status, body } = await service.api("DELETE", `${path()}/${ids.change}`);
    expect([status, body.data.status]).toEqual([200, "cancelled"]);
    expect((await service.api("DELETE", `${path()}/${ids.change}`)).status).toBe(404);
  });
});
