import { describe, expect, test } from "bun:test";
import type { Json } from "../../support/harness.ts";
import type { Reads } from "../../../src/store/store.ts";
import { listKnownClientIds, listKnownProductIds } from "../../../src/usage/filters/queries.ts";
import { listSearchedSubscriptions } from "../../../src/usage/search/queries.ts";
import { addCatalog } from "../../billing/subscriptions/fixtures.ts";
import { addSubscription, search, send, uuid } from "../fixtures.ts";
import { NOW, useSearchFixture } from "./fixtures.ts";

const HOUR = 3_600_000;

const fixture = useSearchFixture();
const { service } = fixture;
const { api } = service;

/** The numbers of the events found, in their order. */
async function find(body: Json, as = api, path = "/usage/search"): Promise<number[]> {
  const { data } = await search(as, body, path);
  return data.map(({ id }: { id: string }) => Number.parseInt(id.slice(24), 16));
}

const ALL = [1, 2, 3, 4, 5, 6, 7, 8, 9];

const of = (...names: string[]) => names.map((name) => fixture.subscriptions[name].id);
const clients = (...names: string[]) => names.map((name) => fixture.subscriptions[name].client_id);
const products = (...names: string[]) => names.map((name) => fixture.subscriptions[name].product_id);

const filter = (field: string, op: string, ...values: string[]) => ({
  field,
  op,
  ...(values.length > 0 && { values }),
});

describe("filters", () => {
  test.each<[string, () => Json, number[]]>([
    ["none", () => ({}), ALL],
    ["client", () => ({ client_ids: clients("a1") }), [1, 2, 3, 6, 7]],
    ["clients", () => ({ client_ids: clients("a1", "b1", "a1") }), ALL],
    ["subscription", () => ({ subscription_ids: of("a2") }), [3, 7]],
    ["external id", () => ({ external_subscription_ids: ["a2", "b1"] }), [3, 4, 5, 7, 8, 9]],
    ["an external id that nobody has", () => ({ external_subscription_ids: ["zzz"] }), []],
    ["product", () => ({ product_ids: products("a1") }), [1, 2, 4, 5, 6, 8, 9]],
    ["client and product", () => ({ client_ids: clients("a1"), product_ids: products("b1") }), [1, 2, 6]],
    ["nothing in common", () => ({ client_ids: clients("b1"), subscription_ids: of("a1") }), []],
    ["metadata", () => ({ metadata: { region: "eu" } }), [1, 3]],
    ["metadata, every pair", () => ({ metadata: { region: "eu", "tag.env": "Prod" } }), [1]],
    ["metadata, a number's text", () => ({ metadata: { n: "5" } }), [4]],
    ["metadata, case counts", () => ({ metadata: { region: "EU" } }), []],
    ["metadata, a key like a wildcard", () => ({ metadata: { "*": "eu" } }), []],
    ["metadata, no pair", () => ({ metadata: {} }), ALL],
    ["metadata_search", () => ({ metadata_search: "PROD" }), [1]],
    ["metadata_search, % and _ as they are", () => ({ metadata_search: "0% OFF_" }), [3]],
    ["metadata_search, never keys", () => ({ metadata_search: "region" }), []],
    ["start_time inclusive", () => ({ start_time: NOW - HOUR }), [1, 2]],
    ["end_time exclusive", () => ({ end_time: NOW - HOUR }), [3, 4, 5, 6, 7, 8, 9]],
    ["before 1970", () => ({ start_time: -5, end_time: -1 }), []],
    ["a reversed range", () => ({ start_time: NOW, end_time: NOW - HOUR }), []],
    ["min_usage inclusive", () => ({ min_usage: 40 }), [7, 8, 9]],
    ["max_usage inclusive", () => ({ max_usage: 0.000001 }), [3, 6]],
    ["min and max beyond what is stored", () => ({ min_usage: -1e300, max_usage: 1e300 }), ALL],
    ["min finer than what is stored", () => ({ min_usage: 0.0000011, max_usage: 1 }), [1]],
    ["last_1h", () => ({ relative: "last_1h" }), [1, 2]],
    ["last_24h", () => ({ relative: "last_24h" }), [1, 2, 3]],
    ["last_7d", () => ({ relative: "last_7d" }), [1, 2, 3]],
    ["last_30d", () => ({ relative: "last_30d" }), [1, 2, 3, 4, 5, 6]],
    ["last_90d", () => ({ relative: "last_90d" }), [1, 2, 3, 4, 5, 6, 7, 8]],
    ["this_month, in the company's zone", () => ({ relative: "this_month" }), [1, 2, 3, 4, 5]],
    ["last_month, in the company's zone", () => ({ relative: "last_month" }), [6, 7]],
    ["relative overrides the times", () => ({ relative: "last_1h", start_time: 0, end_time: 1 }), [1, 2]],
    ["a condition: is", () => ({ filters: [filter("metadata:region", "is", "eu", "us")] }), [1, 2, 3]],
    ["is not", () => ({ filters: [filter("metadata:region", "is_not", "eu")] }), [2, 4, 5, 6, 7, 8, 9]],
    ["contains", () => ({ filters: [filter("metadata:tag.env", "contains", "ROD")] }), [1]],
    ["present", () => ({ filters: [filter("metadata:n", "present")] }), [4]],
    ["missing", () => ({ filters: [filter("metadata:region", "missing")] }), [4, 5, 6, 7, 8, 9]],
    [
      "conditions on records beside ids",
      () => ({
        client_ids: clients("a1"),
        filters: [filter("subscription", "is_not", "a2"), filter("metadata:region", "present")],
      }),
      [1, 2],
    ],
    [
      "conditions with nothing in common",
      () => ({ subscription_ids: of("a1"), filters: [filter("client", "is", clients("b1").join())] }),
      [],
    ],
    ["by usage", () => ({ sort_by: "usage" }), [9, 8, 7, 5, 4, 2, 1, 6, 3]],
    ["ascending", () => ({ sort_order: "asc" }), ALL.toReversed()],
    ["by usage, ascending", () => ({ sort_by: "usage", sort_order: "asc", limit: 3 }), [3, 6, 1]],
    ["group_by without aggregate", () => ({ group_by: "day" }), ALL],
    ["from the end of time", () => ({ start_time: Number.MAX_SAFE_INTEGER }), []],
    [
      "from the end of time, grouped",
      () => ({ start_time: Number.MAX_SAFE_INTEGER, aggregate: true, group_by: "day" }),
      [],
    ],
    ["until the beginning of time", () => ({ end_time: Number.MIN_SAFE_INTEGER }), []],
    ["all of time", () => ({ start_time: Number.MIN_SAFE_INTEGER, end_time: Number.MAX_SAFE_INTEGER }), ALL],
  ])("%s", async (_, body, numbers) => {
    expect(await find(body())).toEqual(numbers);
  });

  test("pages come with meta and never overlap", async () => {
    const pages = [];
    for (const page of [1, 2, 3, 4]) {
      const { data, meta } = await search(api, { page, limit: 4 });
      const next_cursor = page < 3 ? expect.any(String) : null;
      expect(meta).toEqual({ page, limit: 4, total: 9, total_pages: 3, next_cursor });
      pages.push(...data.map(({ id }: { id: string }) => id));
    }
    expect(pages).toEqual(ALL.map(uuid));
    expect((await search(api, {})).meta).toMatchObject({ page: 1, limit: 50 });
    expect((await search(api, { page: 1_000_000_000, limit: 200 })).data).toEqual([]);
  });

  test("events of one instant are in the order of their ids", async () => {
    const tenant = await service.addTenant();
    await addSubscription(tenant, "x");
    const ids = Array.from({ length: 20 }, () => crypto.randomUUID());
    await send(
      tenant.api,
      ids.map((id) => ({ id, external_subscription_id: "x", usage: 1 })),
    );
    for (const [sort_order, expected] of [
      ["asc", ids.toSorted()],
      ["desc", ids.toSorted().toReversed()],
    ] as const) {
      const { data } = await search(tenant.api, { sort_order });
      expect(data.map(({ id }: { id: string }) => id)).toEqual(expected);
    }
  });
});

describe("whose usage", () => {
  test("ids of another company, or of nobody, are a 403", async () => {
    const bodies = [
      ...[fixture.foreign.client_id, 999_999, Number.MAX_SAFE_INTEGER].map((id) => ({
        client_ids: [fixture.subscriptions.a1.client_id, id],
      })),
      ...[fixture.foreign.id, 999_999].map((id) => ({ subscription_ids: [id] })),
      ...[fixture.foreign.product_id, 999_999].map((id) => ({ product_ids: [id] })),
      { aggregate: true, client_ids: [fixture.foreign.client_id] },
      { filters: [filter("client", "is", String(fixture.foreign.client_id))] },
    ];
    for (const body of bodies) expect((await api("POST", "/usage/search", body)).status).toBe(403);
  });

  test("each company sees its own events, with its own keys", async () => {
    const { data, meta } = await search(fixture.other.api, { external_subscription_ids: ["a1"] });
    expect(meta.total).toBe(1);
    expect(data[0]).toMatchObject({ subscription_id: `${fixture.other.company_id}:a1`, usage: 7 });
    expect((await search(fixture.other.api, { aggregate: true })).data[0].total_usage).toBe(7);
  });

  test("a client user sees its own client's events under /my, and only there", async () => {
    const path = "/my/usage/search";
    expect(await find({}, fixture.client, path)).toEqual([1, 2, 3, 6, 7]);
    expect(await find({ external_subscription_ids: ["a2", "b1"] }, fixture.client, path)).toEqual([3, 7]);
    expect(await find({ client_ids: [fixture.subscriptions.a1.client_id] }, fixture.client, path)).toEqual([
      1, 2, 3, 6, 7,
    ]);
    expect(await find({ product_ids: [fixture.subscriptions.a2.product_id] }, fixture.client, path)).toEqual([
      3, 7,
    ]);
    const { data } = await search(fixture.client, { aggregate: true, group_by: "product" }, path);
    expect(data.map((row: Json) => row.total_usage)).toEqual([39.5, 3.500001]);
    const hidden = [
      { client_ids: [fixture.subscriptions.b1.client_id] },
      { subscription_ids: [fixture.subscriptions.b1.id] },
      { subscription_ids: [fixture.foreign.id] },
      { product_ids: [fixture.foreign.product_id] },
      { filters: [filter("client", "is_not", String(fixture.subscriptions.b1.client_id))] },
    ];
    const others = { filters: [filter("subscription", "is_not", "a1")] };
    expect(await find(others, fixture.client, path)).toEqual([3, 7]);
    for (const body of hidden) expect((await fixture.client("POST", path, body)).status).toBe(403);
    expect((await fixture.client("POST", "/usage/search", {})).status).toBe(403);
    expect((await api("POST", path, {})).status).toBe(403);
  });

  test("a client without subscriptions finds nothing", async () => {
    const { client_id } = await addCatalog(service);
    const lonely = await service.addUser(service, "client", client_id);
    expect((await search(lonely, {}, "/my/usage/search")).data).toEqual([]);
    // The company has the product, this client has not.
    const { status } = await lonely("POST", "/my/usage/search", {
      product_ids: [fixture.subscriptions.a1.product_id],
    });
    expect(status).toBe(403);
  });

  test("analysts search; strangers sign in first", async () => {
    const analyst = await service.addUser(service, "analyst");
    expect((await search(analyst, {})).meta.total).toBe(9);
    expect((await service.anonymous("POST", "/usage/search", {})).status).toBe(401);
  });
});

describe("what is refused", () => {
  test.each<[Json, string]>([
    [{ client_ids: [] }, "/client_ids"],
    [{ subscription_ids: [] }, "/subscription_ids"],
    [{ external_subscription_ids: [] }, "/external_subscription_ids"],
    [{ product_ids: [] }, "/product_ids"],
    [{ client_ids: 1 }, "/client_ids"],
    [{ client_ids: ["1"] }, "/client_ids/0"],
    [{ client_ids: [0] }, "/client_ids/0"],
    [{ client_ids: [1.5] }, "/client_ids/0"],
    [{ external_subscription_ids: [1] }, "/external_subscription_ids/0"],
    [{ metadata: { a: 1 } }, "/metadata/a"],
    [{ metadata: { "a\nb": 1 } }, "/metadata/a\nb"],
    [{ metadata: "a" }, "/metadata"],
    [{ metadata_search: "" }, "/metadata_search"],
    [{ metadata_search: "x".repeat(201) }, "/metadata_search"],
    [{ start_time: "2026-13-01" }, "/start_time"],
    [{ start_time: 1.5 }, "/start_time"],
    [{ relative: "last_2h" }, "/relative"],
    [{ min_usage: "1" }, "/min_usage"],
    [{ max_usage: null }, "/max_usage"],
    [{ filters: [{ field: "client", op: "is" }] }, "/filters/0/values"],
    [{ filters: [{ field: "colour", op: "present" }] }, "/filters/0/field"],
    [{ filters: [{ field: "client", op: "is", values: ["x"] }] }, "/filters/0/values/0"],
    [{ sort_by: "id" }, "/sort_by"],
    [{ sort_order: "down" }, "/sort_order"],
    [{ page: 0 }, "/page"],
    [{ limit: 0 }, "/limit"],
    [{ limit: 201 }, "/limit"],
    [{ aggregate: "true" }, "/aggregate"],
    [{ aggregate: true, group_by: "year" }, "/group_by"],
    [{ aggregate: true, group_by: "metadata" }, "/group_by"],
    [{ aggregate: true, group_by: `metadata:${"x".repeat(201)}` }, "/group_by"],
    [{ aggregate: true, group_by: ["metadata:a", "metadata:a"] }, "/group_by"],
    [{ aggregate: true, group_by: ["metadata:a"] }, "/group_by"],
    [{ aggregate: true, group_by: ["day"] }, "/group_by"],
    [{ aggregate: true, group_by: ["day", "day"] }, "/group_by"],
    [{ aggregate: true, group_by: ["day", "hour", "client"] }, "/group_by"],
    [{ metadata: { ["x".repeat(201)]: "1" } }, "/metadata"],
    [{ metadata: { ["x.".repeat(45_000)]: "1" }, aggregate: true }, "/metadata"],
    [{ metadata: { a: "x".repeat(1_001) } }, "/metadata/a"],
    [{ cursor: "x" }, "/cursor"],
    [[], ""],
  ])("%j is a 422", async (body, path) => {
    const answer = await api("POST", "/usage/search", body);
    expect(answer.status).toBe(422);
    expect(answer.body.details[0].path).toBe(path);
  });

  test("a group_by that is not known is answered with those that are", async () => {
    const { body } = await api("POST", "/usage/search", { aggregate: true, group_by: "region" });
    expect(body.details[0].message).toBe(
      "must be one of subscription, client, product, day, hour, month or metadata:<key>, the key of at most 200 " +
        "characters, or a list of two different ones",
    );
  });

  test.each(["'; DROP TABLE usage_hot_0; --", "/".repeat(198), "~1~", "$..*", '"', "\\", "[*]", "%"])(
    "%j is only text: a key, a value, a search or a group",
    async (text) => {
      expect(await find({ metadata: { [text]: text, [`a.${text}`]: "x" } })).toEqual([]);
      expect(await find({ metadata: { [text]: "5" } })).toEqual([]);
      expect(await find({ metadata_search: text })).toEqual(text === "%" ? [3] : []);
      expect((await search(api, { aggregate: true, group_by: `metadata:${text}` })).data).toHaveLength(1);
      expect(
        (await search(api, { aggregate: true, group_by: [`metadata:${text}`, "day"] })).data,
      ).toHaveLength(7);
    },
  );

  test("more than 1,000 ids in a list are a 422", async () => {
    const external_subscription_ids = Array.from({ length: 1_001 }, (_, i) => String(i));
    expect((await api("POST", "/usage/search", { external_subscription_ids })).status).toBe(422);
    external_subscription_ids.pop();
    expect((await search(api, { external_subscription_ids })).data).toEqual([]);
  });

  test("lists of every length are one statement: each that is prepared is kept", async () => {
    const { read } = service.deps.store;
    const texts = new Set<string>();
    const run: Reads["run"] = (text, values, is_prepared) => {
      texts.add(text);
      return read.run(text, values, is_prepared);
    };
    const tx = {
      q: { ...read, use: read.use, select: read.select.bind(read), run },
      scope: { company_id: service.company_id },
      now: Temporal.Now.instant(),
    };
    for (const length of [1, 2, 501, 1_000]) {
      const ids = Array.from({ length }, (_, i) => i + 1);
      const external_subscription_ids = ids.map(String);
      const lists = { subscription_ids: ids, client_ids: ids, product_ids: ids, external_subscription_ids };
      expect(await listSearchedSubscriptions(tx, lists)).toEqual([]);
      await listKnownClientIds(tx, ids);
      await listKnownProductIds(tx, ids);
    }
    expect(texts.size).toBe(3);
  });
});
