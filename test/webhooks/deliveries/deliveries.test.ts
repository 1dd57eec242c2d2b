import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { Webhook } from "standardwebhooks";
import { INSTANCES, type Json, type Tenant, useService } from "../../support/harness.ts";
import {
  addWebhook,
  isSigned,
  logThat,
  MovingClock,
  openReceiver,
  type Receiver,
  settled,
  until,
} from "../../support/webhook_receiver.ts";

const clock = new MovingClock();
const service = useService({ clock, env: { NODE_ENV: "development" } });
let tenant: Tenant;
let receiver: Receiver;

beforeEach(async () => {
  tenant = await service.addTenant();
  receiver = openReceiver();
});
afterEach(() => receiver.stop());

/** Makes one event happen, and returns the client that it tells of. */
async function addClient(): Promise<number> {
  return (await tenant.api("POST", "/clients", { name: "Acme" })).body.data.id;
}

const ok = () => new Response("thanks");

test("an event is delivered, thin, with the specification's headers, and the log tells of it", async () => {
  const { id: endpoint_id, secret } = await addWebhook(tenant.api, receiver.url);
  const id = await addClient();
  const [call] = await receiver.calls(1);
  if (!call) throw new Error("no call");
  const [event] = (await tenant.api("GET", "/events")).body.data;
  expect(call.body).toEqual({ type: "client.created", timestamp: event.created_at, data: { id } });
  expect(call.headers).toMatchObject({
    "content-type": "application/json",
    "webhook-id": event.message_id,
    host: new URL(receiver.url).host,
  });
  expect(call.path).toBe("/hooks");
  if (Math.abs(clock.now().epochMilliseconds - Date.now()) < 60_000)
    expect(new Webhook(secret).verify(call.text, call.headers)).toEqual(call.body);
  expect(() => new Webhook(secret).verify(`${call.text} `, call.headers)).toThrow();

  const log = await settled(tenant.api, endpoint_id);
  expect(log).toEqual({
    id: expect.any(Number),
    company_id: tenant.company_id,
    endpoint_id,
    message_id: event.message_id,
    event_type: "client.created",
    url: receiver.url,
    payload: call.body,
    status: "succeeded",
    attempts: [
      {
        no: 1,
        at: expect.any(String),
        status_code: 200,
        duration_ms: expect.any(Number),
        response_excerpt: "thanks",
        error: null,
      },
    ],
    next_attempt_at: null,
    created_at: expect.any(String),
    updated_at: expect.any(String),
  });
  expect((await tenant.api("GET", `/webhook-logs/${log.id}`)).body.data).toEqual(log);
});

test("endpoints get what they subscribed to, and their own company's events only", async () => {
  const other = await service.addTenant();
  const [all, some, foreign] = [openReceiver(), openReceiver(), openReceiver()];
  await addWebhook(tenant.api, all.url);
  await addWebhook(tenant.api, some.url, ["product.*", "client.deleted"]);
  await addWebhook(other.api, foreign.url);
  const id = await addClient();
  await tenant.api("PUT", `/clients/${id}`, { name: "Acme Ltd" });
  await tenant.api("DELETE", `/clients/${id}`);
  await tenant.api("POST", "/products", { name: "Tokens" });
  await all.calls(4);
  await some.calls(2);
  await other.api("POST", "/products", { name: "Theirs" });
  await foreign.calls(1);
  expect(all.types().toSorted()).toEqual([
    "client.created",
    "client.deleted",
    "client.updated",
    "product.created",
  ]);
  expect(some.types().toSorted()).toEqual(["client.deleted", "product.created"]);
  expect(foreign.types()).toEqual(["product.created"]);
  await Promise.all([all.stop(), some.stop(), foreign.stop()]);
});

test("a failed attempt is made again after its step, with the same id and a new timestamp, until it succeeds", async () => {
  const { id: endpoint_id, secret } = await addWebhook(tenant.api, receiver.url);
  receiver.answer(() => new Response("broken", { status: 500 }));
  await addClient();
  const first = await logThat(tenant.api, endpoint_id, (log) => log.attempts.length === 1);
  expect(first).toMatchObject({
    status: "pending",
    attempts: [{ no: 1, status_code: 500, response_excerpt: "broken", error: "Answered 500" }],
  });
  const wait_ms = Date.parse(first.next_attempt_at) - Date.parse(first.updated_at);
  expect(wait_ms).toBeGreaterThanOrEqual(5_000 - 200);
  expect(wait_ms).toBeLessThanOrEqual(6_000);

  await Bun.sleep(600);
  expect(receiver.received.length, "too early").toBe(1);
  clock.advance({ seconds: 7 });
  await logThat(tenant.api, endpoint_id, (log) => log.attempts.length === 2);
  receiver.answer(ok);
  clock.advance({ minutes: 7 });
  const log = await settled(tenant.api, endpoint_id);
  expect(log).toMatchObject({ status: "succeeded", next_attempt_at: null });
  expect(log.attempts.map(({ no, status_code }: Json) => [no, status_code])).toEqual([
    [1, 500],
    [2, 500],
    [3, 200],
  ]);
  const calls = receiver.received;
  expect(new Set(calls.map(({ headers }) => headers["webhook-id"])).size).toBe(1);
  expect(new Set(calls.map(({ text }) => text)).size).toBe(1);
  expect(new Set(calls.map(({ headers }) => headers["webhook-timestamp"])).size).toBe(3);
  for (const call of calls) expect(isSigned(call, secret)).toBeTrue();
});

test("after ten attempts it has failed for good", async () => {
  const { id: endpoint_id } = await addWebhook(tenant.api, receiver.url);
  receiver.answer(() => new Response(null, { status: 503 }));
  await addClient();
  let { api } = tenant;
  for (let attempts = 1; attempts <= 10; attempts++) {
    await logThat(api, endpoint_id, (log) => log.attempts.length === attempts);
    clock.advance({ hours: 30 });
    api = await service.signIn(tenant.admin_email);
  }
  const log = await settled(api, endpoint_id);
  expect(log).toMatchObject({ status: "failed", next_attempt_at: null });
  await Bun.sleep(600);
  expect(receiver.received.length).toBe(10);
  expect((await api("GET", `/webhooks/${endpoint_id}`)).body.data.status).toBe("active");
});

test("Retry-After puts the next attempt off", async () => {
  const { id: endpoint_id } = await addWebhook(tenant.api, receiver.url);
  receiver.answer(() => new Response("busy", { status: 429, headers: { "retry-after": "60" } }));
  await addClient();
  const log = await logThat(tenant.api, endpoint_id, ({ attempts }) => attempts.length === 1);
  const wait_ms = Date.parse(log.next_attempt_at) - Date.parse(log.updated_at);
  expect(wait_ms).toBeGreaterThan(59_000);
  expect(wait_ms).toBeLessThanOrEqual(60_000);
  receiver.answer(ok);
  clock.advance({ seconds: 61 });
  expect((await settled(tenant.api, endpoint_id)).status).toBe("succeeded");
});

test("410 disables the endpoint and gives up what is pending; status active revives it", async () => {
  const { id: endpoint_id } = await addWebhook(tenant.api, receiver.url);
  receiver.answer(() => new Response("broken", { status: 500 }));
  await addClient();
  const waiting = await logThat(tenant.api, endpoint_id, ({ attempts }) => attempts.length === 1);
  receiver.answer(() => new Response(null, { status: 410 }));
  await addClient();
  const path = `/webhooks/${endpoint_id}`;
  await until(async () => (await tenant.api("GET", path)).body.data.status === "disabled", "410 to disable");
  expect((await tenant.api("GET", path)).body.data.disabled_reason).toBe("It answered 410 Gone");
  const told = await tenant.api("GET", `/audit-log?target_type=webhook&target_id=${endpoint_id}`);
  expect(told.body.data[0]).toMatchObject({ operation: "disable_webhook", actor: { kind: "system" } });
  const { body } = await tenant.api("GET", `/webhook-logs?endpoint_id=${endpoint_id}`);
  expect(body.data.map(({ status }: Json) => status)).toEqual(["failed", "failed"]);
  expect((await tenant.api("POST", `/webhook-logs/${waiting.id}/redeliver`)).status).toBe(409);
  await addClient();
  await Bun.sleep(600);
  expect(receiver.received.length, "a disabled endpoint is told of nothing").toBe(2);

  receiver.answer(ok);
  await tenant.api("PUT", path, { url: receiver.url, event_types: ["*"], status: "active" });
  await addClient();
  await logThat(tenant.api, endpoint_id, ({ status }) => status === "succeeded");
  expect((await tenant.api("POST", `/webhook-logs/${waiting.id}/redeliver`)).status).toBe(202);
  await receiver.calls(4);
});

test("a redirect is not followed", async () => {
  const elsewhere = openReceiver();
  const { id: endpoint_id } = await addWebhook(tenant.api, receiver.url);
  receiver.answer(() => Response.redirect(elsewhere.url, 307));
  await addClient();
  const log = await logThat(tenant.api, endpoint_id, ({ attempts }) => attempts.length === 1);
  expect(log).toMatchObject({
    status: "pending",
    attempts: [{ status_code: 307, error: "Answered 307: redirects are not followed" }],
  });
  expect(elsewhere.received).toEqual([]);
  await elsewhere.stop();
});

test("a slow endpoint and a backlog of its own delay no other", async () => {
  const slow = openReceiver();
  const release = Promise.withResolvers<void>();
  slow.answer(async () => {
    await release.promise;
    return ok();
  });
  await addWebhook(tenant.api, slow.url);
  for (let i = 0; i < 30; i++) await addClient();
  await slow.calls(4);
  const { id: endpoint_id } = await addWebhook(tenant.api, receiver.url);
  await addClient();
  // The slow one is not released yet.
  expect((await settled(tenant.api, endpoint_id)).status).toBe("succeeded");
  expect(slow.received.length, "attempts at once for one endpoint").toBe(4);
  release.resolve();
  await slow.calls(31);
  expect(new Set(slow.received.map(({ headers }) => headers["webhook-id"])).size).toBe(31);
  await slow.stop();
});

test("an endpoint that fails gets one attempt at a time until one succeeds", async () => {
  const { id: endpoint_id } = await addWebhook(tenant.api, receiver.url);
  receiver.answer(() => new Response(null, { status: 500 }));
  // An instance knows by an attempt of its own that it fails.
  const tried = INSTANCES === 1 ? 1 : 12 * INSTANCES;
  for (let client = 0; client < tried; client++) await addClient();
  await receiver.calls(tried);
  await logThat(tenant.api, endpoint_id, ({ attempts }) => attempts.length === 1);
  let at_once = 0;
  let most = 0;
  receiver.answer(async () => {
    most = Math.max(most, ++at_once);
    await Bun.sleep(100);
    at_once--;
    return new Response(null, { status: 500 });
  });
  await Promise.all(Array.from({ length: 6 }, addClient));
  await receiver.calls(tried + 6);
  // Of each instance.
  expect(most).toBeWithin(1, 1 + INSTANCES);
});

describe("rotation", () => {
  test("both secrets sign for 24 hours, then only the new one", async () => {
    const { id: endpoint_id, secret: old } = await addWebhook(tenant.api, receiver.url);
    const { secret } = (await tenant.api("POST", `/webhooks/${endpoint_id}/rotate-secret`)).body.data;
    await addClient();
    const [call] = await receiver.calls(1);
    if (!call) throw new Error("no call");
    expect(call.headers["webhook-signature"]).toMatch(/^v1,\S{44} v1,\S{44}$/);
    expect([isSigned(call, secret), isSigned(call, old)]).toEqual([true, true]);

    clock.advance({ hours: 24 });
    const api = await service.signIn(tenant.admin_email);
    await api("POST", "/clients", { name: "Acme" });
    const [, next] = await receiver.calls(2);
    if (!next) throw new Error("no call");
    expect([isSigned(next, secret), isSigned(next, old)]).toEqual([true, false]);
    expect(next.headers["webhook-signature"]).toMatch(/^v1,\S{44}$/);
  });
});

describe("POST /webhooks/{id}/test", () => {
  test("sends one message whatever the endpoint listens to, and does not try again", async () => {
    const { id: endpoint_id, secret } = await addWebhook(tenant.api, receiver.url, ["client.deleted"]);
    receiver.answer(() => new Response("no", { status: 400 }));
    const { status, body } = await tenant.api("POST", `/webhooks/${endpoint_id}/test`);
    expect([status, body.data.status, body.data.event_type]).toEqual([202, "pending", "webhook.test"]);
    const [call] = await receiver.calls(1);
    if (!call) throw new Error("no call");
    expect(call.body).toMatchObject({ type: "webhook.test", data: { id: endpoint_id } });
    expect(isSigned(call, secret)).toBeTrue();
    expect(await settled(tenant.api, endpoint_id)).toMatchObject({ id: body.data.id, status: "failed" });
    expect((await tenant.api("GET", "/events")).body.data).toEqual([]);
  });
});

describe("POST /webhook-logs/{id}/redeliver", () => {
  test("makes one more attempt of the same message in the same log; 409 while it is pending", async () => {
    const { id: endpoint_id } = await addWebhook(tenant.api, receiver.url);
    const release = Promise.withResolvers<void>();
    receiver.answer(async () => {
      await release.promise;
      return ok();
    });
    await addClient();
    await receiver.calls(1);
    const [{ id }] = (await tenant.api("GET", `/webhook-logs?endpoint_id=${endpoint_id}`)).body.data;
    const refused = await tenant.api("POST", `/webhook-logs/${id}/redeliver`);
    expect([refused.status, refused.body.error]).toEqual([
      409,
      `Cannot redeliver webhook log ${id}: it is pending`,
    ]);
    release.resolve();
    await settled(tenant.api, endpoint_id);

    receiver.answer(() => new Response("again", { status: 500 }));
    const again = await tenant.api("POST", `/webhook-logs/${id}/redeliver`);
    expect([again.status, again.body.data.status]).toEqual([202, "pending"]);
    const log = await logThat(tenant.api, endpoint_id, ({ attempts }) => attempts.length === 2);
    expect(log).toMatchObject({ id, status: "failed", next_attempt_at: null });
    expect(log.attempts.map(({ no }: Json) => no)).toEqual([1, 2]);
    const [first, second] = receiver.received;
    expect(second?.headers["webhook-id"]).toBe(first?.headers["webhook-id"] ?? "");
    expect(second?.text).toBe(first?.text ?? "");
  });

  test("another company's log is not there, and an unknown one neither", async () => {
    const other = await service.addTenant();
    const { id: endpoint_id } = await addWebhook(tenant.api, receiver.url);
    await addClient();
    const { id } = await settled(tenant.api, endpoint_id);
    expect((await other.api("GET", `/webhook-logs/${id}`)).status).toBe(404);
    expect((await other.api("POST", `/webhook-logs/${id}/redeliver`)).status).toBe(404);
    expect((await other.api("GET", "/webhook-logs")).body.data).toEqual([]);
    expect((await other.api("GET", `/webhook-logs?endpoint_id=${endpoint_id}`)).body.data).toEqual([]);
    expect((await tenant.api("GET", "/webhook-logs/999999")).status).toBe(404);
  });
});

test("logs are filtered by type, pattern, status, endpoint and time", async () => {
  const { id: first } = await addWebhook(tenant.api, receiver.url);
  const { id: second } = await addWebhook(tenant.api, receiver.url, ["product.*"]);
  await addClient();
  await settled(tenant.api, first);
  const noon = clock.now().add({ seconds: 30 });
  clock.advance({ minutes: 1 });
  receiver.answer(() => new Response(null, { status: 500 }));
  await tenant.api("POST", "/products", { name: "Tokens" });
  await logThat(tenant.api, second, ({ attempts }) => attempts.length === 1);
  await logThat(tenant.api, first, ({ attempts }) => attempts.length === 1);
  const found = async (query: string) => {
    const { status, body } = await tenant.api("GET", `/webhook-logs?${query}`);
    expect(status, query).toBe(200);
    return body.data.map(({ event_type, endpoint_id }: Json) => `${event_type} ${endpoint_id === first}`);
  };
  expect((await found("")).toSorted()).toEqual([
    "client.created true",
    "product.created false",
    "product.created true",
  ]);
  expect(await found("event_type=client.created")).toEqual(["client.created true"]);
  expect((await found("event_type=product.*")).length).toBe(2);
  expect(await found("event_type=webhook.test")).toEqual([]);
  expect(await found("status=succeeded")).toEqual(["client.created true"]);
  expect((await found("status=pending")).length).toBe(2);
  expect(await found(`endpoint_id=${second}`)).toEqual(["product.created false"]);
  expect(await found(`to=${noon.toString()}`)).toEqual(["client.created true"]);
  expect((await found(`from=${noon.toString()}`)).length).toBe(2);
  expect((await found("limit=1&page=3")).length).toBe(1);
  for (const query of ["status=done", "event_type=nothing", "endpoint_id=x", "from=now", "limit=201", "x=1"])
    expect((await tenant.api("GET", `/webhook-logs?${query}`)).status, query).toBe(422);
});

test("deleting an endpoint gives up what is pending and keeps its logs", async () => {
  const { id: endpoint_id } = await addWebhook(tenant.api, receiver.url);
  receiver.answer(() => new Response(null, { status: 500 }));
  await addClient();
  await logThat(tenant.api, endpoint_id, ({ attempts }) => attempts.length === 1);
  await tenant.api("DELETE", `/webhooks/${endpoint_id}`);
  const log = await settled(tenant.api, endpoint_id);
  expect(log.status).toBe("failed");
  clock.advance({ hours: 1 });
  await Bun.sleep(600);
  expect(receiver.received.length).toBe(1);
  const { status, body } = await tenant.api("POST", `/webhook-logs/${log.id}/redeliver`);
  expect([status, body.error]).toEqual([
    409,
    `Cannot redeliver webhook log ${log.id}: its endpoint is disabled or deleted`,
  ]);
});
