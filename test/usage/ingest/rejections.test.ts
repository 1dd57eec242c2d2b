import { beforeAll, describe, expect, test } from "bun:test";
import { type Tenant, TestClock, useService } from "../../support/harness.ts";
import { addSubscription, ms, search, send } from "../fixtures.ts";

const NOW = ms("2026-03-10T12:00:00Z");
const HOUR = 3_600_000;

const service = useService({ clock: new TestClock("2026-03-10T12:00:00.000Z") });
const { api } = service;
let other: Tenant;

beforeAll(async () => {
  other = await service.addTenant();
  await addSubscription(service, "acme");
  await addSubscription(other, "theirs");
});

describe("POST /usage/events refuses", () => {
  const good = { external_subscription_id: "acme", usage: 1 };
  const tooDeep = JSON.parse(`${"[".repeat(100)}1${"]".repeat(100)}`);

  const BAD: [body: unknown, details: [path: string, message: string][]][] = [
    [
      {},
      [
        ["/external_subscription_id", "is required"],
        ["/usage", "is required"],
      ],
    ],
    [{ ...good, id: "7" }, [["/id", "must be a UUID"]]],
    [{ ...good, id: 7 }, [["/id", "must be a UUID"]]],
    [{ ...good, id: null }, [["/id", "must be a UUID"]]],
    [{ ...good, subscription_id: "1:acme" }, [["/subscription_id", "must be left out"]]],
    [
      { ...good, external_subscription_id: "nobody" },
      [["/external_subscription_id", "names no subscription"]],
    ],
    [
      { ...good, external_subscription_id: "theirs" },
      [["/external_subscription_id", "names no subscription"]],
    ],
    [{ ...good, external_subscription_id: "ACME" }, [["/external_subscription_id", "names no subscription"]]],
    [{ ...good, external_subscription_id: "" }, [["/external_subscription_id", "names no subscription"]]],
    [
      { ...good, external_subscription_id: "x".repeat(9_999) },
      [["/external_subscription_id", "names no subscription"]],
    ],
    [{ ...good, external_subscription_id: 5 }, [["/external_subscription_id", "must be a string"]]],
    [{ ...good, external_subscription_id: null }, [["/external_subscription_id", "must be a string"]]],
    [{ usage: 1, subscription_id: "acme" }, [["/subscription_id", "names no subscription"]]],
    [{ usage: 1, subscription_id: "999:acme" }, [["/subscription_id", "names no subscription"]]],
    [
      [good, good, good, { usage: 1, subscription_id: "999:acme" }],
      [["/3/subscription_id", "names no subscription"]],
    ],
    [{ usage: 1, subscription_id: 5 }, [["/subscription_id", "must be a string"]]],
    [{ ...good, timestamp: "2026-03-10" }, [["/timestamp", "whole number"]]],
    [{ ...good, timestamp: null }, [["/timestamp", "whole number"]]],
    [{ ...good, timestamp: 1.5 }, [["/timestamp", "whole number"]]],
    [{ ...good, timestamp: -1 }, [["/timestamp", "whole number"]]],
    [{ ...good, timestamp: 1e15 }, [["/timestamp", "at most an hour in the future"]]],
    [{ ...good, timestamp: 1e300 }, [["/timestamp", "at most an hour in the future"]]],
    [{ ...good, timestamp: NOW + HOUR + 1 }, [["/timestamp", "at most an hour in the future"]]],
    [
      { ...good, timestamp: ms("2019-12-31T23:59:59.999Z") },
      [["/timestamp", "before the subscription's start"]],
    ],
    [{ ...good, usage: "1" }, [["/usage", "must be a number"]]],
    [{ ...good, usage: null }, [["/usage", "must be a number"]]],
    [{ ...good, usage: 1e12 }, [["/usage", "under 1e12"]]],
    [{ ...good, usage: -1e12 }, [["/usage", "under 1e12"]]],
    [{ ...good, metadata: null }, [["/metadata", "must be an object"]]],
    [{ ...good, metadata: [] }, [["/metadata", "must be an object"]]],
    [{ ...good, metadata: "{}" }, [["/metadata", "must be an object"]]],
    [
      { ...good, metadata: Object.fromEntries(Array.from({ length: 51 }, (_, i) => [i, i])) },
      [["/metadata", "50 keys"]],
    ],
    [{ ...good, metadata: { k: "x".repeat(16_384) } }, [["/metadata", "16384 bytes"]]],
    [{ ...good, metadata: { k: "é".repeat(8_190) } }, [["/metadata", "16384 bytes"]]],
    [{ ...good, metadata: { k: tooDeep } }, [["/metadata", "nested"]]],
    [{ ...good, metadata: { k: "\ud800" } }, [["/metadata/k", "surrogate"]]],
    [{ ...good, metadata: { k: "a\0b" } }, [["/metadata/k", "NUL"]]],
    [
      { ...good, quantity: 1, "a/b": 2 },
      [
        ["/quantity", "is not a known field"],
        ["/a~1b", "is not a known field"],
      ],
    ],
    [5, [["", "must be an event"]]],
    [null, [["", "must be an event"]]],
    [[], [["", "1 to 1000 events"]]],
    [{ events: [] }, [["", "1 to 1000 events"]]],
    [{ events: good }, [["/events", "must be an array"]]],
    [{ events: [good], usage: 1 }, [["/usage", "is not a known field"]]],
    [
      [good, 5, null, [good]],
      [
        ["/1", "must be an object"],
        ["/2", "must be an object"],
        ["/3", "must be an object"],
      ],
    ],
  ];

  test.each(BAD.map(([body, details]) => ({ body, details, name: JSON.stringify(body).slice(0, 120) })))(
    "with a 422: $name",
    async ({ body, details }) => {
      const answer = await send(api, body);
      expect(answer.status).toBe(422);
      expect(answer.body.details.map(({ path }: { path: string }) => path)).toEqual(
        details.map(([path]) => path),
      );
      for (const [i, [, message]] of details.entries())
        expect(answer.body.details[i].message).toContain(message);
      expect(answer.body.error).toBeString();
    },
  );

  test("1e999, which JSON reads as infinite, is a 422", async () => {
    const answer = await send(api, '{"external_subscription_id":"acme","usage":1e999}');
    expect(answer).toMatchObject({ status: 422, body: { details: [{ path: "/usage" }] } });
  });

  test("every broken event is named, alike for an array and {events}, and none is stored", async () => {
    const tenant = await service.addTenant();
    await addSubscription(tenant, "acme");
    const events = [
      good,
      { ...good, usage: "x" },
      good,
      { ...good, usage: 1e12, timestamp: -1 },
      { usage: 1 },
    ];
    for (const body of [events, { events }]) {
      const { status, body: answer } = await send(tenant.api, body);
      const paths = answer.details.map(({ path }: { path: string }) => path);
      expect([status, paths]).toEqual([
        422,
        ["/1/usage", "/3/timestamp", "/3/usage", "/4/external_subscription_id"],
      ]);
    }
    expect((await search(tenant.api, {})).meta.total).toBe(0);
  });

  test.each([
    [3, 3, /metadata$|usage must be a number$/],
    [4, 4, /; and 1 more$/],
    [100, 100, /; and 97 more$/],
    [101, 100, /; and at least 97 more$/],
    [1_000, 100, /; and at least 97 more$/],
  ])(
    "with %d broken rules: %d are named, the first, and the message says %p",
    async (broken, named, said) => {
      const events = Array.from({ length: broken }, () => ({ ...good, usage: "x" }));
      const { body } = await send(api, events);
      expect(body.details).toHaveLength(named);
      expect(body.details.at(-1).path).toBe(`/${named - 1}/usage`);
      expect(body.error).toMatch(said);
    },
  );

  test("with a hundred of an event's thousands of unknown fields", async () => {
    const fields = Object.fromEntries(Array.from({ length: 5_000 }, (_, i) => [`f${i}`, i]));
    const { body } = await send(api, [good, { ...good, ...fields }, { ...good, usage: "x" }]);
    expect(body.details).toHaveLength(100);
    expect(body.details.at(-1).path).toBe("/1/f99");
    expect(body.error).toEndWith("; and at least 97 more");
  });

  test("1,000 events are stored and 1,001 are a 413, as is a body over 5 MB", async () => {
    const tenant = await service.addTenant();
    await addSubscription(tenant, "acme");
    const events = Array.from({ length: 1_001 }, () => good);
    expect((await send(tenant.api, events)).status).toBe(413);
    expect((await send(tenant.api, { events })).status).toBe(413);
    expect((await send(tenant.api, events.slice(1))).body.data).toEqual({ accepted: 1_000, duplicates: 0 });
    const big = { ...good, metadata: { k: "x".repeat(5 * 1024 * 1024) } };
    expect((await send(tenant.api, big)).status).toBe(413);
    expect((await search(tenant.api, { limit: 1 })).meta.total).toBe(1_000);
  });

  test.each([
    "text/plain",
    "text/csv",
    "application/ndjson",
    "application/cloudevents",
    "application/cloudevents+avro",
    "application/x-ndjson; charset=utf-16",
    "application/json, application/x-ndjson",
  ])("%s: a 415 names what may be sent", async (type) => {
    const answer = await api("POST", "/usage/events", good, { "content-type": type });
    expect([answer.status, answer.body.error]).toEqual([
      415,
      `Cannot read ${type}: send application/json, application/x-ndjson, application/cloudevents+json or ` +
        "application/cloudevents-batch+json in UTF-8",
    ]);
  });

  test("JSON that is none is a 400; no body is a 422; other methods are a 405", async () => {
    expect((await send(api, "{")).status).toBe(400);
    expect((await api("POST", "/usage/events")).status).toBe(422);
    expect((await api("GET", "/usage/events")).status).toBe(405);
  });

  test("analysts, client users and strangers may not ingest", async () => {
    const { client_id } = await addSubscription(service, "for access");
    const analyst = await service.addUser(service, "analyst");
    const client = await service.addUser(service, "client", client_id);
    const manager = await service.addUser(service, "manager");
    const statuses = [];
    for (const caller of [service.anonymous, analyst, client, manager])
      statuses.push((await send(caller, good)).status);
    expect(statuses).toEqual([401, 403, 403, 201]);
  });
});
