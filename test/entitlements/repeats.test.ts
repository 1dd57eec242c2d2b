import { beforeAll, describe, expect, test } from "bun:test";
import { FLAT, PER_UNIT } from "../billing/fixtures.ts";
import type { Json } from "../support/harness.ts";
import { type LimitedCompany, useLimits } from "./fixtures.ts";

// What prices and limits are made of, asked for again under one Idempotency-Key.

const limits = useLimits();
let company: LimitedCompany;
/** What the cases name. */
const ids = { model: 0, flat: 0, subscription: 0, add_on: 0 };

beforeAll(async () => {
  limits.clock.set("2026-03-10T12:00:00Z");
  company = await limits.addLimited();
  ids.model = await company.addModel({
    ...PER_UNIT,
    entitlements: [{ feature: "tokens", limit: 100, window: "month" }],
  });
  ids.flat = await company.addModel(FLAT);
  const life = { external_subscription_id: "repeating", started_at: "2026-01-01T00:00:00Z" };
  ids.subscription = await company.subscribe(ids.model, life);
  await company.run({ period: "2026-01" });
  const seats = { code: "seats", name: "Seats", currency: "EUR", charge: { type: "fixed", price: "12" } };
  ids.add_on = (await company.api("POST", "/add-ons", seats)).body.data.id;
});

interface Case {
  readonly path: () => string;
  /** Where the path is not also the list of what it makes. */
  readonly list?: string;
  readonly body: () => Json;
  /** What makes it another request. */
  readonly other: Json;
  /** What is refused, and makes nothing. */
  readonly wrong: Json;
}

const PLAN = { name: "P", description: "", currency: "EUR", price: 0, billing_type_id: 2 };
const move = () => ({
  from_billing_model_id: ids.model,
  to_billing_model_id: ids.flat,
  at: "2027-02-01T00:00:00Z",
});
const CASES: Record<string, Case> = {
  meters: {
    path: () => "/meters",
    body: () => ({ code: "again", name: "M", aggregation: "count" }),
    other: { name: "N" },
    wrong: { aggregation: "most" },
  },
  features: {
    path: () => "/features",
    body: () => ({ code: "again", name: "F", kind: "switch" }),
    other: { name: "G" },
    wrong: { meter_id: 999_999, kind: "limit" },
  },
  "add-ons": {
    path: () => "/add-ons",
    body: () => ({ code: "again", name: "A", currency: "EUR", charge: { type: "fixed", price: "1" } }),
    other: { name: "B" },
    wrong: { currency: "XXX" },
  },
  "billing models": {
    path: () => "/billing-models",
    body: () => PLAN,
    other: { name: "Q" },
    wrong: { meter_id: 999_999 },
  },
  "copies of billing models": {
    path: () => `/billing-models/${ids.model}/copy`,
    list: "/billing-models",
    body: () => ({ for_client_id: company.client_id }),
    other: { name: "Q" },
    wrong: { for_client_id: 999_999 },
  },
  migrations: {
    path: () => "/billing-model-migrations",
    body: move,
    other: { at: "2027-03-01T00:00:00Z" },
    wrong: { to_billing_model_id: 999_999 },
  },
  simulations: {
    path: () => "/simulations",
    body: () => ({ billing_model_id: ids.flat, from: "2026-01", to: "2026-01" }),
    other: { billing_model_id: 1, from: "2026-01" },
    wrong: { billing_model_id: 999_999 },
  },
  alerts: {
    path: () => "/alerts",
    body: () => ({ name: "A", on: "spend", thresholds: [5] }),
    other: { name: "B" },
    wrong: { scope: { client_ids: [999_999] } },
  },
  bookings: {
    path: () => `/subscriptions/${ids.subscription}/add-ons`,
    body: () => ({ add_on_id: ids.add_on }),
    other: { quantity: 2 },
    wrong: { add_on_id: 999_999 },
  },
  "changes of plan": {
    path: () => `/subscriptions/${ids.subscription}/billing-model-changes`,
    body: () => ({ new_billing_model_id: ids.flat, effective_at: "2026-05-01T00:00:00Z" }),
    other: { effective_at: "2026-06-01T00:00:00Z" },
    wrong: { new_billing_model_id: 999_999 },
  },
};

describe("under one key", () => {
  test.each(Object.entries(CASES))("%s are made once, also by many at once", async (name, one) => {
    const { api } = company;
    const [path, body] = [one.path(), one.body()];
    const count = async () => {
      const { data, meta } = (await api("GET", `${one.list ?? path}?limit=200`)).body;
      return meta?.total ?? data.length;
    };
    const before = await count();
    const keyed = { "Idempotency-Key": name.replaceAll(" ", "-") };
    // A refusal keeps no key from what is right.
    const wrong = { "Idempotency-Key": `${keyed["Idempotency-Key"]}-wrong` };
    const refused = await api("POST", path, { ...body, ...one.wrong }, wrong);
    expect([refused.status, await count()]).toEqual([422, before]);
    const at_once = await Promise.all(Array.from({ length: 8 }, () => api("POST", path, body, keyed)));
    const [first, ...others] = at_once.filter(({ status }) => status < 300);
    expect(at_once.every(({ status }) => status < 300 || status === 409)).toBe(true);
    for (const { body: answer } of others) expect(answer).toEqual(first?.body);
    const again = await api("POST", path, body, keyed);
    expect([again.status, again.body]).toEqual([first?.status ?? 0, first?.body]);
    expect((await api("POST", path, { ...body, ...one.other }, keyed)).status).toBe(409);
    expect(await count()).toBe(before + 1);
  });

  test("units are reserved once", async () => {
    const asked = { external_subscription_id: "repeating", feature: "tokens", units: 5, reserve_s: 60 };
    await company.check("repeating");
    const ask = () => company.api("POST", "/usage/check", asked, { "Idempotency-Key": "reserve" });
    const [first, second] = [await ask(), await ask()];
    expect(first.body.data.reservation.units).toBe("5");
    expect(second.body).toEqual(first.body);
    expect((await company.check("repeating")).body.data.reserved).toBe("5");
  });
});
