import { beforeAll, describe, expect, test } from "bun:test";
import { type Tenant, TestClock, useService } from "../../support/harness.ts";
import { addSubscription, ms, search, uuid } from "../fixtures.ts";

const NOW = ms("2026-03-10T12:00:00Z");
const ONE = "application/cloudevents+json";
const BATCH = "application/cloudevents-batch+json";

const service = useService({ clock: new TestClock("2026-03-10T12:00:00.000Z") });
let other: Tenant;

beforeAll(async () => {
  other = await service.addTenant();
  await addSubscription(service, "acme");
  await addSubscription(other, "theirs");
});

const good = {
  specversion: "1.0",
  id: "A234-1234-1234",
  source: "https://metering.example/gateway",
  type: "com.example.usage",
  subject: "acme",
  time: "2026-03-10T11:00:00Z",
  datacontenttype: "application/json",
  data: { usage: 1.5, metadata: { b: 2, a: 1 } },
};

function send(
  body: unknown,
  type = Array.isArray(body) ? BATCH : ONE,
  { api }: Pick<Tenant, "api"> = service,
) {
  return api("POST", "/usage/events", body, { "content-type": type });
}

/** What is stored of one CloudEvent, sent to a company of its own. */
async function storedOf(event: object) {
  const tenant = await service.addTenant();
  await addSubscription(tenant, "acme");
  expect(await send(event, ONE, tenant)).toMatchObject({
    status: 201,
    body: { data: { accepted: 1, duplicates: 0 } },
  });
  return (await search(tenant.api, {})).data[0];
}

describe("a CloudEvent", () => {
  test("is stored as the event that it means", async () => {
    expect(await storedOf(good)).toMatchObject({
      subscription_id: expect.stringMatching(/^\d+:acme$/),
      timestamp: ms("2026-03-10T11:00:00Z"),
      usage: 1.5,
      metadata: { a: 1, b: 2 },
    });
  });

  test.each([
    ["its id, a UUID, as it is", { id: uuid(7) }, uuid(7)],
    [
      "a UUID in lower case",
      { id: "ABCDEF00-0000-4000-8000-00000000ABCD" },
      "abcdef00-0000-4000-8000-00000000abcd",
    ],
    [
      "another id as the UUIDv5 of source#id in the URL namespace",
      // uuid.uuid5(uuid.NAMESPACE_URL, "https://metering.example/gateway#A234-1234-1234")
      {},
      "c8ddd32d-327a-5730-a418-30143ab565ee",
    ],
    [
      "a UUID in braces as any other id",
      { id: `{${uuid(7)}}`, source: "/s" },
      "41d5d4ea-a128-5df3-9ebe-b7311b3da4b0",
    ],
  ])("has %s", async (_, change, id) => {
    expect((await storedOf({ ...good, ...change })).id).toBe(id);
  });

  test.each([
    ["2026-03-10T11:00:00Z", "2026-03-10T11:00:00Z"],
    ["2026-03-10t11:00:00z", "2026-03-10T11:00:00Z"],
    ["2026-03-10T12:30:00+01:30", "2026-03-10T11:00:00Z"],
    ["2026-03-10T11:00:00.1Z", "2026-03-10T11:00:00.100Z"],
    ["2026-03-10T11:00:00.123999999999999Z", "2026-03-10T11:00:00.123Z"],
    ["2026-03-10T10:59:60Z", "2026-03-10T10:59:59Z"],
  ])("may have the time %s", async (time, stored) => {
    expect((await storedOf({ ...good, time })).timestamp).toBe(ms(stored));
  });

  test("without a time is of now; attributes that are null are absent; metadata may be left out", async () => {
    const nulls = { time: null, datacontenttype: null, dataschema: null };
    for (const change of [{ time: undefined }, nulls]) {
      const event = await storedOf({ ...good, ...change, data: { usage: 2 } });
      expect(event).toMatchObject({ timestamp: NOW, usage: 2, metadata: {} });
    }
  });

  test.each([
    "application/json",
    "Application/JSON; charset=utf-8",
    "application/vnd.usage+json",
    "text/json",
  ])("may have data of type %s", async (datacontenttype) => {
    expect((await storedOf({ ...good, datacontenttype })).usage).toBe(1.5);
  });

  test("may have extension attributes, which are not kept", async () => {
    const extensions = {
      dataschema: "https://x.example/s",
      traceparent: "00-1-2-01",
      sampledrate: 3,
      x1: true,
    };
    expect((await storedOf({ ...good, ...extensions })).metadata).toEqual({ a: 1, b: 2 });
  });

  test("sent again is a duplicate; from another source it is another event", async () => {
    const event = { ...good, id: "again" };
    const counts = [];
    for (const change of [{}, {}, { source: "/other" }, { traceparent: "00-1-2-01" }]) {
      counts.push((await send({ ...event, ...change })).body.data);
    }
    expect(counts).toEqual([
      { accepted: 1, duplicates: 0 },
      { accepted: 0, duplicates: 1 },
      { accepted: 1, duplicates: 0 },
      { accepted: 0, duplicates: 1 },
    ]);
  });

  test("is told from one whose source and id read the same together", async () => {
    const tenant = await service.addTenant();
    await addSubscription(tenant, "acme");
    const pairs = [
      ["/a#b", "c"],
      ["/a", "b#c"],
      ["/a#b#c", "d"],
      ["/a", "b#c#d"],
      ['["/a', 'b","c"]'],
    ] as const;
    for (const [source, id] of pairs) {
      const event = { ...good, source, id };
      expect((await send(event, ONE, tenant)).body.data).toEqual({ accepted: 1, duplicates: 0 });
      expect((await send(event, ONE, tenant)).body.data).toEqual({ accepted: 0, duplicates: 1 });
    }
    const again = pairs.map(([source, id]) => ({ ...good, source, id }));
    expect((await send(again, BATCH, tenant)).body.data).toEqual({ accepted: 0, duplicates: pairs.length });
    const other_content = { ...good, source: "/a", id: "b#c", data: { usage: 9 } };
    expect((await send(other_content, ONE, tenant)).status).toBe(409);
  });

  test("that an earlier release stored under another id is a duplicate still", async () => {
    const tenant = await service.addTenant();
    await addSubscription(tenant, "acme");
    const former = (source: string, id: string) => Bun.randomUUIDv5(`${source}#${id}`, "url");
    const { time, data } = good;
    const stored = Array.from({ length: 150 }, (_, i) => ({
      id: former("/gate#1", `e${i}`),
      external_subscription_id: "acme",
      timestamp: ms(time),
      ...data,
    }));
    expect((await tenant.api("POST", "/usage/events", stored)).status).toBe(201);
    // As many repeats as there were, as many with other content and as many that are new, in turns.
    const sent = Array.from({ length: 450 }, (_, i) => {
      const event = { ...good, source: "/gate#1", id: `e${Math.floor(i / 3)}` };
      if (i % 3 === 1) return { ...event, source: "/gate", id: `1#${event.id}`, data: { usage: 7 } };
      return i % 3 === 2 ? { ...event, id: `new ${event.id}` } : event;
    });
    expect((await send(sent, BATCH, tenant)).body.data).toEqual({ accepted: 300, duplicates: 150 });
    expect((await send(sent, BATCH, tenant)).body.data).toEqual({ accepted: 0, duplicates: 450 });
    const { data: found } = await search(tenant.api, { aggregate: true });
    expect(found[0]).toMatchObject({ event_count: 450, total_usage: 300 * 1.5 + 150 * 7 });
  });

  test("and a usage event with its UUID are the same event", async () => {
    const id = crypto.randomUUID();
    await send({ ...good, id });
    const { usage, metadata } = good.data;
    const event = { id, external_subscription_id: "acme", timestamp: ms(good.time), usage, metadata };
    expect((await service.api("POST", "/usage/events", event)).body.data).toEqual({
      accepted: 0,
      duplicates: 1,
    });
  });

  test("with an id that is taken by other content is a 409", async () => {
    const event = { ...good, id: "taken" };
    await send(event);
    const changed = { ...event, data: { usage: 9 } };
    expect(await send(changed)).toMatchObject({ status: 409, body: { details: [{ path: "/id" }] } });
    expect(await send([good, changed])).toMatchObject({
      status: 409,
      body: { details: [{ path: "/1/id" }] },
    });
  });
});

describe("a batch of CloudEvents", () => {
  test.each([0, 1, 1_000])("may hold %d", async (count) => {
    const tenant = await service.addTenant();
    await addSubscription(tenant, "acme");
    const events = Array.from({ length: count }, (_, i) => ({ ...good, id: String(i) }));
    const answer = await send(events, BATCH, tenant);
    expect(answer).toMatchObject({ status: 201, body: { data: { accepted: count, duplicates: 0 } } });
    expect((await search(tenant.api, { limit: 1 })).meta.total).toBe(count);
  });

  test("of 1,001 is a 413", async () => {
    const events = Array.from({ length: 1_001 }, (_, i) => ({ ...good, id: String(i) }));
    expect((await send(events)).status).toBe(413);
  });

  test("is stored whole or not at all, and every broken rule is named", async () => {
    const tenant = await service.addTenant();
    await addSubscription(tenant, "acme");
    const { subject: _, ...without_subject } = good;
    const events = [
      good,
      { ...good, id: "1", specversion: "0.3", data: { usage: "x", quantity: 1 } },
      without_subject,
      5,
      { ...good, id: "4", subject: "nobody", time: "2026-03-10T14:00:00Z" },
    ];
    const { status, body } = await send(events, BATCH, tenant);
    expect([status, body.details.map(({ path }: { path: string }) => path)]).toEqual([
      422,
      ["/1/specversion", "/1/data/quantity", "/1/data/usage", "/2/subject", "/3", "/4/subject", "/4/time"],
    ]);
    expect(body.error).toContain("1/specversion must be");
    expect((await search(tenant.api, {})).meta.total).toBe(0);
  });

  test("with a hundred broken rules of thousands: so many are named", async () => {
    const names = Object.fromEntries(Array.from({ length: 5_000 }, (_, i) => [`Wrong_${i}`, i]));
    const { body } = await send([good, { ...good, ...names }, { ...good, data: 5 }]);
    expect(body.details).toHaveLength(100);
    expect(body.error).toEndWith("; and at least 97 more");
  });
});

describe("POST /usage/events refuses", () => {
  const BAD: [change: object, details: [path: string, message: string][]][] = [
    [{ specversion: undefined }, [["/specversion", 'must be "1.0"']]],
    [{ specversion: 1 }, [["/specversion", 'must be "1.0"']]],
    [{ specversion: "1.1" }, [["/specversion", 'must be "1.0"']]],
    [{ id: undefined }, [["/id", "is required"]]],
    [{ id: null }, [["/id", "is required"]]],
    [{ id: "" }, [["/id", "must be a non-empty string"]]],
    [{ id: 5 }, [["/id", "must be a non-empty string"]]],
    [{ source: undefined }, [["/source", "is required"]]],
    [{ source: "" }, [["/source", "must be a non-empty string"]]],
    [{ type: undefined }, [["/type", "is required"]]],
    [{ type: {} }, [["/type", "must be a non-empty string"]]],
    [{ subject: undefined }, [["/subject", "is required"]]],
    [{ subject: ["acme"] }, [["/subject", "must be a non-empty string"]]],
    [{ subject: "nobody" }, [["/subject", "names no subscription"]]],
    [{ subject: "theirs" }, [["/subject", "names no subscription"]]],
    [{ subject: "1:acme" }, [["/subject", "names no subscription"]]],
    [{ time: NOW }, [["/time", "RFC 3339"]]],
    [{ time: "" }, [["/time", "RFC 3339"]]],
    [{ time: "2026-03-10" }, [["/time", "RFC 3339"]]],
    [{ time: "2026-03-10T11:00:00" }, [["/time", "RFC 3339"]]],
    [{ time: "2026-03-10T11:00Z" }, [["/time", "RFC 3339"]]],
    [{ time: "2026-13-10T11:00:00Z" }, [["/time", "RFC 3339"]]],
    [{ time: "2026-02-30T11:00:00Z" }, [["/time", "RFC 3339"]]],
    [{ time: "2026-03-10 11:00:00Z" }, [["/time", "RFC 3339"]]],
    [{ time: "2026-03-10T11:00:00Z[UTC]" }, [["/time", "RFC 3339"]]],
    [{ time: "1969-12-31T23:59:59Z" }, [["/time", "must not be before 1970"]]],
    [{ time: "2026-03-10T13:00:00.001Z" }, [["/time", "at most an hour in the future"]]],
    [{ time: "2019-12-31T23:59:59Z" }, [["/time", "must not be before the subscription's start"]]],
    [{ datacontenttype: "text/plain" }, [["/datacontenttype", "must be a JSON media type"]]],
    [{ datacontenttype: "application/jsonx" }, [["/datacontenttype", "must be a JSON media type"]]],
    [{ datacontenttype: 5 }, [["/datacontenttype", "must be a JSON media type"]]],
    [{ data: undefined }, [["/data", "is required"]]],
    [{ data: null }, [["/data", "must be an object with usage"]]],
    [{ data: "1.5" }, [["/data", "must be an object with usage"]]],
    [{ data: [] }, [["/data", "must be an object with usage"]]],
    [
      { data: undefined, data_base64: "eyJ1c2FnZSI6MX0=" },
      [["/data_base64", "send data, with usage and metadata"]],
    ],
    [{ data_base64: "eyJ1c2FnZSI6MX0=" }, [["/data_base64", "send data, with usage and metadata"]]],
    [{ data: {} }, [["/data/usage", "is required"]]],
    [{ data: { usage: "1" } }, [["/data/usage", "must be a number"]]],
    [{ data: { usage: 1e12 } }, [["/data/usage", "under 1e12"]]],
    [{ data: { usage: 1, metadata: [] } }, [["/data/metadata", "must be an object"]]],
    [{ data: { usage: 1, metadata: { k: "x".repeat(16_384) } } }, [["/data/metadata", "16384 bytes"]]],
    [{ data: { usage: 1, "a/b": 1 } }, [["/data/a~1b", "is not a known field; known are usage, metadata"]]],
    [{ data: { usage: 1, timestamp: 5 } }, [["/data/timestamp", "is not a known field"]]],
    [{ Time: "2026-03-10T11:00:00Z" }, [["/Time", "is not an attribute"]]],
    [{ "my-ext": 1 }, [["/my-ext", "is not an attribute"]]],
    [
      { id: "", data: { usage: null }, time: "x", subject: "" },
      [
        ["/id", "non-empty"],
        ["/subject", "non-empty"],
        ["/time", "RFC 3339"],
        ["/data/usage", "must be a number"],
      ],
    ],
  ];

  test.each(
    BAD.map(([change, details]) => ({ name: JSON.stringify(change).slice(0, 100), change, details })),
  )("a CloudEvent with $name", async ({ change, details }) => {
    const event = { ...good, id: crypto.randomUUID(), ...change };
    for (const [body, place] of [
      [event, ""],
      [[{ ...good, id: crypto.randomUUID() }, event], "/1"],
    ] as const) {
      const answer = await send(body);
      expect(answer.status).toBe(422);
      expect(answer.body.details.map(({ path }: { path: string }) => path)).toEqual(
        details.map(([path]) => place + path),
      );
      for (const [i, [, message]] of details.entries())
        expect(answer.body.details[i].message).toContain(message);
    }
  });

  test.each([
    [ONE, [good], "must be a CloudEvent, not an array"],
    [ONE, 5, "must be an object"],
    [ONE, null, "must be an object"],
    [BATCH, good, "must be an array of CloudEvents"],
    [BATCH, { events: [good] }, "must be an array of CloudEvents"],
  ])("as %s: %j", async (type, body, message) => {
    const answer = await send(JSON.stringify(body), type);
    expect([answer.status, answer.body.details]).toEqual([
      422,
      [{ path: "", message: expect.stringContaining(message) }],
    ]);
  });

  test.each(["application/json", "application/x-ndjson"])(
    "binary mode, whose attributes are in headers, as %s",
    async (type) => {
      const headers = {
        "content-type": type,
        "ce-specversion": "1.0",
        "ce-id": "1",
        "ce-source": "/s",
        "ce-type": "t",
      };
      const answer = await service.api("POST", "/usage/events", { usage: 1 }, headers);
      expect([answer.status, answer.body.error]).toEqual([
        415,
        expect.stringContaining("send it in structured mode"),
      ]);
    },
  );

  test("a CloudEvent that is not JSON or too large, like any body", async () => {
    expect((await send("{", ONE)).status).toBe(400);
    expect((await send(" ".repeat(5 * 1024 * 1024 + 1), BATCH)).status).toBe(413);
  });
});

test("structured mode may repeat its attributes in headers", async () => {
  const headers = { "content-type": ONE, "ce-specversion": "1.0", "ce-id": "other" };
  const event = { ...good, id: crypto.randomUUID() };
  expect((await service.api("POST", "/usage/events", event, headers)).status).toBe(201);
});

test("analysts, client users and strangers may not send CloudEvents", async () => {
  const { client_id } = await addSubscription(service, "for access");
  const analyst = await service.addUser(service, "analyst");
  const client = await service.addUser(service, "client", client_id);
  const statuses = [];
  for (const api of [service.anonymous, analyst, client])
    statuses.push((await send(good, ONE, { api })).status);
  expect(statuses).toEqual([401, 403, 403]);
});
