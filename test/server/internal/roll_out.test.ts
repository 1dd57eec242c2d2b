import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { type Deployment, makeDeployment } from "../../support/deployment.ts";
import type { Api } from "../../support/harness.ts";
import type { ServerProcess } from "../../support/process.ts";
import { whyNoUsageOnClickHouse } from "../../support/usage_on_clickhouse.ts";
import { addSubscription, ms } from "../../usage/fixtures.ts";
import { StatementsBetween } from "../../usage_store/clickhouse/statements_between.ts";

const reason = whyNoUsageOnClickHouse();
if (reason !== null) console.log(`skipped: ${reason}`);

describe.skipIf(reason !== null)("an instance that stops in order", () => {
  let deployment: Deployment;
  let first: ServerProcess;
  let api: Api;
  /** The ids that were stored. */
  const stored: string[] = [];
  beforeAll(async () => {
    deployment = await makeDeployment(1);
    first = await deployment.start({ LOG_LEVEL: "info" });
    api = await first.signIn();
    await addSubscription({ api }, "sub");
  }, 120_000);
  afterAll(async () => {
    await deployment?.stop();
    for (const proxy of proxies) await proxy.stop();
  });

  const event = (id: string) => ({
    external_subscription_id: "sub",
    id,
    usage: 1,
    timestamp: ms("2026-01-01T00:00:00Z"),
  });
  /** Stores some events, each of them new. */
  const store = async (by: Api, count = 1): Promise<void> => {
    const ids = Array.from({ length: count }, () => crypto.randomUUID());
    const { status, body } = await by("POST", "/usage/events", ids.map(event));
    expect([status, body]).toEqual([201, { data: { accepted: count, duplicates: 0 } }]);
    stored.push(...ids);
  };
  const proxies: StatementsBetween[] = [];
  /** Starts an instance and lets the first one know of it. What it reads of the lane is held, and how many ids are noted. */
  const startHeld = async () => {
    const [reading, released] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    const read: number[] = [];
    const between = new StatementsBetween(deployment.settings.USAGE_URL ?? "", async (sql, pass) => {
      const answer = await pass(sql);
      if (!sql.startsWith("SELECT company_id, id, timestamp FROM usage_events")) return answer;
      const ids = await answer.arrayBuffer();
      read.push(ids.byteLength / 28);
      reading.resolve();
      await released.promise;
      return new Response(ids, answer);
    });
    proxies.push(between);
    const known = first.printed().split("another one lives").length;
    const instance = await deployment.start({ LOG_LEVEL: "info", USAGE_URL: between.url });
    while (first.printed().split("another one lives").length === known) await Bun.sleep(50);
    return { instance, read, reading: reading.promise, release: () => released.resolve() };
  };
  /** Stores events by all until it is ended; each one is taken. */
  const send = (...by: Api[]) => {
    const ending = new AbortController();
    const senders = by.map(async (one) => {
      while (!ending.signal.aborted) await store(one);
    });
    return async () => {
      ending.abort();
      await Promise.all(senders);
    };
  };

  test("serves its lane until another one has read it, which then reads only what was stored since", async () => {
    await store(api, 500);
    const { instance: next, read, reading, release } = await startHeld();
    const next_api = await next.signIn();
    expect(read).toEqual([]);
    const endBoth = send(api, next_api);
    first.kill("SIGTERM");
    await reading;
    const before = stored.length;
    while (stored.length < before + 100) await Bun.sleep(50);
    expect([await deployment.lanesOf(first), await deployment.lanesOf(next)]).toEqual([1, 0]);
    await endBoth();
    const end = send(next_api);
    release();
    expect(await first.exited).toBe(0);
    while ((await deployment.lanesOf(next)) < 1) await Bun.sleep(20);
    await end();
    expect(read[0]).toBeGreaterThanOrEqual(500);
    expect(read.slice(1).reduce((sum, count) => sum + count, 0)).toBeLessThan(stored.length - 500);
    await expectStoredOnce(next_api);
    [first, api] = [next, next_api];
  }, 120_000);

  test("gives its lane up at once when the other one dies while it reads", async () => {
    const { instance: dying, reading } = await startHeld();
    first.kill("SIGTERM");
    await reading;
    await store(api);
    dying.kill("SIGKILL");
    expect(await first.exited).toBe(0);
    first = await deployment.start();
    api = await first.signIn();
    while ((await deployment.lanesOf(first)) < 1) await Bun.sleep(20);
    await store(api);
    await expectStoredOnce(api);
  }, 120_000);

  /** Everything that was stored is there, once. */
  async function expectStoredOnce(by: Api): Promise<void> {
    for (let at = 0; at < stored.length; at += 1_000) {
      const again = stored.slice(at, at + 1_000);
      const { body } = await by("POST", "/usage/events", again.map(event));
      expect(body).toEqual({ data: { accepted: 0, duplicates: again.length } });
    }
    const { body } = await by("POST", "/usage/search", { limit: 1 });
    expect(body.meta.total).toBe(stored.length);
  }
});
