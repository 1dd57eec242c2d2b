import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { ClickHouse } from "../../src/usage_store/clickhouse/engine/engine.ts";
import { modelEvent } from "../usage_store/arbitrary_events.ts";
import { TIMEOUT_MS } from "../usage_store/fixtures.ts";
import { openDeps } from "../../src/server/open_deps.ts";
import { readConfig } from "../../src/core/config.ts";
import { raiseKeys } from "../../src/usage/store_link/queries.ts";
import { addSubscription, ms, search, send, uuid } from "../usage/fixtures.ts";
import { type ClickHouseServer, startClickHouse } from "../support/clickhouse.ts";
import { readMetrics, type Service, startService } from "../support/harness.ts";
import { CHEAP } from "../support/password_cost.ts";
import { runHere } from "../support/process.ts";
import { testPostgres } from "../support/postgres.ts";
import { whyNoUsageOnClickHouse } from "../support/usage_on_clickhouse.ts";

const reason = whyNoUsageOnClickHouse();
if (reason !== null) console.log(`skipped: ${reason}`);

describe.skipIf(reason !== null)("a service whose usage is in ClickHouse", () => {
  let server: ClickHouseServer;
  const folder = mkdtempSync(join(tmpdir(), "meterhouse-"));
  beforeAll(async () => {
    server = await startClickHouse();
  });
  afterAll(async () => {
    await server.stop();
    rmSync(folder, { recursive: true, force: true });
  });

  /** The settings of a process on a database of its own. */
  async function settings(USAGE_URL: string): Promise<Record<string, string>> {
    return {
      DATA_DIR: mkdtempSync(join(folder, "data-")),
      DATABASE_URL: await (await testPostgres()).createMigrated(),
      USAGE_URL,
      LOG_LEVEL: "fatal",
      DISK_RESERVE: "0",
    };
  }
  const refusal = (opening: Promise<unknown>): Promise<Error> =>
    opening.then(
      () => Promise.reject(new Error("It was opened")),
      (error: Error) => error,
    );
  const open = (env: Record<string, string>, options = {}) =>
    openDeps(readConfig(env), { password_cost: CHEAP, ...options });

  test("stores events, answers repeats and questions, and counts them on", async () => {
    const service: Service = await startService({
      env: { USAGE_URL: await server.createDatabase(), USAGE_LANES: "3" },
    });
    await addSubscription(service, "sub");
    const event = (id: number) => ({
      id: uuid(id),
      subscription_id: `${service.company_id}:sub`,
      timestamp: ms("2026-01-01T00:00:00Z"),
      usage: id,
    });
    expect((await send(service.api, [event(1), event(2)])).body.data).toEqual({ accepted: 2, duplicates: 0 });
    expect((await send(service.api, [event(2), event(3)])).body.data).toEqual({ accepted: 1, duplicates: 1 });
    const conflict = await send(service.api, { ...event(1), usage: 7 });
    expect([conflict.status, conflict.body.details[0].path]).toEqual([409, "/id"]);
    const found = await search(service.api, { sort_by: "usage", sort_order: "asc" });
    expect(found.data.map(({ usage }: { usage: number }) => usage)).toEqual([1, 2, 3]);
    expect((await service.anonymous("GET", "origin:/ready")).status).toBe(200);
    const { body } = await readMetrics(service);
    expect(body).toContain('usage="clickhouse"');
    expect(body).toMatch(/^meterhouse_usage_lanes 3$/m);
    expect(body).toMatch(/^meterhouse_usage_index_entries 3$/m);
    await service.stop();
  });

  test("is not ready while the engine does not answer", async () => {
    const own = await startClickHouse();
    const service = await startService({ env: { USAGE_URL: await own.createDatabase() } });
    expect((await service.anonymous("GET", "origin:/ready")).status).toBe(200);
    await own.stop();
    let ready = await service.anonymous("GET", "origin:/ready");
    while (ready.status === 200) ready = await service.anonymous("GET", "origin:/ready");
    expect([ready.status, ready.body.error]).toEqual([503, "A store does not answer"]);
    await service.stop();
  }, 120_000);

  test("opens again what it stored, with the lanes of its first start", async () => {
    const env = await settings(await server.createDatabase());
    const first = await open({ ...env, USAGE_LANES: "2" });
    await first.store.tx((q) => raiseKeys(q, { company_id: 9, subscription_id: 9 }));
    expect(await first.usage.append(1, [modelEvent({ id: uuid(1) })], 1)).toMatchObject({ accepted: 1 });
    await first.close();
    const again = await open({ ...env, USAGE_LANES: "5" });
    expect(await again.usage.append(1, [modelEvent({ id: uuid(1) })], 1)).toMatchObject({ duplicates: 1 });
    const engine = ClickHouse.connect(env.USAGE_URL ?? "");
    expect(await engine.ask("SELECT uniqExact(lane) FROM usage_events", { timeout_ms: TIMEOUT_MS })).toEqual([
      ["2"],
    ]);
    await engine.close();
    await again.close();
  });

  test("lets no second process in that has no INSTANCE_URL", async () => {
    const env = await settings(await server.createDatabase());
    const first = await open(env);
    const second = await refusal(open({ ...env, DATA_DIR: mkdtempSync(join(folder, "data-")) }));
    expect(second.message).toMatch(
      /^Cannot open the usage store: another process uses this database with the usage store in ClickHouse at 127/,
    );
    await first.close();
    await (await open(env)).close();
  });

  test("refuses another database's store, by exit 78, until it is accepted", async () => {
    const usage_url = await server.createDatabase();
    const [first, second] = [await settings(usage_url), await settings(usage_url)];
    await (await open(first)).close();
    const refused = await runHere(["doctor"], second);
    expect(refused.out).toMatch(
      /^FAIL {2}usage store: Cannot use the usage store in ClickHouse at \S+: it belongs to another database: start it with that one, or set USAGE_URL to another place/m,
    );
    expect(await runHere(["serve"], { ...second, PORT: "0" })).toMatchObject({ code: 78 });
    const accepted = await open(second, { accept_usage: true });
    expect(accepted.accepted_usage).toContain("it belongs to another database");
    await accepted.close();
    await (await open(second)).close();
    expect((await refusal(open(first))).message).toContain("it belongs to another database");
  });

  test("refuses a store that lacks events that its database knows of", async () => {
    const usage_url = await server.createDatabase();
    const env = await settings(usage_url);
    const first = await open(env);
    await first.usage.append(1, [modelEvent()], 1);
    const stored_seq = await first.usage.lastSeq(1, TIMEOUT_MS);
    await first.close();
    const engine = ClickHouse.connect(usage_url);
    await engine.run("TRUNCATE TABLE usage_events", TIMEOUT_MS);
    await engine.close();
    expect((await refusal(open(env))).message).toContain("it is older than the database (its events end at");
    const accepted = await open(env, { accept_usage: true });
    await accepted.usage.append(1, [modelEvent()], 1);
    expect(await accepted.usage.lastSeq(1, TIMEOUT_MS)).toBeGreaterThan(stored_seq);
    await accepted.close();
  });

  test("says who has the usage of a database that moves between DuckDB and ClickHouse", async () => {
    const { USAGE_URL = "", ...duckdb } = await settings(await server.createDatabase());
    await (await open(duckdb)).close();
    expect((await refusal(open({ ...duckdb, USAGE_URL }))).message).toMatch(
      /this database's usage is in another one, last opened in \S+: set DATA_DIR to that folder, without USAGE_URL/,
    );
    const other = await settings(await server.createDatabase());
    await (await open(other)).close();
    const { USAGE_URL: _, ...without } = other;
    expect((await refusal(open(without))).message).toMatch(
      /this database's was last opened in ClickHouse at \S+: set USAGE_URL to it/,
    );
  });

  test("a server that can't be reached is named, without its password", async () => {
    const env = await settings("http://me:secret@127.0.0.1:1/usage");
    const { code, err } = await runHere(["serve"], { ...env, PORT: "0" });
    expect([code, err]).toEqual([
      1,
      expect.stringContaining("Cannot open ClickHouse at 127.0.0.1:1/usage: "),
    ]);
    expect(err).not.toContain("secret");
  });
});
