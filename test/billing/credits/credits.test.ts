import { beforeAll, describe, expect, test } from "bun:test";
import type { Json } from "../../support/harness.ts";
import { type Company, FLAT, useBilling } from "../fixtures.ts";
import { JANUARY, NOW, plan } from "./fixtures.ts";

let company: Company;
/** Plans of 1,000 and 2,000 credits a month. */
let middle: number;
let large: number;

const billing = useBilling();

beforeAll(async () => {
  billing.clock.set(NOW);
  company = await billing.addCompany();
  middle = await company.addModel(plan(1000));
  large = await company.addModel(plan(2000));
});

const credits = (id: number) => company.api("GET", `/subscriptions/${id}/credits`);
const balance = async (id: number) => (await credits(id)).body.data;
const turn = (way: "upgrade" | "downgrade", id: number, new_billing_model_id: number) =>
  company.api("POST", `/subscriptions/${id}/${way}`, { new_billing_model_id });

describe("GET credits", () => {
  test("answers the balance of the running month, to the letter", async () => {
    billing.clock.set(NOW);
    const id = await company.subscribe(middle, JANUARY);
    expect(await credits(id)).toMatchObject({ status: 200 });
    await company.use(
      id,
      ["2024-02-29T23:59:59.999Z", "5000"],
      ["2024-03-01T00:00:00Z", "100.25"],
      [NOW, "0.5"],
    );
    expect((await credits(id)).body).toEqual({
      data: {
        allocated: 1000,
        used: 101,
        remaining: 899,
        overageUsed: 0,
        overageRate: 0.02,
        creditConsumption: "per_unit",
        planName: "Plan 1000",
        currency: "EUR",
      },
    });
    await company.use(id, [NOW, "1000"]);
    expect(await balance(id)).toMatchObject({ allocated: 1000, used: 1000, remaining: 0, overageUsed: 101 });
    await company.use(id, [NOW, "-9999"]);
    expect(await balance(id)).toMatchObject({ allocated: 1000, used: 0, remaining: 1000, overageUsed: 0 });
  });

  test("counts what the plan's own meter does, as its bill", async () => {
    billing.clock.set("2024-03-31T23:00:00Z");
    const { body } = await company.api("POST", "/meters", {
      code: "large",
      name: "Large calls",
      aggregation: "count",
      filters: [{ key: "kind", op: "missing" }],
    });
    const id = await company.subscribe(plan(3, { meter_id: body.data.id }), {
      started_at: "2024-03-01T00:00:00Z",
    });
    await company.use(id, [NOW, "500"], [NOW, "500"], [NOW, "0.5"], [NOW, "1"], [NOW, "1"]);
    expect(await balance(id)).toMatchObject({ allocated: 3, used: 3, remaining: 0, overageUsed: 2 });
    billing.clock.set("2024-04-01T01:00:00Z");
    await company.run({ subscription_ids: [id] });
    const [record] = await company.records(id);
    expect(record.totalCharges).toBe("31.04");
    billing.clock.set(NOW);
  });

  test("counts calls where the plan does, and a rate of none is null", async () => {
    billing.clock.set(NOW);
    const model = plan(3, {}, { credit_consumption: "per_api_call", overage_rate: null });
    const id = await company.subscribe(model, JANUARY);
    await company.use(id, [NOW, "500"], [NOW, "0"], [NOW, "0.1"], [NOW, "7"], [NOW, "7"], [NOW, "-7"]);
    expect(await balance(id)).toMatchObject({
      allocated: 3,
      used: 3,
      remaining: 0,
      overageUsed: 1,
      overageRate: null,
      creditConsumption: "per_api_call",
    });
  });

  test("prorates the first month and rounds up, by the anchor and where the company is", async () => {
    billing.clock.set(NOW);
    expect(
      await balance(await company.subscribe(middle, { started_at: "2024-03-15T00:00:00Z" })),
    ).toMatchObject({
      allocated: 549, // 1000 × 17 / 31
    });
    const anchored = { started_at: "2024-03-01T00:00:00Z", billing_anchor_day: 10 };
    billing.clock.set("2024-03-05T00:00:00Z");
    expect(await balance(await company.subscribe(middle, anchored))).toMatchObject({ allocated: 311 }); // 9 / 29
    const ahead = await billing.addCompany({ timezone: "Asia/Kuala_Lumpur" });
    const model = await ahead.addModel(plan(3100));
    billing.clock.set("2024-03-31T15:59:59.999Z");
    const id = await ahead.subscribe(model, { started_at: "2024-03-30T16:00:00Z" });
    const local = async () => (await ahead.api("GET", `/subscriptions/${id}/credits`)).body.data;
    expect(await local()).toMatchObject({ allocated: 100 });
    billing.clock.set("2024-03-31T16:00:00Z");
    expect(await local()).toMatchObject({ allocated: 3100 });
    billing.clock.set(NOW);
  });

  test("answers 400 when the subscription is not credit-based, 404 when there is none", async () => {
    billing.clock.set(NOW);
    const id = await company.subscribe(FLAT, JANUARY);
    expect(await credits(id)).toMatchObject({
      status: 400,
      body: { error: expect.stringContaining("not credit-based") },
    });
    const other = await billing.addCompany();
    const theirs = await other.subscribe(await other.addModel(plan(1)), JANUARY);
    expect([(await credits(theirs)).status, (await credits(999_999)).status]).toEqual([404, 404]);
  });

  test("before the start and after the end there are none", async () => {
    billing.clock.set(NOW);
    const nothing = { allocated: 0, used: 0, remaining: 0, overageUsed: 0 };
    expect(
      await balance(await company.subscribe(middle, { started_at: "2024-04-10T00:00:00Z" })),
    ).toMatchObject(nothing);
    const id = await company.subscribe(middle, JANUARY);
    await company.api("POST", `/subscriptions/${id}/cancel`, { at: "now" });
    // 15 of 31 days, as of its fee.
    expect(await balance(id)).toMatchObject({ allocated: 484 });
    billing.clock.set("2024-04-01T00:00:00Z");
    expect(await balance(id)).toMatchObject(nothing);
    billing.clock.set(NOW);
  });

  test("is for client users under /my, their own", async () => {
    billing.clock.set(NOW);
    const id = await company.subscribe(middle, JANUARY);
    const mine = await company.addUser("client", company.client_id);
    const theirs = await company.addUser("client", await company.addClient());
    const path = `/subscriptions/${id}/credits`;
    expect((await mine("GET", `/my${path}`)).body).toEqual((await credits(id)).body);
    expect([(await theirs("GET", `/my${path}`)).status, (await mine("GET", path)).status]).toEqual([
      404, 403,
    ]);
    for (const way of ["upgrade", "downgrade"]) {
      const body = { new_billing_model_id: large };
      expect((await mine("POST", `/subscriptions/${id}/${way}`, body)).status).toBe(403);
      expect(
        (await (await company.addUser("analyst"))("POST", `/subscriptions/${id}/${way}`, body)).status,
      ).toBe(403);
    }
  });

  test("says what the bill says", async () => {
    billing.clock.set(NOW);
    const id = await company.subscribe(middle, { started_at: "2024-03-03T00:00:00Z" });
    await company.use(id, ["2024-03-04T00:00:00Z", "700.5"]);
    await turn("upgrade", id, large);
    await company.use(id, [NOW, "3000"]);
    const { allocated, overageUsed } = await balance(id);
    expect(allocated).toBe(936 + 549); // 1000 × 29 / 31 and 1000 × 17 / 31, rounded up
    billing.clock.set("2024-04-01T01:00:00Z");
    const [record] = (await company.run({ period: "2024-03", subscription_ids: [id] })).records;
    const overage = record.lines.find((line: Json) => line.kind === "overage");
    expect([overage.quantity, overage.billing_model_id]).toEqual([String(overageUsed), large]);
    billing.clock.set(NOW);
  });
});
