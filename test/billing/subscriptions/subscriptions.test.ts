import { beforeAll, describe, expect, test } from "bun:test";
import { type Json, type Tenant, TestClock, useService } from "../../support/harness.ts";
import {
  addCatalog,
  type Catalog,
  create,
  flatModel,
  fresh,
  subscribe,
  subscriptionBody,
  tally,
} from "./fixtures.ts";

const NOW = "2026-03-15T10:00:00.000Z";

const service = useService({ clock: new TestClock(NOW) });
const { api } = service;
let other: Tenant;
let catalog: Catalog;

beforeAll(async () => {
  other = await service.addTenant();
  catalog = await addCatalog(service);
});

const RENAME = { name: "x" };
const CANCEL = { at: "now" };

/** Every call on one subscription. */
const onOne = (id: number | string) =>
  [
    ["GET", `/subscriptions/${id}`, undefined],
    ["PUT", `/subscriptions/${id}`, RENAME],
    ["POST", `/subscriptions/${id}/cancel`, CANCEL],
  ] as const;

describe("subscriptions", () => {
  test("a subscription is created and read with its relations, and renamed", async () => {
    const body = subscriptionBody(catalog, { name: "  Main  ", external_subscription_id: "a:b/c é %_" });
    const created = await api("POST", "/subscriptions", body);
    expect(created.status).toBe(201);
    const { id } = created.body.data;
    const [client, product, billing_model] = await Promise.all(
      [
        `/clients/${catalog.client_id}`,
        `/products/${catalog.product_id}`,
        `/billing-models/${catalog.billing_model_id}`,
      ].map(async (path) => (await api("GET", path)).body.data),
    );
    const { past_periods, ...detail } = created.body.data;
    expect(past_periods).toBe(0);
    const { subscriptions, ...plain_client } = client;
    const record = { ...body, id, name: "Main", company_id: service.company_id, status: "active" };
    const times = { started_at: NOW, ends_at: null, created_at: NOW, updated_at: NOW };
    expect(detail).toEqual({
      ...record,
      ...times,
      billing_anchor_day: 1,
      client: plain_client,
      product,
      billing_model,
    });
    expect(subscriptions).toContainEqual({ ...record, ...times, billing_anchor_day: 1 });
    expect(await api("GET", `/subscriptions/${id}`)).toMatchObject({ status: 200, body: { data: detail } });
    expect((await api("GET", "/subscriptions")).body.data).toContainEqual(detail);

    const renamed = await api("PUT", `/subscriptions/${id}`, { name: "Second" });
    expect(renamed).toMatchObject({ status: 200, body: { data: { ...detail, name: "Second" } } });
  });

  test.each([
    ["2020-01-31T00:00:00+08:00", "2020-01-30T16:00:00.000Z"],
    ["2030-06-01T12:00:00.123456Z", "2030-06-01T12:00:00.123Z"],
    ["2016-03-15T10:00:00Z", "2016-03-15T10:00:00.000Z"],
    ["2126-03-15T10:00:00Z", "2126-03-15T10:00:00.000Z"],
  ])("may start in the past or in the future: %s", async (started_at, answered) => {
    const { id } = await subscribe(api, catalog, { started_at, billing_anchor_day: 31 });
    const read = (await api("GET", `/subscriptions/${id}`)).body.data;
    expect(read).toMatchObject({ started_at: answered, billing_anchor_day: 31, status: "active" });
  });

  test.each([
    ["2026-03-01T00:00:00Z", 1, 0],
    ["2026-02-28T23:59:59Z", 1, 1],
    ["2025-09-20T00:00:00Z", 15, 6],
    ["2025-09-20T00:00:00Z", 16, 5],
    ["2016-03-15T10:00:00Z", 1, 120],
    ["2026-06-01T00:00:00Z", 1, 0],
  ])("a start at %s, with periods from day %d, leaves %d to be billed", async (started_at, day, expected) => {
    const given = { started_at, billing_anchor_day: day };
    const { body } = await api("POST", "/subscriptions", subscriptionBody(catalog, given));
    expect(body.data.past_periods).toBe(expected);
  });

  test("external ids differ by case and may repeat in another company", async () => {
    const external_subscription_id = fresh("Same");
    await subscribe(api, catalog, { external_subscription_id });
    const lower = external_subscription_id.toLowerCase();
    await subscribe(api, catalog, { external_subscription_id: lower });
    await subscribe(other.api, await addCatalog(other), { external_subscription_id });
    const again = await api(
      "POST",
      "/subscriptions",
      subscriptionBody(catalog, { external_subscription_id }),
    );
    expect(again).toMatchObject({ status: 422, body: { details: [{ path: "/external_subscription_id" }] } });
  });

  test("of a hundred creations with one external id, exactly one succeeds", async () => {
    const body = subscriptionBody(catalog);
    const answers = await Promise.all(Array.from({ length: 100 }, () => api("POST", "/subscriptions", body)));
    expect(tally(answers)).toEqual({ 201: 1, 422: 99 });
    const search = encodeURIComponent(body.external_subscription_id);
    expect((await api("GET", `/subscriptions?search=${search}&limit=20`)).body.meta.total).toBe(1);
  });

  test("a hundred creations at once with ids of their own all succeed", async () => {
    const answers = await Promise.all(
      Array.from({ length: 100 }, () => api("POST", "/subscriptions", subscriptionBody(catalog))),
    );
    expect(new Set(answers.map(({ body }) => body.data.id)).size).toBe(100);
  });

  test("a creation that races a deletion leaves no subscription without its client", async () => {
    for (let round = 0; round < 6; round++) {
      const { id: client_id } = await create(api, "/clients", { name: "Racer" });
      const body = subscriptionBody({ ...catalog, client_id });
      const [started, deleted] = await Promise.all([
        api("POST", "/subscriptions", body),
        api("DELETE", `/clients/${client_id}`),
      ]);
      expect(`${started.status} ${deleted.status}`).toBe(started.status === 201 ? "201 409" : "422 200");
    }
  });
});

describe("the list of subscriptions", () => {
  let tenant: Tenant;
  let mine: Catalog;
  let theirs: Catalog;

  beforeAll(async () => {
    tenant = await service.addTenant();
    mine = await addCatalog(tenant);
    theirs = await addCatalog(tenant);
    await subscribe(tenant.api, mine, { name: "Alpha", external_subscription_id: "one" });
    const second = await subscribe(tenant.api, mine, { name: "Beta", external_subscription_id: "two" });
    await subscribe(tenant.api, theirs, { name: "Gamma", external_subscription_id: "ALPHA:3" });
    await tenant.api("POST", `/subscriptions/${second.id}/cancel`, CANCEL);
    const never = { name: "Never", external_subscription_id: "four", started_at: "2030-01-01T00:00:00Z" };
    const { id } = await subscribe(tenant.api, theirs, never);
    await tenant.api("POST", `/subscriptions/${id}/cancel`, CANCEL);
    const ending = await subscribe(tenant.api, theirs, { name: "Ending", external_subscription_id: "five" });
    await tenant.api("POST", `/subscriptions/${ending.id}/cancel`, { at: "period_end" });
  });

  test.each([
    ["", ["Alpha", "Beta", "Gamma", "Never", "Ending"]],
    ["?status=active", ["Alpha", "Gamma", "Ending"]],
    ["?status=cancelled", ["Beta", "Never"]],
    ["?search=alpha", ["Alpha", "Gamma"]],
    ["?search=%25", []],
    ["?page=2&limit=2", ["Gamma", "Never"]],
    ["?page=9", []],
  ])("narrows by what is asked: %s", async (query, names) => {
    const { status, body } = await tenant.api("GET", `/subscriptions${query}`);
    expect(status).toBe(200);
    expect(body.data.map(({ name }: { name: string }) => name)).toEqual(names);
  });

  test("narrows by client and product, to nothing for another company's", async () => {
    const names = async (query: string) =>
      (await tenant.api("GET", `/subscriptions?${query}`)).body.data.map((row: Json) => row.name);
    expect(await names(`client_id=${mine.client_id}`)).toEqual(["Alpha", "Beta"]);
    expect(await names(`product_id=${theirs.product_id}&status=active`)).toEqual(["Gamma", "Ending"]);
    expect(await names(`client_id=${mine.client_id}&product_id=${theirs.product_id}`)).toEqual([]);
    expect(await names(`client_id=${catalog.client_id}`)).toEqual([]);
    const page = await tenant.api("GET", "/subscriptions?page=1&limit=2&status=active");
    expect(page.body.meta).toEqual({ page: 1, limit: 2, total: 3, total_pages: 2 });
  });

  test("shows each as it is by itself: shared relations, changed and deleted ones", async () => {
    const fourth = await service.addTenant();
    const shared = await addCatalog(fourth);
    const own = await addCatalog(fourth);
    const mixed = { ...shared, product_id: own.product_id, billing_model_id: own.billing_model_id };
    const ids: number[] = [];
    for (const relations of [shared, own, shared, mixed])
      ids.push((await create(fourth.api, "/subscriptions", subscriptionBody(relations))).id);
    const alone = async () => {
      const answers = await Promise.all(ids.map((id) => fourth.api("GET", `/subscriptions/${id}`)));
      return answers.map(({ body }) => body.data);
    };
    const listed = async () => (await fourth.api("GET", "/subscriptions")).body.data;
    expect(await listed()).toEqual(await alone());
    await fourth.api("PUT", `/clients/${shared.client_id}`, { name: "Renamed" });
    for (const id of ids) await fourth.api("POST", `/subscriptions/${id}/cancel`, CANCEL);
    await fourth.api("DELETE", `/clients/${own.client_id}`);
    await fourth.api("DELETE", `/products/${own.product_id}`);
    const found: Json[] = await listed();
    expect(found.map(({ client, status }) => [client.name, status])).toContainEqual(["Renamed", "cancelled"]);
    expect(found).toEqual(await alone());
  });

  test("shows with each of fifty its own relations", async () => {
    const many = await service.addTenant();
    const { client_id, product_id } = await addCatalog(many);
    for (let i = 0; i < 50; i++) {
      const model = await create(many.api, "/billing-models", flatModel({ name: `Model ${i}` }));
      await subscribe(many.api, { client_id, product_id, billing_model_id: model.id });
    }
    const { body } = await many.api("GET", "/subscriptions?limit=50");
    expect(body.data.map((row: Json) => row.billing_model.name)).toEqual(
      Array.from({ length: 50 }, (_, i) => `Model ${i}`),
    );
  });

  test.each([
    "?page=0",
    "?limit=201",
    "?limit=1e1",
    "?pgae=2",
    "?search=",
    "?status=ended",
    "?status=",
    "?client_id=0",
    "?client_id=abc",
    "?client_id=1.0",
    "?product_id=1e3",
    "?billing_model_id=1",
  ])("a query out of range is refused: %s", async (query) => {
    expect((await tenant.api("GET", `/subscriptions${query}`)).status).toBe(422);
  });
});

describe("what a subscription may not be", () => {
  test.each<[Record<string, unknown>, string[]]>([
    [{ name: undefined, client_id: undefined }, ["/name", "/client_id"]],
    [{ external_subscription_id: undefined }, ["/external_subscription_id"]],
    [{ product_id: undefined, billing_model_id: undefined }, ["/product_id", "/billing_model_id"]],
    [{ name: "  " }, ["/name"]],
    [{ name: 7 }, ["/name"]],
    [{ name: "a\0b" }, ["/name"]],
    [{ external_subscription_id: "" }, ["/external_subscription_id"]],
    [{ external_subscription_id: " " }, ["/external_subscription_id"]],
    [{ external_subscription_id: " a" }, ["/external_subscription_id"]],
    [{ external_subscription_id: "a\u00a0" }, ["/external_subscription_id"]],
    [{ external_subscription_id: "a\tb" }, ["/external_subscription_id"]],
    [{ external_subscription_id: "a\nb" }, ["/external_subscription_id"]],
    [{ external_subscription_id: "a\u0085b" }, ["/external_subscription_id"]],
    [{ external_subscription_id: "a\ud800" }, ["/external_subscription_id"]],
    [{ external_subscription_id: "a\0b" }, ["/external_subscription_id"]],
    [{ external_subscription_id: "x".repeat(201) }, ["/external_subscription_id"]],
    [{ external_subscription_id: 12 }, ["/external_subscription_id"]],
    [{ client_id: "1" }, ["/client_id"]],
    [{ client_id: 0 }, ["/client_id"]],
    [{ client_id: 1.5 }, ["/client_id"]],
    [{ product_id: null }, ["/product_id"]],
    [{ billing_model_id: 2 ** 53 }, ["/billing_model_id"]],
    [{ client_id: 9_007_199_254_740_991 }, ["/client_id"]],
    [{ product_id: 9_007_199_254_740_991 }, ["/product_id"]],
    [{ billing_model_id: 9_007_199_254_740_991 }, ["/billing_model_id"]],
    [{ billing_anchor_day: 0 }, ["/billing_anchor_day"]],
    [{ billing_anchor_day: 32 }, ["/billing_anchor_day"]],
    [{ billing_anchor_day: 1.5 }, ["/billing_anchor_day"]],
    [{ billing_anchor_day: "1" }, ["/billing_anchor_day"]],
    [{ started_at: "2026-02-30T00:00:00Z" }, ["/started_at"]],
    [{ started_at: "2026-02-30" }, ["/started_at"]],
    [{ started_at: "2026-03-01T24:01:00" }, ["/started_at"]],
    [{ started_at: "1969-12-31T23:59:59Z" }, ["/started_at"]],
    [{ started_at: "2016-03-15T09:59:59.999Z" }, ["/started_at"]],
    [{ started_at: "2126-03-15T10:00:00.001Z" }, ["/started_at"]],
    [{ started_at: "9999-12-31T23:59:59-12:00" }, ["/started_at"]],
    [{ started_at: -1 }, ["/started_at"]],
    [{ started_at: null }, ["/started_at"]],
    [{ status: "active" }, ["/status"]],
    [{ company_id: 1 }, ["/company_id"]],
  ])("POST answers 422 naming the field: %j", async (given, paths) => {
    const answer = await api("POST", "/subscriptions", subscriptionBody(catalog, given));
    expect(answer.status).toBe(422);
    expect(answer.body.error).toBeString();
    expect(answer.body.details.map(({ path }: { path: string }) => path)).toEqual(paths);
  });

  test("another company's, a deleted or an archived relation is a 422 naming it", async () => {
    const foreign = await addCatalog(other);
    const gone = await addCatalog(service);
    await api("DELETE", `/clients/${gone.client_id}`);
    await api("DELETE", `/products/${gone.product_id}`);
    await api("DELETE", `/billing-models/${gone.billing_model_id}`);
    for (const field of ["client_id", "product_id", "billing_model_id"] as const) {
      for (const wrong of [foreign, gone]) {
        const body = subscriptionBody({ ...catalog, [field]: wrong[field] });
        const answer = await api("POST", "/subscriptions", body);
        expect(answer).toMatchObject({ status: 422, body: { details: [{ path: `/${field}` }] } });
      }
    }
  });

  test.each([
    ["PUT", "", {}, "/name"],
    ["PUT", "", { name: " " }, "/name"],
    ["PUT", "", { name: "x", product_id: 1 }, "/product_id"],
    ["PUT", "", { name: "x", external_subscription_id: "y" }, "/external_subscription_id"],
    ["POST", "/cancel", {}, "/at"],
    ["POST", "/cancel", { at: "tomorrow" }, "/at"],
    ["POST", "/cancel", { at: null }, "/at"],
    ["POST", "/cancel", { at: "now", why: "x" }, "/why"],
    ["POST", "/cancel", undefined, "/at"],
  ])("%s %s answers 422 naming the field: %j", async (method, path, body, field) => {
    const { id } = await subscribe(api, catalog);
    const answer = await api(method, `/subscriptions/${id}${path}`, body);
    expect(answer).toMatchObject({ status: 422, body: { details: [{ path: field }] } });
    expect((await api("GET", `/subscriptions/${id}`)).body.data).toMatchObject({
      name: "Main",
      ends_at: null,
    });
  });
});

describe("who may see and change subscriptions", () => {
  test.each(["abc", "0", "-1", "1e3", "0x10", "1.0", "9007199254740992", "%20"])(
    "an id that is no positive whole number is a 422: %s",
    async (id) => {
      for (const [method, path, body] of onOne(id)) {
        expect(await api(method, path, body)).toMatchObject({
          status: 422,
          body: { details: [{ path: "/id" }] },
        });
      }
    },
  );

  test("another company's subscription is not there, nor one that never was", async () => {
    const { id } = await subscribe(api, catalog);
    for (const [method, path, body] of onOne(id))
      expect((await other.api(method, path, body)).status).toBe(404);
    for (const [method, path, body] of onOne("9007199254740991"))
      expect((await api(method, path, body)).status).toBe(404);
    const ids = (await other.api("GET", "/subscriptions")).body.data.map((row: Json) => row.id);
    expect(ids).not.toContain(id);
    expect((await api("GET", `/subscriptions/${id}`)).body.data).toMatchObject({
      name: "Main",
      ends_at: null,
    });
  });

  test("an analyst reads and may not write; a client user is sent to /my", async () => {
    const { id } = await subscribe(api, catalog);
    const analyst = await service.addUser(service, "analyst");
    const client = await service.addUser(service, "client", catalog.client_id);
    for (const [method, path, body] of [
      ...onOne(id),
      ["GET", "/subscriptions", undefined] as const,
      ["POST", "/subscriptions", subscriptionBody(catalog)] as const,
    ]) {
      expect((await analyst(method, path, body)).status).toBe(method === "GET" ? 200 : 403);
      expect((await client(method, path, body)).status).toBe(403);
      expect((await service.anonymous(method, path, body)).status).toBe(401);
    }
  });
});
