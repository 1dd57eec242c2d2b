import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { type Json, startService, type Tenant, TestClock, useService } from "../../support/harness.ts";
import { tally } from "../../billing/subscriptions/fixtures.ts";
import { addSubscription, ms, search, send, uuid } from "../fixtures.ts";

const clock = new TestClock("2026-03-10T12:00:00.000Z");
const NOW = ms("2026-03-10T12:00:00Z");
const HOUR = 3_600_000;

const service = useService({ clock });
const { api } = service;
let other: Tenant;

beforeAll(async () => {
  other = await service.addTenant();
  await addSubscription(service, "acme");
  await addSubscription(service, "a:b c/~");
  await addSubscription(other, "theirs");
});

async function find(id: string) {
  const { data } = await search(api, { external_subscription_ids: ["acme", "a:b c/~"], limit: 200 });
  return data.find((event: { id: string }) => event.id === id);
}

describe("POST /usage/events", () => {
  test("one event, an array and {events} are stored, and found at once", async () => {
    const events = [1, 2, 3, 4].map((number) => ({
      id: uuid(number),
      external_subscription_id: "acme",
      timestamp: NOW - number,
      usage: number,
      metadata: { number, nested: { list: [1, null, "x"] } },
    }));
    const [first, second, ...rest] = events;
    for (const [body, accepted] of [
      [first, 1],
      [[second], 1],
      [{ events: rest }, 2],
    ] as const) {
      expect(await send(api, body)).toMatchObject({
        status: 201,
        body: { data: { accepted, duplicates: 0 } },
      });
    }
    for (const { external_subscription_id, ...event } of events) {
      expect(await find(event.id)).toEqual({
        ...event,
        subscription_id: `${service.company_id}:${external_subscription_id}`,
        created_at: "2026-03-10T12:00:00.000Z",
      });
    }
  });

  test("what is left out: id becomes a UUIDv7, timestamp now, metadata {}", async () => {
    const tenant = await service.addTenant();
    await addSubscription(tenant, "x");
    expect((await send(tenant.api, { external_subscription_id: "x", usage: 0 })).status).toBe(201);
    const { data } = await search(tenant.api, {});
    expect(data).toEqual([
      {
        id: expect.stringMatching(/^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/),
        subscription_id: `${tenant.company_id}:x`,
        timestamp: NOW,
        usage: 0,
        metadata: {},
        created_at: "2026-03-10T12:00:00.000Z",
      },
    ]);
  });

  test("the composite subscription_id does as well, colons and all; ids are lower-cased", async () => {
    const id = "ABCDEF00-0000-4000-8000-00000000ABCD";
    const event = { id, subscription_id: `${service.company_id}:a:b c/~`, usage: 1 };
    expect((await send(api, event)).status).toBe(201);
    expect(await find(id.toLowerCase())).toMatchObject({ subscription_id: `${service.company_id}:a:b c/~` });
  });

  test.each([
    [0.1, 0.1],
    [-3, -3],
    [-0, 0],
    [0.0000005, 0.000001],
    [-0.0000005, -0.000001],
    [0.00000049, 0],
    [1.0000005, 1.000001],
    [2.5e-7, 0],
    [1e11, 100000000000],
    [999999999999.999, 999999999999.999],
  ])("usage %d is stored as %d: half away from zero, six decimals", async (usage, stored) => {
    const id = crypto.randomUUID();
    expect((await send(api, { id, external_subscription_id: "acme", usage })).status).toBe(201);
    const found = await find(id);
    expect(found.usage).toBe(stored);
    expect(Object.is(found.usage, -0)).toBe(false);
  });

  test("timestamps may be up to an hour ahead and as early as the subscription", async () => {
    for (const timestamp of [NOW + HOUR, ms("2020-01-01T00:00:00Z")]) {
      expect((await send(api, { external_subscription_id: "acme", usage: 1, timestamp })).status).toBe(201);
    }
  });

  test("an event lies within the subscription's life, its end exclusive", async () => {
    const tenant = await service.addTenant();
    const { id } = await addSubscription(tenant, "ending");
    const cancelled = await tenant.api("POST", `/subscriptions/${id}/cancel`, { at: "now" });
    const end = ms(cancelled.body.data.ends_at);
    clock.set("2026-03-10T13:00:00.000Z");
    const status = async (timestamp?: number) => {
      const event = { external_subscription_id: "ending", usage: 1 };
      return (await send(tenant.api, timestamp === undefined ? event : { ...event, timestamp })).status;
    };
    expect([await status(end - 1), await status(end), await status()]).toEqual([201, 422, 422]);
    clock.set("2026-03-10T12:00:00.000Z");
  });

  test("metadata may have 50 keys, 16,384 bytes and 100 levels, and keeps every JSON value", async () => {
    const keys = Object.fromEntries(Array.from({ length: 50 }, (_, i) => [`k${i}`, i]));
    const long = { k: "é".repeat((16_384 - '{"k":""}'.length) / 2) };
    let deep: unknown = 1;
    for (let level = 1; level < 100; level++) deep = [deep];
    const odd = { "": null, "*": [true, { $: 1e21 }], "a.b": -0.5, __proto__x: "\\u0000", "✓": "𝄞" };
    for (const metadata of [keys, long, { deep }, odd]) {
      const id = crypto.randomUUID();
      const answer = await send(api, { id, external_subscription_id: "acme", usage: 1, metadata });
      expect(answer.status).toBe(201);
      expect((await find(id)).metadata).toEqual(metadata);
    }
  });
});

describe("the same id again", () => {
  const event = {
    external_subscription_id: "acme",
    timestamp: NOW,
    usage: 1.5,
    metadata: { a: 1, b: { c: 2, d: 3 } },
  };

  test.each([
    ["as it was", {}],
    ["with keys in another order", { metadata: { b: { d: 3, c: 2 }, a: 1 } }],
    ["in capitals", { capitals: true }],
    ["without a timestamp", { timestamp: undefined }],
    ["with a usage that rounds to the same", { usage: 1.5000004 }],
  ])("%s is a duplicate", async (_, { capitals, ...change }: Record<string, unknown>) => {
    const id = crypto.randomUUID();
    expect((await send(api, { ...event, id })).status).toBe(201);
    clock.set("2026-03-10T12:00:07.000Z");
    const again = await send(api, { ...event, id: capitals ? id.toUpperCase() : id, ...change });
    expect(again).toMatchObject({ status: 201, body: { data: { accepted: 0, duplicates: 1 } } });
    clock.set("2026-03-10T12:00:00.000Z");
  });

  test("no metadata and empty metadata are the same content", async () => {
    const id = crypto.randomUUID();
    await send(api, { ...event, id, metadata: {} });
    const again = await send(api, { ...event, id, metadata: undefined });
    expect(again.body.data).toEqual({ accepted: 0, duplicates: 1 });
  });

  test.each([
    { usage: 2 },
    { timestamp: NOW - 1 },
    { metadata: { a: 1 } },
    { external_subscription_id: "a:b c/~" },
  ])("with other content is a 409 that names the place: %j", async (change) => {
    const id = crypto.randomUUID();
    await send(api, { ...event, id });
    const changed = { ...event, id, ...change };
    expect(await send(api, changed)).toMatchObject({ status: 409, body: { details: [{ path: "/id" }] } });
    const fresh = { ...event, id: crypto.randomUUID() };
    const answer = await send(api, { events: [fresh, changed] });
    expect(answer).toMatchObject({ status: 409, body: { details: [{ path: "/1/id" }] } });
    // Whole or not at all.
    expect(await find(fresh.id)).toBeUndefined();
  });

  test("names the first 100 places", async () => {
    const events = Array.from({ length: 101 }, () => ({ ...event, id: crypto.randomUUID() }));
    await send(api, { events });
    const answer = await send(
      api,
      events.map((old) => ({ ...old, usage: 2 })),
    );
    expect(answer.body.error).toContain("101 of 101 ids are used already");
    expect(answer.body.details.map(({ path }: Json) => path)).toEqual(
      events.slice(1).map((_, i) => `/${i}/id`),
    );
  });

  test("within one request follows the same rule", async () => {
    const id = crypto.randomUUID();
    expect(
      (
        await send(api, [
          { ...event, id },
          { ...event, id, usage: 2 },
        ])
      ).status,
    ).toBe(409);
    const answer = await send(api, [
      { ...event, id },
      { ...event, id },
    ]);
    expect(answer).toMatchObject({ status: 201, body: { data: { accepted: 1, duplicates: 1 } } });
  });

  test("sent fifty times at once is stored once", async () => {
    const id = crypto.randomUUID();
    const answers = await Promise.all(Array.from({ length: 50 }, () => send(api, { ...event, id })));
    expect(tally(answers)).toEqual({ 201: 50 });
    expect(answers.reduce((sum, { body }) => sum + body.data.accepted, 0)).toBe(1);
  });

  test("sent at once with different content is stored once, and the others get a conflict", async () => {
    const id = crypto.randomUUID();
    const answers = await Promise.all(
      Array.from({ length: 20 }, (_, usage) => send(api, { ...event, id, usage })),
    );
    expect(tally(answers)).toEqual({ 201: 1, 409: 19 });
    const usage = answers.findIndex(({ status }) => status === 201);
    expect((await find(id)).usage).toBe(usage);
  });

  test("is another event in another company", async () => {
    const id = crypto.randomUUID();
    await send(api, { ...event, id });
    const theirs = await send(other.api, { ...event, id, external_subscription_id: "theirs" });
    expect(theirs.body.data).toEqual({ accepted: 1, duplicates: 0 });
  });
});

describe("the same id again, after its subscription ended", () => {
  const BROKEN = "must be before the subscription's end";
  let tenant: Tenant;
  const stored = { id: uuid(901), external_subscription_id: "ended", usage: 1 };
  const dated = { ...stored, id: uuid(902), timestamp: NOW + HOUR / 2 };
  const fresh = () => ({ ...stored, id: crypto.randomUUID() });

  beforeAll(async () => {
    tenant = await service.addTenant();
    const { id } = await addSubscription(tenant, "ended");
    await addSubscription(tenant, "running");
    expect((await send(tenant.api, [stored, dated])).status).toBe(201);
    await tenant.api("POST", `/subscriptions/${id}/cancel`, { at: "now" });
    clock.set("2026-03-10T12:00:07.000Z");
  });
  afterAll(() => clock.set("2026-03-10T12:00:00.000Z"));

  test.each<[string, () => unknown, number, number | string[]]>([
    ["as it was, without a timestamp", () => stored, 201, 1],
    ["as it was, its timestamp after the end", () => dated, 201, 1],
    ["in a batch, twice", () => [stored, dated, stored], 201, 3],
    ["with another usage", () => ({ ...stored, usage: 2 }), 409, ["/id"]],
    ["with another timestamp after the end", () => ({ ...dated, timestamp: NOW + HOUR }), 409, ["/id"]],
    ["when it was never stored", fresh, 422, ["/timestamp"]],
    ["without an id", () => ({ ...stored, id: undefined }), 422, ["/timestamp"]],
    [
      "beside new ones, which are named",
      () => [stored, fresh(), { ...stored, usage: 2 }, dated, fresh()],
      422,
      ["/1/timestamp", "/4/timestamp"],
    ],
    [
      "with a broken rule, both are named",
      () => [{ ...fresh(), usage: "x" }],
      422,
      ["/0/usage", "/0/timestamp"],
    ],
  ])("%s", async (_, body, status, told) => {
    const answer = await send(tenant.api, body());
    expect(answer.status).toBe(status);
    if (typeof told === "number") expect(answer.body.data).toEqual({ accepted: 0, duplicates: told });
    else expect(answer.body.details.map(({ path }: { path: string }) => path)).toEqual(told);
    if (status === 422) expect(answer.body.error).toContain(BROKEN);
    expect((await search(tenant.api, { external_subscription_ids: ["ended"] })).meta.total).toBe(2);
  });

  test("a batch of a duplicate after the end and a new event is stored", async () => {
    const running = { ...fresh(), external_subscription_id: "running" };
    const answer = await send(tenant.api, [stored, running]);
    expect(answer.body.data).toEqual({ accepted: 1, duplicates: 1 });
  });

  test("a thousand new ones: a hundred are named, and that there are more", async () => {
    const { status, body } = await send(tenant.api, Array.from({ length: 1_000 }, fresh));
    expect([status, body.details.length]).toEqual([422, 100]);
    expect(body.error).toEndWith("; and at least 97 more");
  });
});

test("whatever its id is made of, a subscription is found, and only by that id", async () => {
  const ids = ['"', "\\", "'; --", "[1]", "null", "1", "01", "é𝄞", "e\u0301", "a\u2028b", "x".repeat(190)];
  const tenant = await service.addTenant();
  for (const id of ids) await addSubscription(tenant, id);
  const events = ids.map((external_subscription_id) => ({ external_subscription_id, usage: 1 }));
  expect((await send(tenant.api, events)).body.data).toEqual({ accepted: ids.length, duplicates: 0 });
  const { data } = await search(tenant.api, { aggregate: true, group_by: "subscription" });
  expect(data.length).toBe(ids.length);
  for (const wrong of ["", " ", "1.0", "NULL", "x".repeat(201), "\u00e9"]) {
    expect((await send(tenant.api, { external_subscription_id: wrong, usage: 1 })).status).toBe(422);
  }
});

test("a subscription takes events as soon as it exists", async () => {
  expect((await send(api, { external_subscription_id: "newest", usage: 1 })).status).toBe(422);
  await addSubscription(service, "newest");
  expect((await send(api, { external_subscription_id: "newest", usage: 1 })).status).toBe(201);
});

test("ingest is not counted towards the user's request limit, search is", async () => {
  const limited = await startService({
    clock,
    env: { RATE_LIMIT_ENABLED: "true", RATE_LIMIT_REQUESTS: "20" },
  });
  await addSubscription(limited, "x");
  const events = Array.from({ length: 40 }, () =>
    send(limited.api, { external_subscription_id: "x", usage: 1 }),
  );
  expect(tally(await Promise.all(events))).toEqual({ 201: 40 });
  const searches = await Promise.all(
    Array.from({ length: 40 }, () => limited.api("POST", "/usage/search", {})),
  );
  expect(tally(searches)[429]).toBeGreaterThan(15);
  await limited.stop();
});

test("the OpenAPI document describes the body in each of its media types", async () => {
  const { paths, components } = (await service.anonymous("GET", "origin:/openapi.json")).body;
  const { content } = paths["/api/v1/usage/events"].post.requestBody;
  const { schema } = content["application/json"];
  const cloud_event = { $ref: "#/components/schemas/UsageCloudEvent" };
  expect(content).toEqual({
    "application/json": { schema },
    "application/x-ndjson": { schema: { $ref: "#/components/schemas/NewUsageEvent" } },
    "application/cloudevents+json": { schema: cloud_event },
    "application/cloudevents-batch+json": { schema: { type: "array", items: cloud_event, maxItems: 1_000 } },
  });
  expect(components.schemas.UsageCloudEvent.required).toEqual([
    "specversion",
    "id",
    "source",
    "type",
    "subject",
    "data",
  ]);
  expect(Object.keys(components.schemas.UsageError.properties)).toEqual([
    "error",
    "details",
    "line",
    "accepted",
    "duplicates",
  ]);
  expect(schema.anyOf).toHaveLength(3);
  expect(schema.anyOf[0]).toEqual({ $ref: "#/components/schemas/NewUsageEvent" });
  expect(components.schemas.NewUsageEvent.required).toEqual(["usage"]);
  expect(components.schemas.NewUsageEvent.properties.metadata.description).toContain(
    "whole ones beyond 2^53 are rounded: send long ids as strings",
  );
});
