import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Manifest } from "../../../src/backup/manifest.ts";
import { openTarget } from "../../../src/backup/open_target.ts";
import { openPoint, type Point } from "../../../src/backup/restore/point.ts";
import { differingContent } from "../../../src/backup/restore/restore_usage.ts";
import { restorePoint } from "../../../src/backup/restore/restore.ts";
import { readConfig } from "../../../src/core/config.ts";
import { openDeps } from "../../../src/server/open_deps.ts";
import { restoreNeeds } from "../../../src/server/restore_needs.ts";
import { openPostgres } from "../../../src/store/postgres.ts";
import { CONSTRAINTS } from "../../../src/server/schema.ts";
import { usageLaneTable } from "../../../src/usage/lanes/tables.ts";
import { numberOf } from "../../../src/usage_store/clickhouse/lanes/commit_numbers.ts";
import { ClickHouse } from "../../../src/usage_store/clickhouse/engine/engine.ts";
import { text } from "../../../src/usage_store/clickhouse/engine/sql.ts";
import { loadedDigests } from "../../../src/usage_store/clickhouse/maintain/load_store.ts";
import { segmentDigests } from "../../../src/usage_store/duckdb/query/read_files.ts";
import { canonicalJson } from "../../../src/usage_store/metadata.ts";
import type { NewEvent, SearchQuery } from "../../../src/usage_store/port.ts";
import { type ClickHouseServer, startClickHouse, whyNoClickHouse } from "../../support/clickhouse.ts";
import { runHere } from "../../support/process.ts";
import { testPostgres } from "../../support/postgres.ts";
import { whyNoPostgres } from "../../support/why_no_postgres.ts";
import { openFullService, proveAll, type FullService } from "../full_service.ts";
import { makePoint } from "../made_point.ts";

const LANES = 3;
const HOUR_MS = 3_600_000;
const TIMEOUT_MS = 60_000;
const NUMBERS = [1, -0, 1e21, 2 ** 60, 0.1, true, null];
const reason = whyNoClickHouse() ?? whyNoPostgres();
if (reason !== null) console.log(`skipped: ${reason}`);

describe.skipIf(reason !== null)("a point restored into PostgreSQL and ClickHouse", () => {
  const folder = mkdtempSync(join(tmpdir(), "clickhouse-restore-"));
  const backups = `file://${folder}/backups`;
  let engine: ClickHouseServer;
  let full: FullService;
  let company: FullService["companies"][number];
  let manifest: Manifest;
  /** What is removed of the second company before, so that its sums are kept. */
  let removed: FullService["companies"][number];
  let since_ms: number;
  let point: Point;

  beforeAll(async () => {
    engine = await startClickHouse();
    full = await openFullService();
    const [first, second] = full.companies;
    if (!first || !second) throw new Error("There are no companies");
    [company, removed] = [first, second];
    const { usage, clock } = full.service.deps;
    const [subscription_id = 0] = company.subscriptions;
    const metadata = [{}, { a: { b: ["#x", "", "{", null] } }, { NUMBERS, "": "É" }];
    const events = metadata.map(
      (object, i): NewEvent => ({
        id: crypto.randomUUID(),
        subscription_id,
        timestamp: Date.UTC(2026, 1, 3) + i,
        timestamp_given: true,
        usage: ["-0.000001", "999999999999.999999", "0"][i] ?? "0",
        metadata: canonicalJson(object),
      }),
    );
    await usage.append(company.company_id, events, clock.now().epochMilliseconds);
    since_ms = Date.UTC(2026, 0, 6);
    await usage.closeBefore(removed.company_id, since_ms);
    while ((await usage.removeClosed(removed.company_id, 100)) > 0);
    manifest = await makePoint(full.service.deps, backups);
    point = await openPoint(openTarget(backups), "latest", null);
  });
  afterAll(async () => {
    await full.service.stop();
    await engine.stop();
    rmSync(folder, { recursive: true, force: true });
  });

  const migrated = async () => (await testPostgres()).createMigrated();
  let places = 0;
  const emptyPlace = async () => ({
    data_dir: join(folder, `place ${++places}`),
    database_url: await (await testPostgres()).createDatabase(),
    usage_url: await engine.createDatabase(),
  });

  /** A server's parts on a place. */
  const openPlace = ({ data_dir, database_url, usage_url }: Awaited<ReturnType<typeof emptyPlace>>) =>
    openDeps(
      readConfig({
        DATA_DIR: data_dir,
        DATABASE_URL: database_url,
        USAGE_URL: usage_url,
        LOG_LEVEL: "fatal",
      }),
    );

  const lanesOf = async (database_url: string) => {
    const store = await openPostgres(database_url, CONSTRAINTS);
    try {
      const t = store.read.use(usageLaneTable);
      const { lane, epoch, closed_epoch } = t;
      return await store.read.select({ lane, epoch, closed_epoch }).from(t).orderBy(lane);
    } finally {
      await store.close();
    }
  };

  const searched = (company_id: number): SearchQuery => ({
    company_id,
    sort_by: "timestamp",
    sort_order: "asc",
    limit: 1_000,
    offset: 0,
  });
  const windowsOf = (ids: readonly number[], start_ms = 0) =>
    ids.map((subscription_id) => ({ subscription_id, start_ms, end_ms: Date.UTC(2030, 0) }));

  test("has the same events, sums and bills, and goes on with what is new", async () => {
    const place = await emptyPlace();
    const words = [place.data_dir, place.database_url, place.usage_url].flatMap((to) => ["--to", to]);
    const done = await runHere(["restore", "latest", ...words, "--from", backups, "--bills", "9999"], {
      USAGE_MEMORY_LIMIT: "512MB",
      USAGE_LANES: String(LANES),
    });
    expect(done).toMatchObject({ code: 0, err: "" });
    expect(done.out).toContain(`${manifest.events} events`);
    const bills = await proveAll(full.service.deps);
    expect(done.out).toMatch(
      new RegExp(`Proved in ClickHouse: events by company and month, \\d+ sums by hour, ${bills} bills\n`),
    );
    expect(done.out).toContain("DATABASE_URL to that database, USAGE_URL to that of usage.");
    // Each lane, the first too, goes on after the epochs of the events that were restored.
    const { epoch } = numberOf(manifest.last_seq);
    expect(await lanesOf(place.database_url)).toEqual(
      Array.from({ length: LANES }, (_, lane) => ({ lane, epoch, closed_epoch: epoch })),
    );

    const deps = await openPlace(place);
    const { usage } = deps;
    try {
      const before = full.service.deps.usage;
      for (const { company_id, subscriptions } of full.companies) {
        const asked = searched(company_id);
        expect(await usage.search(asked, TIMEOUT_MS)).toEqual(await before.search(asked, TIMEOUT_MS));
        const windows = windowsOf(subscriptions, company_id === removed.company_id ? since_ms : 0);
        for (const last_seq of [manifest.last_seq, manifest.last_seq - 4]) {
          const options = { timeout_ms: TIMEOUT_MS, last_seq };
          const expected = await before.totals(company_id, windows, options);
          expect(await usage.totals(company_id, windows, options)).toEqual(expected);
        }
        // What was removed is in the sums that were kept.
        const all = windowsOf(subscriptions);
        expect(await usage.sums(company_id, all, TIMEOUT_MS)).toEqual(
          await before.sums(company_id, all, TIMEOUT_MS),
        );
      }
      const late = { ...(await anEvent()), id: crypto.randomUUID(), timestamp: since_ms - HOUR_MS };
      const refused = usage.append(removed.company_id, [late], Date.now());
      expect(String(await refused.catch((error) => error))).toContain("earlier usage is closed");

      const known = await anEvent();
      const fresh = { ...known, id: crypto.randomUUID() };
      const added = await usage.append(company.company_id, [known, fresh], Date.now());
      expect(added).toEqual({ accepted: 1, duplicates: 1 });
      const other = usage.append(company.company_id, [{ ...known, usage: "77" }], Date.now());
      expect(await other.catch((error) => error)).toMatchObject({ kind: "conflict" });
      // Also a lane that had no events goes on with higher numbers: bills say up to which they count.
      for (const company_id of [company.company_id, 1_000, 1_001, 1_002])
        expect(await usage.lastSeq(company_id, TIMEOUT_MS)).toBeGreaterThanOrEqual(manifest.last_seq);
      expect(await usage.lastSeq(company.company_id, TIMEOUT_MS)).toBeGreaterThan(manifest.last_seq);
      expect(await proveAll(deps)).toBe(bills);
    } finally {
      await deps.close();
    }
  });

  async function anEvent(): Promise<NewEvent> {
    const { rows } = await full.service.deps.usage.search(searched(company.company_id), TIMEOUT_MS);
    const row = rows.at(-1);
    if (!row) throw new Error("There are no events");
    const { id, subscription_id, timestamp, usage, metadata } = row;
    return {
      id,
      subscription_id,
      timestamp,
      timestamp_given: true,
      usage,
      metadata: metadata && canonicalJson(metadata),
    };
  }

  test("goes back into a folder by a backup of its own", async () => {
    const place = await emptyPlace();
    const needs = restoreNeeds({ usage_memory_limit: "512MB", usage_lanes: LANES }, Temporal.Now.instant());
    await restorePoint(point, place, needs);
    const back = `file://${folder}/back`;
    const known = await anEvent();
    const there = await openPlace(place);
    try {
      const added = { ...known, id: crypto.randomUUID() };
      await there.usage.append(company.company_id, [added], Date.now());
      await makePoint(there, back);
    } finally {
      await there.close();
    }
    const data_dir = join(folder, "home");
    const returned = await restorePoint(
      await openPoint(openTarget(back), "latest", null),
      { data_dir, database_url: null, usage_url: null },
      needs,
    );
    expect(returned.events).toBe(manifest.events + 1);
    const deps = await openDeps(readConfig({ DATA_DIR: data_dir, LOG_LEVEL: "fatal" }));
    try {
      const windows = windowsOf(company.subscriptions);
      const options = { timeout_ms: TIMEOUT_MS, last_seq: manifest.last_seq };
      const expected = await full.service.deps.usage.totals(company.company_id, windows, options);
      expect(await deps.usage.totals(company.company_id, windows, options)).toEqual(expected);
      const all = windowsOf(removed.subscriptions);
      expect(await deps.usage.sums(removed.company_id, all, TIMEOUT_MS)).toEqual(
        await full.service.deps.usage.sums(removed.company_id, all, TIMEOUT_MS),
      );
      expect(await deps.usage.append(company.company_id, [known], Date.now())).toEqual({
        accepted: 0,
        duplicates: 1,
      });
    } finally {
      await deps.close();
    }
  });

  test("differs by what one event has", async () => {
    const place = await emptyPlace();
    const needs = restoreNeeds({ usage_memory_limit: "512MB", usage_lanes: LANES }, Temporal.Now.instant());
    await restorePoint(point, place, needs);
    const paths: string[] = [];
    for (const segment of manifest.segments) {
      const path = join(folder, `compared ${paths.length}.parquet`);
      await point.fetch(segment, path);
      paths.push(path);
    }
    const { last_seq, events } = manifest;
    const expected = await segmentDigests(paths, last_seq, needs.engine);
    expect(expected.reduce((sum, month) => sum + month.events, 0)).toBe(events);
    const differing = async () => differingContent(expected, await loadedDigests(place.usage_url));
    expect(await differing()).toEqual([]);
    const client = ClickHouse.connect(place.usage_url);
    const { id } = await anEvent();
    const change = async (set: string) =>
      client.run(`ALTER TABLE usage_events UPDATE ${set} WHERE id = '${id}'`, TIMEOUT_MS, {
        mutations_sync: "2",
      });
    for (const [column, other, own] of [
      ["subscription_id", "subscription_id + 1", "subscription_id - 1"],
      ["created_at", "created_at + 1", "created_at - 1"],
      ["seq", "seq - 1", "seq + 1"],
      ["metadata", `'{"x":"y"}'`, ""],
    ]) {
      const [[before] = []] = await client.ask(`SELECT metadata FROM usage_events WHERE id = '${id}'`, {
        timeout_ms: TIMEOUT_MS,
      });
      await change(`${column} = ${other}`);
      expect(await differing()).toEqual([
        expect.stringMatching(/^company \d+, 2026-\d\d: \d+ events \(\w{32}\) are not there$/),
        expect.stringMatching(/are there$/),
      ]);
      await change(`${column} = ${column === "metadata" ? text(String(before)) : own}`);
      expect(await differing()).toEqual([]);
    }
    await client.close();
  });

  test("is used by no server when the restore was cut off, and no other is restored into it", async () => {
    const place = await emptyPlace();
    const needs = restoreNeeds({ usage_memory_limit: "512MB", usage_lanes: LANES }, Temporal.Now.instant());
    const cut: Point = {
      ...point,
      async fetch(object, path) {
        if (object.name === manifest.rows.name) throw new Error("cut off");
        return point.fetch(object, path);
      },
    };
    const { usage_url } = place;
    expect(String(await restorePoint(cut, place, needs).catch((error) => error))).toContain("cut off");
    const again = restorePoint(point, { ...(await emptyPlace()), usage_url }, needs);
    expect(String(await again.catch((error) => error))).toMatch(/ClickHouse at .* it is not empty/);

    // Cut off among the events it does not say what it is.
    const client = ClickHouse.connect(usage_url);
    await client.run("TRUNCATE TABLE usage_meta", TIMEOUT_MS);
    await client.close();
    const elsewhere = { ...place, data_dir: join(folder, "elsewhere"), database_url: await migrated() };
    const opened = openPlace(elsewhere);
    expect(String(await opened.catch((error) => error))).toContain(
      "A restore into the usage store was cut off",
    );
  });

  test("takes an address of ClickHouse only with its database, beside PostgreSQL", async () => {
    for (const [words, message] of [
      [["--to", "/nowhere", "--to", "http://localhost:8123/db"], "only beside a postgres:// address"],
      [
        ["--to", "/nowhere", "--to", "postgres://localhost/db", "--to", "http://localhost:8123"],
        "one ClickHouse server and a database of it",
      ],
      [["--to", "/nowhere", "--bills", "5"], "--bills is for usage in ClickHouse"],
      [
        ["--to", "/nowhere", "--to", "http://localhost/a", "--to", "http://localhost/b"],
        "--to takes one folder",
      ],
    ] as const) {
      const done = await runHere(["restore", "latest", ...words, "--from", backups], {});
      expect([done.code, done.err]).toEqual([2, expect.stringContaining(message)]);
    }
  });
});
