import { describe, expect, test } from "bun:test";
import { chunks } from "../../../src/core/chunk.ts";
import { type Json, useService } from "../../support/harness.ts";
import { addSubscription, ms } from "../../usage/fixtures.ts";
import { create, tally } from "../subscriptions/fixtures.ts";

const service = useService();
const { api } = service;

const input = {
  code: "input",
  name: "Input tokens",
  aggregation: "sum",
  filters: [{ key: "kind", op: "in", values: ["chat"] }],
  group_keys: ["model"],
  value: [{ key: "metadata:input_tokens" }, { key: "metadata:cached_tokens", times: "-1" }],
};

let codes = 0;
const newMeter = (more: Json = {}) => ({ ...input, code: `meter_${++codes}`, ...more });

describe("meters", () => {
  test("a meter is created with its defaults, found, listed, changed and deleted", async () => {
    const created = await create(api, "/meters", input);
    expect(created).toMatchObject({
      code: "input",
      description: "",
      value: [
        { key: "metadata:input_tokens", times: "1" },
        { key: "metadata:cached_tokens", times: "-1" },
      ],
      filters: [{ key: "kind", op: "in", values: ["chat"] }],
      percentile: null,
      carry_over: false,
    });
    const path = `/meters/${created.id}`;
    expect((await api("GET", path)).body.data).toEqual(created);
    expect((await api("GET", "/meters?search=Input&limit=5")).body).toMatchObject({
      data: [created],
      meta: { total: 1 },
    });
    const counted = (await api("PUT", path, { name: "Calls", aggregation: "count" })).body.data;
    expect(counted).toMatchObject({ name: "Calls", aggregation: "count", value: [], group_keys: ["model"] });
    expect((await api("DELETE", path)).status).toBe(200);
    expect((await api("GET", path)).status).toBe(404);
  });

  test("without a value the usage counts", async () => {
    const { value } = await create(api, "/meters", newMeter({ value: undefined }));
    expect(value).toEqual([{ key: "usage", times: "1" }]);
  });

  test.each<[string, Json, string]>([
    ["a sum without a term", { value: [] }, "/value"],
    ["six terms", { value: Array.from({ length: 6 }, () => ({ key: "usage" })) }, "/value"],
    [
      "unique with two keys",
      { aggregation: "unique", value: [{ key: "metadata:a" }, { key: "metadata:b" }] },
      "/value",
    ],
    ["unique of the usage", { aggregation: "unique", value: [{ key: "usage" }] }, "/value"],
    ["unique with a factor", { aggregation: "unique", value: [{ key: "metadata:a", times: 2 }] }, "/value"],
    ["a count with a term", { aggregation: "count", value: [{ key: "usage" }] }, "/value"],
    ["a key that is neither", { value: [{ key: "input_tokens" }] }, "/value/0/key"],
    ["a factor of seven decimals", { value: [{ key: "usage", times: "0.0000001" }] }, "/value/0/times"],
    ["a factor that is too large", { value: [{ key: "usage", times: "-1000000" }] }, "/value/0/times"],
    ["a factor that is no decimal", { value: [{ key: "usage", times: "1e3" }] }, "/value/0/times"],
    ["percentile 0", { aggregation: "percentile", percentile: 0 }, "/percentile"],
    ["percentile 100.1", { aggregation: "percentile", percentile: "100.1" }, "/percentile"],
    ["no percentile", { aggregation: "percentile" }, "/percentile"],
    ["a percentile of a sum", { percentile: "50" }, "/percentile"],
    ["a sum that is carried over", { carry_over: true }, "/carry_over"],
    ["4 group_keys", { group_keys: ["a", "b", "c", "d"] }, "/group_keys"],
    ["a group key twice", { group_keys: ["a", "a"] }, "/group_keys"],
    [
      "eleven filters",
      { filters: Array.from({ length: 11 }, () => ({ key: "a", op: "exists" })) },
      "/filters",
    ],
    ["in without values", { filters: [{ key: "a", op: "in" }] }, "/filters/0/values"],
    ["exists with values", { filters: [{ key: "a", op: "exists", values: ["b"] }] }, "/filters/0/values"],
    ["an unknown operator", { filters: [{ key: "a", op: "like", values: ["b"] }] }, "/filters/0/op"],
    ["a term of the mark of erasures", { value: [{ key: "metadata:erased" }] }, "/value/0/key"],
    ["a filter by it", { filters: [{ key: "erased", op: "exists" }] }, "/filters/0/key"],
    ["a group by it", { group_keys: ["a", "erased"] }, "/group_keys/1"],
    ["a code in capitals", { code: "Input" }, "/code"],
    ["an unknown field", { unit: "token" }, "/unit"],
  ])("%s is refused", async (_, change, path) => {
    const refused = await api("POST", "/meters", newMeter(change));
    expect(refused.status).toBe(422);
    expect(refused.body.details.map((detail: Json) => detail.path)).toContain(path);
  });

  test("one answer names every broken rule", async () => {
    const refused = await api(
      "POST",
      "/meters",
      newMeter({ aggregation: "count", percentile: "5", carry_over: true }),
    );
    expect(refused.body.details).toHaveLength(3);
    expect(refused.body.error).toContain("and 2 more");
  });

  test.each(["average", "percentile"])(
    "a meter that a feature limits can't become one of %s",
    async (aggregation) => {
      const { id } = await create(api, "/meters", newMeter());
      const change = {
        name: "Level",
        aggregation,
        ...(aggregation === "percentile" ? { percentile: "95" } : {}),
      };
      const feature = { code: `limit_of_${id}`, name: "Limit", kind: "limit", meter_id: id };
      const { id: feature_id } = await create(api, "/features", feature);
      const refused = await api("PUT", `/meters/${id}`, change);
      expect([refused.status, refused.body.error]).toEqual([
        409,
        `Cannot change the aggregation of meter ${id}: feature ${feature_id} limits it, which needs a total`,
      ]);
      expect((await api("PUT", `/meters/${id}`, { name: "Last", aggregation: "latest" })).status).toBe(200);
      await api("DELETE", `/features/${feature_id}`);
      expect((await api("PUT", `/meters/${id}`, change)).status).toBe(200);
    },
  );

  test("a code is unique within a company, also when two meters take it at once", async () => {
    const body = newMeter();
    const answers = await Promise.all(Array.from({ length: 5 }, () => api("POST", "/meters", body)));
    expect(tally(answers)).toEqual({ 201: 1, 422: 4 });
    const other = await service.addTenant();
    expect((await other.api("POST", "/meters", body)).status).toBe(201);
    const { id } = await create(api, "/meters", newMeter());
    const taken = await api("PUT", `/meters/${id}`, { name: "x", code: body.code });
    expect([taken.status, taken.body.details[0].path]).toEqual([422, "/code"]);
  });

  test("another company's meter is not there; an analyst reads and tries, and may not write", async () => {
    const { id } = await create(api, "/meters", newMeter());
    const other = await service.addTenant();
    for (const method of ["GET", "PUT", "DELETE"] as const)
      expect(
        (await other.api(method, `/meters/${id}`, method === "PUT" ? { name: "x" } : undefined)).status,
      ).toBe(404);
    const analyst = await service.addUser(service, "analyst");
    expect((await analyst("GET", `/meters/${id}`)).status).toBe(200);
    expect((await analyst("POST", "/meters", newMeter())).status).toBe(403);
    const { code: _, name: __, ...counting } = input;
    const tried = { meter: counting, from: "2026-01-01T00:00:00Z", to: "2026-02-01T00:00:00Z" };
    expect((await analyst("POST", "/meters/try", tried)).status).toBe(200);
  });
});

describe("trying a meter", () => {
  const from = "2026-03-01T00:00:00Z";
  const to = "2026-04-01T00:00:00Z";
  const { code: _, name: __, ...counting } = input;

  async function send(name: string, ...events: [at: string, metadata: Json][]): Promise<number> {
    const { id } = await addSubscription(service, name);
    const body = events.map(([at, metadata]) => ({
      id: crypto.randomUUID(),
      external_subscription_id: name,
      timestamp: ms(at),
      usage: 1,
      metadata,
    }));
    for (const batch of chunks(body, 1_000)) {
      const { status, body: answer } = await api("POST", "/usage/events", batch);
      expect([status, answer.error]).toEqual([201, undefined]);
    }
    return id;
  }

  const tryIt = async (body: Json) => (await api("POST", "/meters/try", { from, to, ...body })).body;

  test("it counts by subscription and group, skips what has no number, and saves nothing", async () => {
    const large = { kind: "chat", model: "large" };
    const id = await send(
      "try-a",
      ["2026-03-01T00:00:00Z", { ...large, input_tokens: 22_729, cached_tokens: 17_323 }],
      [
        "2026-03-31T23:59:59.999Z",
        { kind: "chat", model: "small", input_tokens: "4000.5", cached_tokens: 0 },
      ],
      ["2026-03-05T00:00:00Z", { ...large, input_tokens: 5 }],
      ["2026-03-05T00:00:00Z", { kind: "image", model: "large", input_tokens: 1, cached_tokens: 0 }],
      ["2026-04-01T00:00:00Z", { ...large, input_tokens: 1, cached_tokens: 0 }],
    );
    const before = (await api("GET", "/meters")).body.data.length;
    const found = await tryIt({ meter: counting, subscription_ids: [id] });
    expect(found.data.is_complete).toBe(true);
    expect(found.data.rows.toSorted((a: Json, b: Json) => (a.group.model < b.group.model ? -1 : 1))).toEqual([
      { subscription_id: id, group: { model: "large" }, quantity: "5406", event_count: 1, skipped_events: 1 },
      {
        subscription_id: id,
        group: { model: "small" },
        quantity: "4000.5",
        event_count: 1,
        skipped_events: 0,
      },
    ]);
    expect((await api("GET", "/meters")).body.data).toHaveLength(before);
  });

  test("without subscriptions those with events are counted", async () => {
    const id = await send(
      "try-b",
      ["2026-03-07T00:00:00Z", { user: "u1" }],
      ["2026-03-08T00:00:00Z", { user: "u2" }],
    );
    const unique = { aggregation: "unique", value: [{ key: "metadata:user" }] };
    const { rows, is_complete } = (await tryIt({ meter: unique })).data;
    expect([is_complete, rows.filter((row: Json) => row.subscription_id === id)]).toEqual([
      true,
      [{ subscription_id: id, group: {}, quantity: "2", event_count: 2, skipped_events: 0 }],
    ]);
  });

  test("a level counts from the subscription's start", async () => {
    const id = await send(
      "try-c",
      ["2026-02-10T00:00:00Z", { seats: 5 }],
      ["2026-03-16T12:00:00Z", { seats: 2 }],
    );
    const meter = { aggregation: "weighted_sum", value: [{ key: "metadata:seats" }] };
    // 5, and 2 for the second half of 31 days.
    expect((await tryIt({ meter, subscription_ids: [id] })).data.rows[0].quantity).toBe("6");
  });

  test("a subscription of another company is refused, and so is a time that ends before it begins", async () => {
    const other = await service.addTenant();
    const { id } = await addSubscription(other, "theirs");
    const refused = await api("POST", "/meters/try", { meter: counting, from, to, subscription_ids: [id] });
    expect([refused.status, refused.body.details[0].path]).toEqual([422, "/subscription_ids/0"]);
    const backwards = await api("POST", "/meters/try", { meter: counting, from: to, to: from });
    expect([backwards.status, backwards.body.details[0].path]).toEqual([422, "/to"]);
  });

  test("more groups than an answer holds are refused, with what to do", async () => {
    const events = Array.from({ length: 1_001 }, (_unused, i): [string, Json] => [
      "2026-03-02T00:00:00Z",
      { v: i },
    ]);
    const id = await send("try-many", ...events);
    const meter = { aggregation: "count", group_keys: ["v"] };
    const refused = await api("POST", "/meters/try", { meter, from, to, subscription_ids: [id] });
    expect([refused.status, refused.body.error]).toEqual([422, expect.stringContaining("over 1000 groups")]);
  });
});
