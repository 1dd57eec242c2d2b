import { afterEach, beforeEach, describe, expect, spyOn, test } from "bun:test";
import postgres from "postgres";
import { countInstances } from "../../src/app/instances.ts";
import { type Log, openLog } from "../../src/core/log.ts";
import { InstanceRegistry, sessionNameOf } from "../../src/server/instances/registry.ts";
import { CONSTRAINTS } from "../../src/server/schema.ts";
import { withTimeout } from "../../src/core/time.ts";
import { openPostgres } from "../../src/store/postgres.ts";
import type { Store } from "../../src/store/store.ts";
import { TEST_STORE } from "../support/harness.ts";
import { testPostgres } from "../support/postgres.ts";

// Several instances know of one another by rows, whose times are the database's.

describe.skipIf(TEST_STORE !== "postgres")("instances on one database", () => {
  let store: Store;
  let store_url: string;
  let admin: postgres.Sql;
  let begun: InstanceRegistry[] = [];
  beforeEach(async () => {
    store_url = await (await testPostgres()).createMigrated();
    store = await openPostgres(store_url, CONSTRAINTS);
    admin = postgres(store_url, { max: 1, fetch_types: false, onnotice: () => undefined });
  });
  afterEach(async () => {
    await Promise.all(begun.map((instance) => instance.end()));
    begun = [];
    await Promise.all([store.close(), admin.end()]);
  });

  async function begin(port: number, log: Log = openLog("silent")): Promise<InstanceRegistry> {
    const place = { id: crypto.randomUUID(), url: `http://127.0.0.1:${port}` };
    const instance = new InstanceRegistry(place, { store, log });
    begun.push(instance);
    await instance.begin();
    return instance;
  }
  const urlsSeenBy = ({ others }: InstanceRegistry) => others.map(({ url }) => new URL(url).port).toSorted();

  test("see who lives, and not who has ended or been silent for 15 s", async () => {
    const first = await begin(3001);
    expect(first.others).toEqual([]);
    const second = await begin(3002);
    expect(urlsSeenBy(second)).toEqual(["3001"]);
    await admin`UPDATE instances SET seen_at = seen_at - interval '15 seconds' WHERE id = ${first.id}`;
    const third = await begin(3003);
    expect(urlsSeenBy(third)).toEqual(["3002"]);
    await second.end();
    const fourth = await begin(3004);
    expect(urlsSeenBy(fourth)).toEqual(["3003"]);
    expect(countInstances(fourth)).toBe(2);
  });

  test("are remembered for a day after they died", async () => {
    const old = await begin(3001);
    const dead = await begin(3002);
    await admin`UPDATE instances SET seen_at = seen_at - interval '1 day' WHERE id = ${old.id}`;
    await admin`UPDATE instances SET seen_at = seen_at - interval '23 hours' WHERE id = ${dead.id}`;
    const next = await begin(3003);
    const rows = await admin`SELECT id FROM instances ORDER BY url`;
    expect(rows.map(({ id }) => id)).toEqual([dead.id, next.id]);
  });

  test("free what one holds that hangs, and nothing for the silence of a moment", async () => {
    const id = crypto.randomUUID();
    const hanging = await openPostgres(store_url, CONSTRAINTS, { session_name: sessionNameOf({ id }) });
    const silence = (seconds: number) => admin`
      INSERT INTO instances (id, url, version, started_at, seen_at)
      VALUES (${id}, 'http://127.0.0.1:3009', '0', now(), clock_timestamp() - ${seconds} * interval '1 second')
      ON CONFLICT (id) DO UPDATE SET seen_at = excluded.seen_at`;
    const { promise: lost, resolve } = Promise.withResolvers<true>();
    const lock = await hanging.lock("work", () => resolve(true));
    expect([lock === null, await store.lock("work")]).toEqual([false, null]);
    await silence(30);
    const first = await begin(3001);
    // Longer than from one look to the next.
    expect(await withTimeout(lost, 6_000)).toBeNull();
    await silence(61);
    while ((await store.lock("work")) === null) await Bun.sleep(100);
    await lost;
    expect(urlsSeenBy(first)).toEqual([]);
    await hanging.close();
  });

  test("say that they live every few seconds, and warn of no one that ended in order", async () => {
    const log = openLog("silent");
    const told = { info: spyOn(log, "info"), warn: spyOn(log, "warn") };
    const first = await begin(3001, log);
    const second = await begin(3002);
    const seen = async () => {
      const [row] = await admin`SELECT seen_at::text AS at FROM instances WHERE id = ${first.id}`;
      return String(row?.at);
    };
    const before = await seen();
    while ((await seen()) === before) await Bun.sleep(200);
    while (first.others.length === 0) await Bun.sleep(200);
    expect(urlsSeenBy(first)).toEqual(["3002"]);
    await second.end();
    const died = crypto.randomUUID();
    const died_url = "http://127.0.0.1:3003";
    await admin`
      INSERT INTO instances (id, url, version, started_at, seen_at)
      VALUES (${died}, ${died_url}, '0', now(), clock_timestamp() - interval '5 seconds')`;
    while (!urlsSeenBy(first).includes("3003")) await Bun.sleep(200);
    while (first.others.length > 0) await Bun.sleep(200);
    const stopped = { instance_id: second.id, url: "http://127.0.0.1:3002" };
    expect(told.info).toHaveBeenCalledWith(expect.objectContaining(stopped), "instances: one has stopped");
    const lost = { instance_id: died, url: died_url, version: "0" };
    expect(told.warn.mock.calls).toEqual([[lost, "instances: one lives no more"]]);
  });
});
