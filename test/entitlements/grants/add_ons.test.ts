import { beforeEach, expect, test } from "bun:test";
import { multiply, sum } from "../../../src/core/money.ts";
import { grantedOf } from "../../../src/entitlements/grants/rules.ts";
import type { Json } from "../../support/harness.ts";
import { type LimitedCompany, MONTHLY, useLimits } from "../fixtures.ts";

// What booked add-ons add to a plan's entitlements.

const limits = useLimits();
let company: LimitedCompany;

beforeEach(async () => {
  limits.clock.set("2026-03-10T12:00:00Z");
  company = await limits.addLimited();
});

const FIXED = { type: "fixed", price: "5" };

async function addOn(...entitlements: Json[]): Promise<Json> {
  const code = `pack${entitlements.length}`;
  const body = { code, name: "Pack", currency: "EUR", charge: FIXED, entitlements };
  const answer = await company.api("POST", "/add-ons", body);
  expect([answer.status, answer.body.error]).toEqual([201, undefined]);
  return answer.body.data;
}

const listed = async (id: number) =>
  (await company.api("GET", `/subscriptions/${id}/entitlements`)).body.data;

test("as many as are booked add to the limit of the same window, while they are booked", async () => {
  const { external, id } = await company.entitle(MONTHLY);
  const { id: add_on_id, entitlements } = await addOn({ ...MONTHLY, limit: "50.5" }, { feature: "sso" });
  expect(entitlements).toHaveLength(2);
  const booked = await company.api("POST", `/subscriptions/${id}/add-ons`, {
    add_on_id,
    quantity: "2",
    from: "2026-03-15T00:00:00Z",
    until: "2026-03-20T00:00:00Z",
  });
  expect(booked.status).toBe(201);
  await company.send(external, { usage: 1_000 });
  const check = async (body: Json = {}) => {
    const { allowed, reason, limit, remaining } = (await company.check(external, body)).body.data;
    return [allowed, reason, limit, remaining];
  };
  expect(await check()).toEqual([false, "limit", "1000", "0"]);
  expect(await check({ feature: "sso" })).toEqual([false, "no_feature", null, null]);
  limits.clock.set("2026-03-15T00:00:00Z");
  expect(await check({ units: 101 })).toEqual([true, null, "1101", "101"]);
  expect(await check({ units: 102 })).toEqual([false, "limit", "1101", "101"]);
  expect(await check({ feature: "sso" })).toEqual([true, null, null, null]);
  expect((await listed(id)).map((one: Json) => [one.feature, one.source, one.limit])).toEqual([
    ["tokens", "billing_model", "1101"],
    ["sso", "add_on", null],
  ]);
  limits.clock.set("2026-03-20T00:00:00Z");
  expect(await check()).toEqual([false, "limit", "1000", "0"]);
});

test("an add-on never takes away: it adds no limit of a window that the plan has none of", () => {
  const of = (changes: object) => ({
    feature: "tokens",
    enabled: true,
    limit: "10",
    window: "month" as const,
    hard: true,
    per: null,
    value: null,
    ...changes,
  });
  const pack = (changes: object, quantity = "3") => ({ quantity, entitlements: [of(changes)] });
  const shown = (...granted: Parameters<typeof grantedOf>) =>
    grantedOf(...granted).map(({ limit, window, source }) => [limit, window, source]);
  const base = [of({})];
  expect(shown(base, [], [pack({ limit: "4" }), pack({ limit: "1" }, "1")])).toEqual([
    [sum(["10", multiply("4", "3"), "1"]), "month", "billing_model"],
  ]);
  expect(shown(base, [], [pack({ window: "day" })])).toEqual([["10", "month", "billing_model"]]);
  expect(shown(base, [], [pack({ limit: null })])).toEqual([[null, "month", "billing_model"]]);
  expect(shown([of({ limit: null })], [], [pack({})])).toEqual([[null, "month", "billing_model"]]);
  expect(shown(base, [[of({ limit: "1" })]], [pack({})])).toEqual([["31", "month", "subscription"]]);
  expect(shown(base, [], [pack({ enabled: false })])).toEqual([["10", "month", "billing_model"]]);
  // What is not granted otherwise is granted by the add-ons, each with its own windows.
  expect(shown([], [], [pack({}), pack({ window: "day" }), pack({}, "1")])).toEqual([
    ["40", "month", "add_on"],
    ["30", "day", "add_on"],
  ]);
  expect(shown([of({ enabled: false })], [], [pack({})])).toEqual([
    ["10", "month", "billing_model"],
    ["30", "month", "add_on"],
  ]);
  // What was switched off for the subscription itself stays off.
  expect(shown(base, [[of({ enabled: false })]], [pack({})])).toEqual([["10", "month", "subscription"]]);
});

test("a feature that an add-on grants is not deleted, and its entitlements must fit the feature", async () => {
  await addOn(MONTHLY);
  const { data } = (await company.api("GET", "/features")).body;
  const { id } = data.find(({ code }: Json) => code === "tokens");
  const refused = await company.api("DELETE", `/features/${id}`);
  expect([refused.status, refused.body.error]).toEqual([409, expect.stringContaining("add-on")]);
  const unknown = {
    code: "x",
    name: "X",
    currency: "EUR",
    charge: FIXED,
    entitlements: [{ feature: "none" }],
  };
  const { status, body } = await company.api("POST", "/add-ons", unknown);
  expect([status, body.details[0].path]).toEqual([422, "/entitlements/0/feature"]);
  const other = await limits.addLimited();
  const foreign = await other.api("DELETE", `/features/${id}`);
  expect(foreign.status).toBe(404);
});

test("a level has no limit for life: it is an average over a window", async () => {
  const { api } = company;
  const meter = { code: "seats", name: "Seats", aggregation: "weighted_sum" };
  const meter_id = (await api("POST", "/meters", meter)).body.data.id;
  await api("POST", "/features", { code: "seats", name: "Seats", kind: "limit", meter_id });
  const { id } = await company.entitle();
  const put = (window: string) => api("PUT", `/subscriptions/${id}/entitlements/seats`, { limit: 5, window });
  const refused = await put("life");
  expect([refused.status, refused.body.details[0].path]).toEqual([422, "/window"]);
  expect((await put("month")).status).toBe(200);
});

test("while a total can't be certain the company's setting decides", async () => {
  const { external, id } = await company.entitle();
  const { usage } = limits.service.deps;
  await company.send(external, { usage: 7, timestamp: Date.parse("2026-01-05T00:00:00Z") });
  await usage.closeBefore(company.company_id, Date.parse("2026-02-01T00:00:00Z"));
  await usage.removeClosed(company.company_id, 10);
  await company.api("PUT", `/subscriptions/${id}/entitlements/tokens`, { limit: 10, window: "life" });
  expect((await company.check(external)).body.data).toMatchObject({
    allowed: false,
    reason: "uncertain",
    certain: false,
  });
  const { name, timezone, currency } = (await company.api("GET", "/company")).body.data;
  const put = (if_uncertain: string) =>
    company.api("PUT", "/company", { name, timezone, currency, if_uncertain });
  expect((await put("allow")).body.data.if_uncertain).toBe("allow");
  expect((await company.check(external)).body.data).toMatchObject({
    allowed: true,
    reason: null,
    certain: false,
  });
  // What is left out of an update stays.
  await company.api("PUT", "/company", { name, timezone, currency });
  expect((await company.api("GET", "/company")).body.data.if_uncertain).toBe("allow");
  expect((await put("maybe")).status).toBe(422);
  expect((await put("deny")).body.data).not.toHaveProperty("if_uncertain");
  expect((await company.check(external)).body.data.allowed).toBe(false);
});
