import { beforeAll, describe, expect, test } from "bun:test";
import { type Company, FLAT, useBilling } from "../fixtures.ts";

const billing = useBilling();
let company: Company;
let meter_id: number;
let wide: number;

beforeAll(async () => {
  billing.clock.set("2026-03-10T12:00:00Z");
  company = await billing.addCompany();
  const meter = { code: "tokens", name: "Tokens", aggregation: "sum", group_keys: ["model"] };
  meter_id = (await company.api("POST", "/meters", meter)).body.data.id;
  wide = (await company.api("POST", "/features", { code: "tokens", name: "Tokens", kind: "limit", meter_id }))
    .body.data.id;
  await company.api("POST", "/features", { code: "sso", name: "Single sign-on", kind: "switch" });
  await company.api("POST", "/features", { code: "region", name: "Region", kind: "value" });
});

const TOKENS = { feature: "tokens", limit: "1000", window: "month" };
const model = (entitlements: object[]) => ({
  name: "Plan",
  description: "",
  currency: "EUR",
  ...FLAT,
  entitlements,
});

describe("features", () => {
  test("are created, listed, changed and deleted", async () => {
    const { api } = company;
    const made = await api("POST", "/features", { code: "seats", name: "Seats", kind: "limit" });
    expect(made.status).toBe(201);
    expect(made.body.data).toMatchObject({ code: "seats", kind: "limit", meter_id: null, description: "" });
    const path = `/features/${made.body.data.id}`;
    expect((await api("PUT", path, { name: "Places", meter_id })).body.data).toMatchObject({
      name: "Places",
      meter_id,
    });
    expect((await api("GET", path)).body.data.name).toBe("Places");
    expect((await api("GET", "/features?search=plac")).body.data).toHaveLength(1);
    expect((await api("DELETE", path)).status).toBe(200);
    expect((await api("GET", path)).status).toBe(404);
  });

  test("refuse a taken code, a meter that is not there, and one whose total can't be limited", async () => {
    const { api } = company;
    const average = { code: "mean", name: "Mean", aggregation: "average" };
    const mean = (await api("POST", "/meters", average)).body.data.id;
    const cases: [object, string][] = [
      [{ code: "tokens", kind: "limit" }, "/code"],
      [{ code: "other", kind: "limit", meter_id: 999_999 }, "/meter_id"],
      [{ code: "other", kind: "limit", meter_id: mean }, "/meter_id"],
      [{ code: "other", kind: "switch", meter_id }, "/meter_id"],
    ];
    for (const [body, path] of cases) {
      const { status, body: answer } = await api("POST", "/features", { name: "Feature", ...body });
      expect([status, answer.details[0].path]).toEqual([422, path]);
    }
  });

  test("belong to a company", async () => {
    const other = await billing.addCompany();
    expect((await other.api("GET", `/features/${wide}`)).status).toBe(404);
    const refused = await other.api("POST", "/billing-models", model([TOKENS]));
    expect([refused.status, refused.body.details[0].path]).toEqual([422, "/entitlements/0/feature"]);
  });
});

describe("entitlements of a billing model", () => {
  test("stand on the wire where there are any", async () => {
    const { api } = company;
    const entitlements = [
      TOKENS,
      { ...TOKENS, window: "hour", limit: 50, hard: false, per: "model" },
      { feature: "sso" },
    ];
    const made = await api("POST", "/billing-models", model(entitlements));
    expect(made.status).toBe(201);
    const none = { enabled: true, limit: null, window: null, hard: true, per: null, value: null };
    const expected = [
      { ...none, feature: "tokens", limit: "1000", window: "month" },
      { ...none, feature: "tokens", limit: "50", window: "hour", hard: false, per: "model" },
      { ...none, feature: "sso" },
    ];
    expect(made.body.data.entitlements).toEqual(expected);
    const path = `/billing-models/${made.body.data.id}`;
    await company.subscribe(made.body.data.id);
    const kept = await api("PUT", path, { name: "Plan", description: "renamed" });
    expect(kept.body.data.entitlements).toEqual(expected);
    const changed = await api("PUT", path, { name: "Plan", description: "", entitlements: [] });
    expect([changed.status, changed.body.data.entitlements]).toEqual([200, undefined]);
    expect(Object.keys((await api("GET", path)).body.data)).not.toContain("entitlements");
  });

  test("refuse what is not of the feature's kind", async () => {
    const cases: [object[], string][] = [
      [[{ feature: "unknown" }], "/entitlements/0/feature"],
      [[{ feature: "sso", limit: "1" }], "/entitlements/0/limit"],
      [[{ feature: "region" }], "/entitlements/0/value"],
      [[{ ...TOKENS, window: null }], "/entitlements/0/window"],
      [[{ ...TOKENS, limit: "-1" }], "/entitlements/0/limit"],
      [[{ ...TOKENS, per: "region" }], "/entitlements/0/per"],
      [[{ ...TOKENS, value: "x" }], "/entitlements/0/value"],
      [[TOKENS, { ...TOKENS, limit: "5" }], "/entitlements/1"],
      [[{ feature: "sso" }, { feature: "sso" }], "/entitlements/1"],
    ];
    for (const [entitlements, path] of cases) {
      const { status, body } = await company.api("POST", "/billing-models", model(entitlements));
      expect([status, body.details?.[0].path]).toEqual([422, path]);
    }
  });

  test("freeze the feature's kind and meter, and what the meter counts", async () => {
    const { api } = company;
    await company.addModel(model([TOKENS]));
    expect((await api("PUT", `/features/${wide}`, { name: "Tokens", meter_id: null })).status).toBe(409);
    expect((await api("PUT", `/features/${wide}`, { name: "All tokens" })).status).toBe(200);
    expect((await api("DELETE", `/features/${wide}`)).status).toBe(409);
    const filters = [{ key: "kind", op: "exists" }];
    expect((await api("PUT", `/meters/${meter_id}`, { name: "Tokens", filters })).status).toBe(409);
    expect((await api("DELETE", `/meters/${meter_id}`)).status).toBe(409);
  });

  test("of a billing model that was deleted are named as such where they are in the way", async () => {
    const { api } = company;
    const meter = { code: "kept", name: "Kept", aggregation: "sum" };
    const kept = (await api("POST", "/meters", meter)).body.data.id;
    const limit = { code: "kept", name: "Kept", kind: "limit", meter_id: kept };
    const feature = (await api("POST", "/features", limit)).body.data.id;
    const charge = { code: "kept", name: "Kept", type: "per_unit", meter_id: kept, price: "1" };
    const entitlements = [{ feature: "kept", limit: "1", window: "month" }];
    const id = await company.addModel({ ...FLAT, charges: [charge], entitlements });
    expect((await api("DELETE", `/billing-models/${id}`)).status).toBe(200);
    const refused = async (path: string) => (await api("DELETE", path)).body.error;
    const gone = `billing model ${id}, which was deleted but is kept,`;
    expect(await refused(`/features/${feature}`)).toBe(
      `Cannot delete feature ${feature}: ${gone} has an entitlement to it`,
    );
    expect(await refused(`/meters/${kept}`)).toBe(`Cannot delete meter ${kept}: ${gone} names it`);
  });
});
