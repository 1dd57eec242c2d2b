import { expect, test } from "bun:test";
import { readConfig } from "../../../src/core/config.ts";
import { openDeps } from "../../../src/server/open_deps.ts";
import { Dispatcher } from "../../../src/webhooks/deliveries/dispatcher.ts";
import { makePreparedFolder, serveHere, startServer } from "../../support/process.ts";
import { TEST_STORE } from "../../support/harness.ts";
import { addWebhook, openReceiver, type Receiver, until } from "../../support/webhook_receiver.ts";

const CLIENTS = 60;

const ids = (receiver: Receiver) => new Set(receiver.received.map(({ headers }) => headers["webhook-id"]));

test("kill -9 amid deliveries loses none: what was under way is sent again within 15 s of the restart", async () => {
  const place = await makePreparedFolder();
  const env = { ...place.env, NODE_ENV: "development" };
  const receiver = openReceiver();
  const held = openReceiver();
  // Never answers before the restart: what it holds is under way when the process dies.
  let has_restarted = false;
  held.answer(async () => {
    await until(() => has_restarted, "the restart", 60_000);
    return new Response("late");
  });
  receiver.answer(async () => {
    await Bun.sleep(50);
    return new Response("thanks");
  });
  const first = await startServer(env);
  const api = await first.signIn();
  await addWebhook(api, receiver.url);
  await addWebhook(api, held.url, ["client.*"]);
  const created = Array.from({ length: CLIENTS }, (_, i) => api("POST", "/clients", { name: `c${i}` }));
  expect((await Promise.all(created)).every(({ status }) => status === 201)).toBeTrue();
  await receiver.calls(10);
  await held.calls(4);
  first.kill("SIGKILL");
  await first.exited;
  const lost = ids(held);
  const before = held.received.length;
  expect([lost.size, ids(receiver).size < CLIENTS]).toEqual([4, true]);

  await serveHere(env, async (restarted) => {
    const began = performance.now();
    has_restarted = true;
    const again = () => new Set(held.received.slice(before).map(({ headers }) => headers["webhook-id"]));
    await until(() => [...lost].every((id) => again().has(id)), "what was cut off", 15_000);
    expect(performance.now() - began).toBeLessThan(15_000);
    await until(() => ids(receiver).size === CLIENTS && ids(held).size === CLIENTS, "all events", 30_000);
    await until(async () => {
      const { body } = await restarted("GET", "/webhook-logs?status=succeeded&limit=1");
      return body.meta.total === 2 * CLIENTS;
    }, "all logs to say so");
    const { body } = await restarted("GET", "/webhook-logs?limit=1");
    expect(body.meta.total, "an event is fanned out once").toBe(2 * CLIENTS);
  });
  await Promise.all([receiver.stop(), held.stop()]);
  place.remove();
});

test.skipIf(TEST_STORE !== "postgres")(
  "two processes on one database share the work: each attempt is made once",
  async () => {
    const place = await makePreparedFolder();
    const env = { ...place.env, NODE_ENV: "development" };
    const receiver = openReceiver();
    receiver.answer(async () => {
      await Bun.sleep(5);
      return new Response("thanks");
    });
    const server = await startServer(env);
    const api = await server.signIn();
    const deps = await openDeps(readConfig({ ...env, LOG_LEVEL: "fatal" }), { without_usage: true });
    const running = new Dispatcher(deps).run();
    await addWebhook(api, receiver.url);
    await Promise.all(
      Array.from({ length: 3 * CLIENTS }, (_, i) => api("POST", "/clients", { name: `c${i}` })),
    );
    await until(() => ids(receiver).size === 3 * CLIENTS, "all events", 30_000);
    await Bun.sleep(1_000);
    expect(receiver.received.length).toBe(3 * CLIENTS);
    server.kill("SIGTERM");
    expect(await server.exited).toBe(0);
    await deps.background.stop();
    await running;
    await deps.close();
    await receiver.stop();
    place.remove();
  },
);

test("a shutdown amid an attempt ends in time, and the attempt is made again after the next start", async () => {
  const place = await makePreparedFolder();
  const env = { ...place.env, NODE_ENV: "development" };
  const receiver = openReceiver();
  receiver.answer(() => new Promise<Response>(() => undefined));
  const first = await startServer(env);
  const api = await first.signIn();
  await addWebhook(api, receiver.url);
  await api("POST", "/clients", { name: "Acme" });
  await receiver.calls(1);
  const began = performance.now();
  first.kill("SIGTERM");
  expect(await first.exited).toBe(0);
  expect(performance.now() - began).toBeLessThan(10_000);
  receiver.answer(() => new Response("thanks"));
  await serveHere(env, () => receiver.calls(2));
  expect(ids(receiver).size).toBe(1);
  await receiver.stop();
  place.remove();
});
