import { afterAll, beforeAll, expect, test } from "bun:test";
import { SHARED_LIMITS } from "../../src/core/limits.ts";
import { addSubscription } from "../usage/fixtures.ts";
import { type Service, startService, TestClock } from "../support/harness.ts";

// Requests that are refused count against whoever sent them.

const START = "2026-03-10T12:00:00.000Z";
const clock = new TestClock(START);
const limits = { ...SHARED_LIMITS };

let service: Service;

beforeAll(async () => {
  Object.assign(SHARED_LIMITS, { refused_minute: 6 });
  service = await startService({ clock, env: { RATE_LIMIT_ENABLED: "true", RATE_LIMIT_LOGIN: "1000" } });
  Object.assign(SHARED_LIMITS, limits);
  await addSubscription(service, "acme");
});
afterAll(() => service.stop());

const times = <T>(count: number, work: (i: number) => Promise<T>) =>
  Promise.all(Array.from({ length: count }, (_, i) => work(i)));

test("of nobody's, against the address, whose signed-in callers go on", async () => {
  const kinds = [
    "{",
    "}",
    "[]",
    '{"email":1}',
    '{"email":"a@b.example","password":"x","more":1}',
    `{"a":"${"x".repeat(20_000)}"}`,
  ];
  const refused = await times(6, (i) => service.anonymous("POST", "/login", kinds[i]));
  expect(refused.map(({ status }) => status).toSorted((a, b) => a - b)).toEqual([
    400, 400, 413, 422, 422, 422,
  ]);
  const next = await service.anonymous("POST", "/login", "{");
  expect([next.status, Number(next.headers.get("retry-after")) > 0]).toEqual([429, true]);
  expect((await service.api("POST", "/clients", { name: "Acme" })).status).toBe(201);
  clock.set("2026-03-10T12:02:00.000Z");
  expect((await service.anonymous("POST", "/login", "{")).status).toBe(400);
});

test("with tokens that are none", async () => {
  clock.set("2026-03-10T12:10:00.000Z");
  const ask = (token: string) =>
    service.anonymous("GET", "/clients", undefined, { authorization: `Bearer ${token}` });
  expect((await times(6, (i) => ask(`made-up-${i}`))).map(({ status }) => status)).toEqual(
    Array(6).fill(401),
  );
  expect((await ask("made-up")).status).toBe(429);
  expect((await service.api("GET", "/clients")).status).toBe(200);
});

test("of a user's, those with a large body, also of events; its small ones go on", async () => {
  const large = JSON.stringify({
    external_subscription_id: "acme",
    usage: 1,
    metadata: { a: "x".repeat(70_000) },
  });
  const send = (body: unknown) => service.api("POST", "/usage/events", body);
  expect((await times(6, () => send(large))).map(({ status }) => status)).toEqual(Array(6).fill(422));
  expect((await send(large)).status).toBe(429);
  expect((await service.api("POST", "/clients", large)).status).toBe(429);
  expect((await send({ external_subscription_id: "acme", usage: 1 })).status).toBe(201);
  expect((await times(8, () => send({ usage: 1 }))).map(({ status }) => status)).toEqual(Array(8).fill(422));
  clock.set("2026-03-10T12:20:00.000Z");
  const other = await service.addTenant();
  await addSubscription(other, "acme");
  expect((await other.api("POST", "/usage/events", large)).status).toBe(422);
});
