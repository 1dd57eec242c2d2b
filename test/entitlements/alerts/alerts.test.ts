import { beforeAll, beforeEach, expect, test } from "bun:test";
import { FLAT, PER_UNIT } from "../../billing/fixtures.ts";
import type { Json } from "../../support/harness.ts";
import { runNamedJob } from "../../support/jobs.ts";
import { counted, type Entitled, type LimitedCompany, MONTHLY, useLimits } from "../fixtures.ts";

const limits = useLimits();
let company: LimitedCompany;

beforeEach(() => limits.clock.set("2026-03-10T12:00:00Z"));
beforeAll(async () => {
  limits.clock.set("2026-03-10T12:00:00Z");
  company = await limits.addLimited();
});

/** Looks once, with totals that are counted. */
async function look(): Promise<void> {
  await runNamedJob(limits.service, "spend_limits");
  await runNamedJob(limits.service, "alerts");
  await counted(limits.service);
  await runNamedJob(limits.service, "alerts");
}

async function add(body: Json, of = company): Promise<number> {
  const answer = await of.api("POST", "/alerts", { name: "A", ...body });
  expect([answer.status, answer.body.error]).toEqual([201, undefined]);
  return answer.body.data.id;
}

/** What an alert has told, oldest first. */
async function told(id: number, query = "", of = company): Promise<Json[]> {
  return (await of.api("GET", `/alerts/${id}/firings${query}`)).body.data.toReversed();
}

const values = (rows: Json[]) => rows.map(({ threshold, value }) => [threshold, value]);

async function events(type: string, subscription_id: number, of = company): Promise<Json[]> {
  const { data } = (await of.api("GET", `/events?type=${type}&limit=200`)).body;
  return data.map((event: Json) => event.data).filter((one: Json) => one.subscription_id === subscription_id);
}

const ofOne = ({ id }: Pick<Entitled, "id">) => ({ scope: { subscription_ids: [id] } });

test("usage by a meter or a feature: each threshold once a window, whatever corrections take away", async () => {
  const one = await company.entitle(MONTHLY);
  const by_meter = await add({
    on: "usage",
    meter_id: company.meter_id,
    thresholds: [10, "20.5"],
    ...ofOne(one),
  });
  const by_feature = await add({ on: "usage", feature: "tokens", thresholds: [15], ...ofOne(one) });
  await company.send(one.external, { usage: 9.5 });
  await look();
  expect(await told(by_meter)).toEqual([]);
  await company.send(one.external, { usage: 0.5 });
  await look();
  expect(await told(by_meter)).toEqual([
    {
      id: expect.any(Number),
      alert_id: by_meter,
      subscription_id: one.id,
      threshold: "10",
      value: "10",
      limit: null,
      window: "month",
      window_start: "2026-03-01T00:00:00.000Z",
      window_end: "2026-04-01T00:00:00.000Z",
      per: null,
      group: null,
      at: "2026-03-10T12:00:00.000Z",
    },
  ]);
  for (const usage of [-5, 20]) {
    await company.send(one.external, { usage });
    await look();
  }
  expect(values(await told(by_meter))).toEqual([
    ["10", "10"],
    ["20.5", "25"],
  ]);
  expect(values(await told(by_feature))).toEqual([["15", "25"]]);
  expect(await events("alert.reached", one.id)).toHaveLength(3);
  // A threshold that is passed already is told at once, others not again.
  await company.api("PUT", `/alerts/${by_meter}`, { name: "B", thresholds: [10, 12, 30] });
  await look();
  expect(values(await told(by_meter))).toEqual([
    ["10", "10"],
    ["20.5", "25"],
    ["12", "25"],
  ]);
  limits.clock.set("2026-04-02T00:00:00Z");
  await company.send(one.external, { usage: 11 });
  await look();
  expect(values(await told(by_meter, "?from=2026-04-01T00:00:00Z"))).toEqual([["10", "11"]]);
  expect(await told(by_meter, "?to=2026-04-01T00:00:00Z&subscription_id=999999")).toEqual([]);
});

test("limits: percents of each, in its window and for each group value; another limit is told again", async () => {
  const one = await company.entitle(
    { ...MONTHLY, limit: "100" },
    { feature: "tokens", limit: "50", window: "day", per: "model", hard: false },
  );
  const id = await add({ on: "limit", feature: "tokens", thresholds: [80, 100], ...ofOne(one) });
  const send = (model: string, usage: number) => company.send(one.external, { usage, metadata: { model } });
  await send("large", 45);
  await send("small", 39);
  await look();
  const rows = await told(id);
  expect(
    rows.map(({ threshold, value, limit, per, group }) => [threshold, value, limit, per, group]),
  ).toEqual([
    ["80", "84", "100", null, null],
    ["80", "45", "50", "model", "large"],
  ]);
  expect(await events("limit.reached", one.id)).toEqual([]);
  await send("large", 16);
  await look();
  await look();
  expect(await events("limit.reached", one.id)).toHaveLength(2);
  expect(await events("limit.reached", one.id)).toContainEqual(
    expect.objectContaining({ feature: "tokens", value: "100", limit: "100", hard: true, threshold: "100" }),
  );
  const path = `/subscriptions/${one.id}/entitlements/tokens`;
  await company.api("PUT", path, { limit: 120, window: "month" });
  await send("small", 1);
  await look();
  const last = (await told(id)).at(-1);
  expect([last?.threshold, last?.limit, last?.value]).toEqual(["80", "120", "101"]);
  expect(await events("limit.reached", one.id)).toHaveLength(2);
});

test("another limit holds from the next usage on, however far the one before was", async () => {
  const one = await company.entitle(MONTHLY);
  const other = await company.entitle(MONTHLY);
  await runNamedJob(limits.service, "limits_watch");
  await company.send(one.external, { usage: 20 });
  await company.send(other.external, { usage: 24 });
  await look();
  expect(await events("limit.reached", one.id)).toEqual([]);
  const path = `/subscriptions/${one.id}/entitlements/tokens`;
  expect((await company.api("PUT", path, { limit: "21", window: "month" })).status).toBe(200);
  await company.send(one.external, { usage: 1 });
  await look();
  expect(await events("limit.reached", one.id)).toHaveLength(1);
  const roomier = await company.addModel({ ...FLAT, entitlements: [{ ...MONTHLY, limit: "25" }] });
  const change = { new_billing_model_id: roomier, effective_at: "2026-03-10T12:00:00Z" };
  const changed = await company.api("POST", `/subscriptions/${other.id}/billing-model-changes`, change);
  expect(changed.status).toBe(200);
  await runNamedJob(limits.service, "billing_model_changes");
  await company.send(other.external, { usage: 1 });
  await look();
  expect(await events("limit.reached", other.id)).toHaveLength(1);
});

test("spend and forecast, in the subscription's currency, the period's last seconds too", async () => {
  const model = await company.addModel(PER_UNIT);
  const options = { external_subscription_id: "spends", started_at: "2026-01-01T00:00:00Z" };
  const one = { id: await company.subscribe(model, options) };
  const spend = await add({ on: "spend", thresholds: [5, 10], currency: "EUR", ...ofOne(one) });
  const other = await add({ on: "spend", thresholds: [1], currency: "USD", ...ofOne(one) });
  const forecast = await add({ on: "forecast", thresholds: [16], ...ofOne(one) });
  await company.send("spends", { usage: 10 });
  await look();
  expect(values(await told(spend))).toEqual([["5", "5.00"]]);
  expect(await told(other)).toEqual([]);
  const preview = await company.api("GET", `/subscriptions/${one.id}/preview?projected=true`);
  const { projected_total } = preview.body.data;
  expect(Number(projected_total)).toBeGreaterThanOrEqual(16);
  expect(values(await told(forecast))).toEqual([["16", projected_total]]);
  limits.clock.set("2026-03-31T23:59:59Z");
  await company.send("spends", { usage: 10 });
  limits.clock.set("2026-04-01T00:00:01Z");
  await look();
  const [, last] = await told(spend);
  expect([last?.threshold, last?.value, last?.window_end]).toEqual([
    "10",
    "10.00",
    "2026-04-01T00:00:00.000Z",
  ]);
});

test("a month ends in the company's zone, and its last second is told of after it", async () => {
  const east = await limits.addLimited({ timezone: "Asia/Kuala_Lumpur" });
  limits.clock.set("2026-03-31T15:59:59Z");
  const one = await east.entitle({ ...MONTHLY, limit: "10" });
  const id = await add({ on: "usage", meter_id: east.meter_id, thresholds: [10] }, east);
  await east.send(one.external, { usage: 10 });
  limits.clock.set("2026-03-31T16:00:01Z");
  await look();
  expect((await told(id, "", east)).map(({ window_end, value }) => [window_end, value])).toEqual([
    ["2026-03-31T16:00:00.000Z", "10"],
  ]);
  expect(await events("limit.reached", one.id, east)).toHaveLength(1);
  await east.send(one.external, { usage: 10 });
  await look();
  expect(await told(id, "", east)).toHaveLength(2);
});

test("another company's alert is not there, and client users have none", async () => {
  const id = await add({ on: "usage", feature: "tokens", thresholds: [1] });
  const stranger = await limits.addLimited();
  const client = await company.addUser("client", company.client_id);
  const analyst = await company.addUser("analyst");
  const path = `/alerts/${id}`;
  expect((await stranger.api("GET", `${path}/firings`)).status).toBe(404);
  for (const [method, body] of [["GET"], ["PUT", { name: "B" }], ["DELETE"]] as ["GET", Json?][]) {
    expect((await stranger.api(method, path, body)).status).toBe(404);
    expect((await client(method, path, body)).status).toBe(403);
    expect((await analyst(method, path, body)).status).toBe(method === "GET" ? 200 : 403);
  }
  const of = { name: "A", on: "usage", feature: "tokens", thresholds: [1] };
  const refused = await stranger.api("POST", "/alerts", {
    ...of,
    scope: { client_ids: [company.client_id] },
  });
  expect([refused.status, refused.body.details[0].path]).toEqual([422, "/scope/client_ids/0"]);
  // What an alert names can't be deleted; a deleted alert names nothing.
  const code = { code: "extra", name: "Extra", aggregation: "sum" };
  const meter_id = (await company.api("POST", "/meters", code)).body.data.id;
  const naming = await add({ on: "usage", meter_id, thresholds: [1] });
  expect(
    (await company.api("PUT", `/meters/${meter_id}`, { name: "E", aggregation: "average" })).status,
  ).toBe(409);
  expect((await company.api("DELETE", `/meters/${meter_id}`)).status).toBe(409);
  expect((await company.api("DELETE", `/alerts/${naming}`)).status).toBe(200);
  expect((await company.api("GET", `/alerts/${naming}`)).status).toBe(404);
  expect((await company.api("DELETE", `/meters/${meter_id}`)).status).toBe(200);
  expect(await runNamedJob(limits.service, "alert_firings_prune")).toBe(true);
});

const usage = { on: "usage", feature: "tokens", thresholds: [1] };
const BAD: [string, Json, string][] = [
  ["wallet", { ...usage, on: "wallet" }, "/on"],
  ["no threshold", { ...usage, thresholds: [] }, "/thresholds"],
  ["eleven thresholds", { ...usage, thresholds: Array.from({ length: 11 }, (_, i) => i + 1) }, "/thresholds"],
  ["descending", { ...usage, thresholds: [2, 1] }, "/thresholds/1"],
  ["equal", { ...usage, thresholds: [1, "1.0"] }, "/thresholds/1"],
  ["zero", { ...usage, thresholds: [0] }, "/thresholds/0"],
  ["no number", { ...usage, thresholds: ["x"] }, "/thresholds/0"],
  ["percents above 1000", { on: "limit", feature: "tokens", thresholds: [1001] }, "/thresholds/0"],
  ["neither meter nor feature", { on: "usage", thresholds: [1] }, "/meter_id"],
  ["both", { ...usage, meter_id: 1 }, "/meter_id"],
  ["another's meter", { on: "usage", meter_id: 999_999, thresholds: [1] }, "/meter_id"],
  ["limit without feature", { on: "limit", thresholds: [1] }, "/feature"],
  ["a switch", { on: "limit", feature: "sso", thresholds: [1] }, "/feature"],
  ["spend of a feature", { on: "spend", feature: "tokens", thresholds: [1] }, "/feature"],
  ["currency of usage", { ...usage, currency: "EUR" }, "/currency"],
  ["unknown list", { ...usage, scope: { plan_ids: [1] } }, "/scope/plan_ids"],
  ["empty list", { ...usage, scope: { client_ids: [] } }, "/scope/client_ids"],
  ["no such product", { ...usage, scope: { product_ids: [999_999] } }, "/scope/product_ids/0"],
];
test.each(BAD)("refused: %s", async (_, body, path) => {
  const answer = await company.api("POST", "/alerts", { name: "A", ...body });
  expect([answer.status, answer.body.details.map((one: Json) => one.path)]).toEqual([
    422,
    expect.arrayContaining([path]),
  ]);
});

test("1,000 subscriptions at once", async () => {
  const many = await limits.addLimited();
  const model = await many.addModel({ ...PER_UNIT, entitlements: [{ ...MONTHLY, limit: "5" }] });
  const names = Array.from({ length: 1_000 }, (_, i) => `many ${i}`);
  for (const external_subscription_id of names)
    await many.subscribe(model, { external_subscription_id, started_at: "2026-01-01T00:00:00Z" });
  const id = await add({ on: "limit", feature: "tokens", thresholds: [50, 100] }, many);
  await look();
  const sent = names.map((external_subscription_id) => ({ external_subscription_id, usage: 5 }));
  await many.api("POST", "/usage/events", sent);
  const count = async () => (await many.api("GET", `/alerts/${id}/firings`)).body.meta.total;
  // A look goes on for so long; on a slow machine it takes several.
  for (let looks = 0; looks < 50 && (await count()) < 2_000; looks++) await look();
  expect(await count()).toBe(2_000);
  expect((await many.api("GET", "/events?type=limit.reached")).body.meta.total).toBe(1_000);
});

test("of a group key 1,000 values are told of in a window, each threshold of each once", async () => {
  const grouped = await limits.addLimited();
  const { external } = await grouped.entitle({ ...MONTHLY, limit: "10", per: "model" });
  const use = async (units: number, from: number, to: number) => {
    for (let first = from; first < to; first += 1_000) {
      const sent = Array.from({ length: Math.min(1_000, to - first) }, (_, i) => ({
        external_subscription_id: external,
        usage: units,
        metadata: { model: `model ${first + i}` },
      }));
      expect((await grouped.api("POST", "/usage/events", sent)).status).toBe(201);
    }
  };
  const totalOf = async (path: string) => (await grouped.api("GET", path)).body.meta.total;
  const lookUntil = async (path: string, total: number) => {
    for (let looks = 0; looks < 50 && (await totalOf(path)) < total; looks++) await look();
    await look();
    expect(await totalOf(path)).toBe(total);
  };
  await grouped.check(external, { group: { model: "model 0" } });
  await use(10, 0, 600);
  await lookUntil("/events?type=limit.reached", 600);
  await use(9, 600, 1_100);
  await look();
  expect(await totalOf("/events?type=limit.reached")).toBe(600);
  await use(1, 550, 1_100);
  await lookUntil("/events?type=limit.reached", 1_000);
  // Another threshold is told of by itself, of as many.
  const id = await add({ on: "limit", feature: "tokens", thresholds: [50, 110] }, grouped);
  await lookUntil(`/alerts/${id}/firings`, 1_000 + 50);
  limits.clock.set("2026-04-10T12:00:00Z");
  await use(10, 0, 3);
  await lookUntil("/events?type=limit.reached", 1_003);
});
