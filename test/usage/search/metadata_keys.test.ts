import { describe, expect, test } from "bun:test";
import type { Json } from "../../support/harness.ts";
import { addSubscription, ms, send } from "../fixtures.ts";
import { NOW, useSearchFixture } from "./fixtures.ts";

const PATH = "/usage/metadata-keys";

const fixture = useSearchFixture();
const { service } = fixture;
const { api } = service;

async function list(query = "", as = api, path = PATH): Promise<Json> {
  const answer = await as("GET", path + query);
  if (answer.status !== 200) throw new Error(`${answer.status} ${JSON.stringify(answer.body)}`);
  return answer.body;
}

const keysOf = (body: Json) => body.data.map(({ key, count }: Json) => [key, count]);

describe("metadata keys", () => {
  test("come with counts and values, nested ones as dot paths", async () => {
    expect(await list()).toEqual({
      data: [
        { key: "region", count: 3, samples: ["eu", "us"] },
        { key: "n", count: 1, samples: ["5"] },
        { key: "note", count: 1, samples: ["50% off_"] },
        { key: "tag.env", count: 1, samples: ["Prod"] },
      ],
      meta: { events: 9, all_events: true, all_keys: true },
    });
  });

  test.each<[string, [string, number][]]>([
    [
      "?relative=last_24h",
      [
        ["region", 3],
        ["note", 1],
        ["tag.env", 1],
      ],
    ],
    [
      `?start_time=${NOW}`,
      [
        ["region", 1],
        ["tag.env", 1],
      ],
    ],
    [
      `?end_time=${NOW - 3_600_000}`,
      [
        ["n", 1],
        ["note", 1],
        ["region", 1],
      ],
    ],
    [`?start_time=0&end_time=${ms("2026-03-02T00:00Z")}`, [["n", 1]]],
    [
      "?external_subscription_id=a2",
      [
        ["note", 1],
        ["region", 1],
      ],
    ],
    ["?external_subscription_id=a2&relative=last_1h", []],
    ["?external_subscription_id=zzz", []],
    ["?start_time=0&end_time=1", []],
  ])("of %s", async (query, expected) => {
    expect(keysOf(await list(query))).toEqual(expected);
  });

  test("tell what filters and groups find", async () => {
    const tenant = await service.addTenant();
    await addSubscription(tenant, "x");
    const events = [
      { a: { b: 1, "c.d": "hidden" }, "a.b": "whole", "é\n\"'": true },
      { a: { b: 1 }, list: ["p", "q", "r", "s"], deep: { 1: { 2: { 3: { 4: { 5: "too deep" } } } } } },
      { a: 5, "*": null, long: "x".repeat(200), ["k".repeat(201)]: 1 },
      { a: "5", $: {} },
      {},
    ].map((metadata) => ({ external_subscription_id: "x", usage: 1, metadata }));
    expect((await send(tenant.api, events)).status).toBe(201);
    const { data, meta } = await list("", tenant.api);
    expect(meta).toEqual({ events: 5, all_events: true, all_keys: false });
    expect(data).toEqual([
      { key: "a", count: 2, samples: ["5"] },
      { key: "a.b", count: 2, samples: expect.arrayContaining(["whole", "1"]) },
      { key: "*", count: 1, samples: ["null"] },
      { key: "list.0", count: 1, samples: ["p"] },
      { key: "list.1", count: 1, samples: ["q"] },
      { key: "list.2", count: 1, samples: ["r"] },
      { key: "long", count: 1, samples: [`${"x".repeat(100)}…`] },
      { key: "é\n\"'", count: 1, samples: ["true"] },
    ]);
    for (const { key, count, samples } of data) {
      let found = 0;
      for (const value of samples) {
        const body = { metadata: { [key]: value.replace(/…$/, "x".repeat(100)) } };
        found += (await tenant.api("POST", "/usage/search", body)).body.meta.total;
      }
      expect([key, found]).toEqual([key, count]);
    }
  });

  test("stop at 200, the most frequent, and show five values", async () => {
    const tenant = await service.addTenant();
    await addSubscription(tenant, "x");
    const events = Array.from({ length: 30 }, (_, i) => ({
      external_subscription_id: "x",
      usage: 1,
      metadata: {
        often: i < 20 ? "often" : `value ${i}`,
        ...Object.fromEntries(Array.from({ length: 9 }, (__, k) => [`key ${i} ${k}`, i])),
      },
    }));
    expect((await send(tenant.api, events)).status).toBe(201);
    const { data, meta } = await list("", tenant.api);
    expect(data).toHaveLength(200);
    expect(data[0]).toMatchObject({ key: "often", count: 30 });
    expect(data[0].samples).toHaveLength(5);
    expect(data[0].samples[0]).toBe("often");
    expect(meta).toEqual({ events: 30, all_events: true, all_keys: false });
  });
});

describe("whose metadata", () => {
  test("a company's own, a client user's own client's under /my", async () => {
    expect(keysOf(await list("", fixture.other.api))).toEqual([]);
    expect(keysOf(await list("", fixture.client, `/my${PATH}`))).toEqual([
      ["region", 3],
      ["note", 1],
      ["tag.env", 1],
    ]);
    expect(keysOf(await list("?external_subscription_id=b1", fixture.client, `/my${PATH}`))).toEqual([]);
    expect((await fixture.client("GET", PATH)).status).toBe(403);
    expect((await api("GET", `/my${PATH}`)).status).toBe(403);
    expect((await service.anonymous("GET", PATH)).status).toBe(401);
  });

  test.each([
    ["?relative=last_2h", "/relative"],
    ["?start_time=1.5", "/start_time"],
    ["?end_time=x", "/end_time"],
    ["?limit=5", "/limit"],
    [`?external_subscription_id=${"x".repeat(201)}`, "/external_subscription_id"],
  ])("%s is a 422", async (query, path) => {
    const { status, body } = await api("GET", PATH + query);
    expect([status, body.details[0].path]).toEqual([422, path]);
  });
});
