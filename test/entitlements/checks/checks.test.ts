import { beforeAll, beforeEach, describe, expect, test } from "bun:test";
import { type LimitedCompany, MONTHLY, useLimits } from "../fixtures.ts";

const limits = useLimits();
let company: LimitedCompany;

beforeAll(async () => {
  limits.clock.set("2026-03-10T12:00:00Z");
  company = await limits.addLimited();
});
beforeEach(() => limits.clock.set("2026-03-10T12:00:00Z"));

const LIMITED = {
  limit: "1000",
  hard: true,
  reservation: null,
  certain: true,
  resets_at: "2026-04-01T00:00:00.000Z",
};

describe("a check", () => {
  test("counts every event answered before it, late ones and corrections in their own window", async () => {
    const { external } = await company.entitle(MONTHLY);
    const first = await company.check(external);
    expect([first.status, first.body.data]).toEqual([
      200,
      { ...LIMITED, allowed: true, reason: null, used: "0", reserved: "0", remaining: "1000" },
    ]);
    await company.send(external, { usage: 990 });
    await company.send(external, { usage: 500, timestamp: Date.parse("2026-02-28T23:59:59Z") });
    await company.send(external, { usage: -5 });
    const { body } = await company.check(external, { units: "15.000001" });
    expect(body.data).toEqual({
      ...LIMITED,
      allowed: false,
      reason: "limit",
      used: "985",
      reserved: "0",
      remaining: "15",
    });
    expect((await company.check(external, { units: 15 })).body.data.allowed).toBe(true);
    limits.clock.set("2026-04-01T00:00:00Z");
    expect((await company.check(external, { units: 1000 })).body.data).toMatchObject({
      allowed: true,
      used: "0",
    });
  });

  test("counts what was stored before the limit was set", async () => {
    const { external, id } = await company.entitle();
    await company.send(external, { usage: 7 });
    expect((await company.check(external)).body.data).toMatchObject({ allowed: false, reason: "no_feature" });
    await company.api("PUT", `/subscriptions/${id}/entitlements/tokens`, { limit: 10, window: "life" });
    const { body } = await company.check(external, { units: 3 });
    expect(body.data).toMatchObject({
      allowed: true,
      used: "7",
      remaining: "3",
      resets_at: null,
      certain: true,
    });
  });

  test("holds every limit, and shows the one that decides", async () => {
    const soft = { ...MONTHLY, window: "day", limit: "100", hard: false };
    const { external } = await company.entitle(MONTHLY, soft, { ...MONTHLY, window: "hour", limit: "150" });
    await company.send(external, { usage: 100 });
    const told = await company.check(external, { units: 50 });
    expect(told.body.data).toMatchObject({
      allowed: true,
      reason: "limit",
      limit: "100",
      hard: false,
      remaining: "0",
    });
    const refused = await company.check(external, { units: 51 });
    expect(refused.body.data).toMatchObject({
      allowed: false,
      reason: "limit",
      limit: "150",
      remaining: "50",
    });
    expect(refused.body.data.resets_at).toBe("2026-03-10T13:00:00.000Z");
  });

  test("of a limit per a group key is of the value that it names", async () => {
    const { external, id } = await company.entitle({ ...MONTHLY, limit: "10", per: "model" });
    await company.send(external, { usage: 8, metadata: { model: "large" } });
    const of = (model: string) => company.check(external, { units: 3, group: { model } });
    expect((await of("large")).body.data).toMatchObject({ allowed: false, used: "8" });
    expect((await of("small")).body.data).toMatchObject({ allowed: true, used: "0" });
    const unnamed = await company.check(external);
    expect([unnamed.status, unnamed.body.details[0].path]).toEqual([422, "/group"]);
    const unknown = await company.check(external, { group: { model: "small", region: "eu" } });
    expect([unknown.status, unknown.body.details[0].path]).toEqual([422, "/group"]);
    const listed = (await company.api("GET", `/subscriptions/${id}/entitlements`)).body.data;
    const use = { used: "8", reserved: "0", remaining: "2", certain: true };
    expect(listed).toMatchObject([{ feature: "tokens", per: "model", groups: [{ group: "large", ...use }] }]);
  });

  test("of a limit per a key that every object has needs its value, and holds nothing of what has none", async () => {
    const { api } = company;
    const meter = { code: "by_constructor", name: "M", aggregation: "sum", group_keys: ["constructor"] };
    const meter_id = (await api("POST", "/meters", meter)).body.data.id;
    await api("POST", "/features", { code: "by_constructor", name: "F", kind: "limit", meter_id });
    const limit = { ...MONTHLY, feature: "by_constructor", limit: "10", per: "constructor" };
    const { external, id } = await company.entitle(limit);
    await company.send(external, { usage: 2 });
    const asked = { feature: "by_constructor", units: 3 };
    const unnamed = await company.check(external, asked);
    expect([unnamed.status, unnamed.body.details?.[0].path]).toEqual([422, "/group"]);
    const named = await company.check(external, { ...asked, group: { constructor: "a" }, reserve_s: 60 });
    expect(named.body.data).toMatchObject({ allowed: true, used: "0", reserved: "3" });
    const [{ groups }] = (await api("GET", `/subscriptions/${id}/entitlements`)).body.data;
    expect(groups).toEqual([{ group: null, used: "2", reserved: "0", remaining: "8", certain: true }]);
  });

  test("of a switch, of a feature that is off, and of an ended subscription", async () => {
    const { external, id } = await company.entitle(MONTHLY, { feature: "sso" });
    const none = { limit: null, used: null, remaining: null, resets_at: null, hard: null, reservation: null };
    expect((await company.check(external, { feature: "sso" })).body.data).toMatchObject({
      allowed: true,
      ...none,
    });
    await company.api("PUT", `/subscriptions/${id}/entitlements/sso`, { enabled: false });
    const off = await company.check(external, { feature: "sso" });
    expect(off.body.data).toMatchObject({ allowed: false, reason: "no_feature", ...none });
    await company.api("POST", `/subscriptions/${id}/cancel`, { at: "now" });
    expect((await company.check(external)).body.data).toMatchObject({
      allowed: false,
      reason: "subscription_ended",
    });
  });

  test("refuses what it can't read", async () => {
    const { external } = await company.entitle(MONTHLY, { feature: "sso" });
    const cases: [object, string][] = [
      [{ feature: "unknown" }, "/feature"],
      [{ units: "-1" }, "/units"],
      [{ units: "0.0000001" }, "/units"],
      [{ reserve_s: 90_000 }, "/reserve_s"],
      [{ reserve_s: 0 }, "/reserve_s"],
      [{ feature: "sso", reserve_s: 10 }, "/reserve_s"],
      [{ external_subscription_id: "nobody's" }, "/external_subscription_id"],
    ];
    for (const [body, path] of cases) {
      const { status, body: refused } = await company.check(external, body);
      expect([status, refused.details[0].path]).toEqual([422, path]);
    }
  });

  test("knows the subscriptions and features of its company only", async () => {
    const { external } = await company.entitle(MONTHLY);
    const other = await limits.addLimited();
    expect((await other.check(external)).status).toBe(422);
    const named_alike = await other.entitle(MONTHLY);
    await company.send(named_alike.external, { usage: 3 });
    expect((await other.check(named_alike.external)).body.data.used).toBe("0");
  });
});

describe("a subscription's own entitlements", () => {
  test("take the place of its billing model's, feature by feature, until they are taken away", async () => {
    const { external, id } = await company.entitle(
      MONTHLY,
      { ...MONTHLY, window: "hour", limit: 5 },
      { feature: "sso" },
    );
    const path = `/subscriptions/${id}/entitlements`;
    const set = await company.api("PUT", `${path}/tokens`, { entitlements: [{ limit: 20, window: "day" }] });
    expect([set.status, set.body.data]).toMatchObject([
      200,
      [{ feature: "tokens", limit: "20", window: "day" }],
    ]);
    const listed = (await company.api("GET", path)).body.data;
    expect(listed.map((row: { feature: string; source: string }) => [row.feature, row.source])).toEqual([
      ["sso", "billing_model"],
      ["tokens", "subscription"],
    ]);
    expect(listed[1]).toMatchObject({
      kind: "limit",
      used: "0",
      remaining: "20",
      resets_at: "2026-03-11T00:00:00.000Z",
    });
    expect((await company.check(external, { units: 20 })).body.data.allowed).toBe(true);
    expect((await company.api("DELETE", `${path}/tokens`)).status).toBe(200);
    expect((await company.api("DELETE", `${path}/tokens`)).status).toBe(404);
    expect((await company.check(external, { units: 20 })).body.data.allowed).toBe(false);
  });

  test("refuse what the feature does not take, at its place", async () => {
    const { id } = await company.entitle();
    const path = `/subscriptions/${id}/entitlements/tokens`;
    const cases: [object, string][] = [
      [{ limit: 5 }, "/window"],
      [{ feature: "sso", limit: 5, window: "day" }, "/feature"],
      [{ limit: 5, window: "day", per: "region" }, "/per"],
      [{ limit: 5, entitlements: [{ limit: 5, window: "day" }] }, "/entitlements"],
      [
        {
          entitlements: [
            { limit: 5, window: "day" },
            { limit: 6, window: "day" },
          ],
        },
        "/entitlements/1",
      ],
    ];
    for (const [body, field] of cases) {
      const { status, body: refused } = await company.api("PUT", path, body);
      expect([status, refused.details[0].path]).toEqual([422, field]);
    }
    expect((await company.api("PUT", `/subscriptions/${id}/entitlements/unknown`, {})).status).toBe(404);
    const other = await limits.addLimited();
    expect((await other.api("PUT", path, { limit: 5, window: "day" })).status).toBe(404);
    expect((await other.api("GET", `/subscriptions/${id}/entitlements`)).status).toBe(404);
  });

  test("are seen by the client whose subscription it is", async () => {
    const { id } = await company.entitle(MONTHLY);
    const client = await company.addUser("client", company.client_id);
    expect((await client("GET", `/my/subscriptions/${id}/entitlements`)).body.data).toMatchObject([
      { feature: "tokens", remaining: "1000" },
    ]);
    const stranger = await company.addUser("client", await company.addClient());
    expect((await stranger("GET", `/my/subscriptions/${id}/entitlements`)).status).toBe(404);
  });
});
