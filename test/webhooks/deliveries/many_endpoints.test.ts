import { afterAll, beforeAll, expect, test } from "bun:test";
import { listDueEndpoints } from "../../../src/webhooks/deliveries/lease_queries.ts";
import { LIMITS } from "../../../src/webhooks/limits.ts";
import { type Service, startService } from "../../support/harness.ts";
import { addWebhook, logThat, openReceiver, type Receiver } from "../../support/webhook_receiver.ts";

let service: Service;
let receiver: Receiver;

beforeAll(async () => {
  receiver = openReceiver();
  service = await startService({ env: { NODE_ENV: "development" } });
});
afterAll(async () => {
  await service.stop();
  await receiver.stop();
});

test("where more endpoints wait than one look takes, the next look begins after them", async () => {
  receiver.answer(() => new Response("broken", { status: 500 }));
  const ids: number[] = [];
  for (let i = 0; i < 5; i++) ids.push((await addWebhook(service.api, receiver.url)).id);
  await service.api("POST", "/clients", { name: "Acme" });
  for (const id of ids) await logThat(service.api, id, ({ attempts }) => attempts.length > 0);
  // What waits for its next attempt is due by then.
  const then = service.deps.clock.now().add({ hours: 24 });
  const look = (after_id: number) => listDueEndpoints({ q: service.deps.store.read, now: then }, after_id, 2);
  expect(await look(0)).toEqual(ids.slice(0, 2));
  expect(await look(ids[1] ?? 0)).toEqual(ids.slice(2, 4));
  expect(await look(ids[3] ?? 0)).toEqual(ids.slice(4));
  expect(await look(ids[4] ?? 0)).toEqual([]);
});

test("a service that stops does not wait for the next look", async () => {
  const { webhook_poll_ms } = LIMITS;
  Object.assign(LIMITS, { webhook_poll_ms: 3_600_000 });
  try {
    const own = await startService();
    for (let i = 0; i < 20; i++) expect((await own.api("GET", "/clients")).status).toBe(200);
    await own.stop();
  } finally {
    Object.assign(LIMITS, { webhook_poll_ms });
  }
});
