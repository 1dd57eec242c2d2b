import { afterAll, expect, test } from "bun:test";
import { existsSync, readdirSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DuckDBInstance } from "@duckdb/node-api";
import { openDuckDb } from "../../../src/usage_store/duckdb/duckdb_store.ts";
import { rewriteStore } from "../../../src/usage_store/duckdb/rewrite_store.ts";
import { modelEvent } from "../arbitrary_events.ts";
import { FIRST_PAGE, NOW_MS, TIMEOUT_MS, TOTAL } from "../fixtures.ts";

const folder = await mkdtemp(join(tmpdir(), "earlier-layouts-"));
afterAll(() => rm(folder, { recursive: true }));

/** What came to layout 2 with group sums and the oldest program. */
const GROUPED = `
  INSERT INTO usage_meta VALUES ('min_program', '0.1.0');
  CREATE TABLE usage_group_hours (company_id INTEGER NOT NULL, key VARCHAR NOT NULL, subscription_id INTEGER NOT NULL,
    hour INTEGER NOT NULL, value VARCHAR NOT NULL, total DECIMAL(38,6) NOT NULL, events BIGINT NOT NULL,
    low DECIMAL(18,6) NOT NULL, high DECIMAL(18,6) NOT NULL);
  CREATE TABLE usage_summed (company_id INTEGER NOT NULL, key VARCHAR NOT NULL, seq BIGINT NOT NULL);
  CREATE VIEW usage_events AS FROM usage_settled UNION ALL FROM usage_runs UNION ALL FROM usage_hot_3
    UNION ALL FROM usage_hot_2 UNION ALL FROM usage_hot_1 UNION ALL FROM usage_hot_0;
  CREATE VIEW usage_hours AS FROM usage_hour_folds UNION ALL FROM usage_hour_deltas;`;

/** The tables as the program of each layout made them, to which nothing is ever changed. */
const FIXTURES: Record<string, string> = {
  "layout 1: one table of events": `
    CREATE TABLE usage_meta (name VARCHAR NOT NULL, value VARCHAR NOT NULL);
    INSERT INTO usage_meta VALUES ('schema_version', '1'), ('fingerprint_key', '000102030405060708090a0b0c0d0e0f');
    CREATE TABLE usage_events (seq BIGINT NOT NULL, company_id INTEGER NOT NULL, subscription_id INTEGER NOT NULL,
      timestamp BIGINT NOT NULL, id UUID NOT NULL, usage DECIMAL(18,6) NOT NULL, metadata VARCHAR,
      created_at BIGINT NOT NULL);
    INSERT INTO usage_events SELECT * FROM fixture;`,
  "layout 2 before group sums and the oldest program": layout2(`
    CREATE VIEW usage_events AS FROM usage_settled UNION ALL FROM usage_runs UNION ALL FROM usage_hot_3
      UNION ALL FROM usage_hot_2 UNION ALL FROM usage_hot_1 UNION ALL FROM usage_hot_0;
    CREATE VIEW usage_hours AS FROM usage_hour_folds UNION ALL FROM usage_hour_deltas;`),
  "layout 2 before removals": layout2(GROUPED),
  "layout 2 with kept sums of removed events": layout2(`${GROUPED}
    CREATE TABLE usage_kept_hours (company_id INTEGER NOT NULL, subscription_id INTEGER NOT NULL, hour INTEGER NOT NULL,
      total DECIMAL(38,6) NOT NULL, events BIGINT NOT NULL, low DECIMAL(18,6) NOT NULL, high DECIMAL(18,6) NOT NULL,
      corrections BIGINT NOT NULL);
    CREATE TABLE usage_kept_since (company_id INTEGER NOT NULL, since_ms BIGINT NOT NULL);
    INSERT INTO usage_kept_hours VALUES (3, 31, 400000, 7.5, 2, 2.5, 5, 0);
    INSERT INTO usage_kept_since VALUES (3, 1500000000000);`),
};

function layout2(more: string): string {
  const events = `(seq BIGINT NOT NULL, company_id INTEGER NOT NULL, subscription_id INTEGER NOT NULL,
    timestamp BIGINT NOT NULL, id UUID NOT NULL, usage DECIMAL(18,6) NOT NULL, metadata VARCHAR, created_at BIGINT NOT NULL)`;
  const hours = `(company_id INTEGER NOT NULL, hour INTEGER NOT NULL, total DECIMAL(38,6) NOT NULL, events BIGINT NOT NULL,
    low DECIMAL(18,6) NOT NULL, high DECIMAL(18,6) NOT NULL, seq BIGINT NOT NULL)`;
  const tables = ["hot_0", "hot_1", "hot_2", "hot_3", "runs", "settled"];
  return `
    CREATE TABLE usage_meta (name VARCHAR NOT NULL, value VARCHAR NOT NULL);
    INSERT INTO usage_meta VALUES ('schema_version', '2'), ('fingerprint_key', '000102030405060708090a0b0c0d0e0f'),
      ('store_id', '018f0000-0000-7000-8000-000000000000');
    ${tables.map((name) => `CREATE TABLE usage_${name} ${events};`).join("\n")}
    CREATE TABLE usage_hour_deltas ${hours};
    CREATE TABLE usage_hour_folds ${hours};
    INSERT INTO usage_settled SELECT * FROM fixture WHERE seq <= 2;
    INSERT INTO usage_hot_1 SELECT * FROM fixture WHERE seq > 2;
    INSERT INTO usage_hour_folds SELECT company_id, (timestamp // 3600000)::INTEGER, sum(usage), count(*), min(usage),
      max(usage), max(seq) FROM fixture WHERE seq <= 2 GROUP BY 1, 2;
    INSERT INTO usage_hour_deltas SELECT company_id, (timestamp // 3600000)::INTEGER, sum(usage), count(*), min(usage),
      max(usage), max(seq) FROM fixture WHERE seq > 2 GROUP BY 1, 2;
    ${more}`;
}

const EVENTS = `CREATE TEMP TABLE fixture AS SELECT * FROM (VALUES
  (1::BIGINT, 1, 11, 1700000000000, '00000000-0000-4000-8000-000000000001'::UUID, 1.5, '{"a":"b"}', 1700000000001),
  (2, 2, 21, 1700000000000, '00000000-0000-4000-8000-000000000001'::UUID, -2.25, NULL, 1700000000002),
  (5, 1, 11, 1600000000000, '00000000-0000-4000-8000-000000000002'::UUID, 999999999999.999999, '{"a":"ü"}', 1700000000003))
  AS t (seq, company_id, subscription_id, timestamp, id, usage, metadata, created_at);`;

async function runOn(path: string, sql: string): Promise<unknown[][]> {
  const instance = await DuckDBInstance.create(path);
  const connection = await instance.connect();
  try {
    return (await connection.runAndReadAll(sql)).getRows();
  } finally {
    connection.closeSync();
    instance.closeSync();
  }
}

test.each(Object.entries(FIXTURES))("%s is opened with its events, and written to", async (name, sql) => {
  const path = join(folder, `${name.replaceAll(/\W/g, "_")}.duckdb`);
  await runOn(path, EVENTS + sql);
  const store = await openDuckDb({ path });
  const page = await store.search({ ...FIRST_PAGE, company_id: 1 }, TIMEOUT_MS);
  expect(page.rows.map(({ usage, metadata }) => [usage, metadata])).toEqual([
    ["999999999999.999999", { a: "ü" }],
    ["1.5", { a: "b" }],
  ]);
  expect(await store.check(null, TIMEOUT_MS)).toEqual({ hours: 3, events: 3, different: 0 });
  expect(await store.lastSeq(1, TIMEOUT_MS)).toBe(5);
  const repeat = modelEvent({
    id: "00000000-0000-4000-8000-000000000001",
    subscription_id: 11,
    timestamp: 1_700_000_000_000,
    millionths: 1_500_000n,
    object: { a: "b" },
  });
  expect(await store.append(1, [repeat, modelEvent()], NOW_MS)).toEqual({ accepted: 1, duplicates: 1 });
  expect(await store.lastSeq(1, TIMEOUT_MS)).toBe(6);
  await store.close();
  const again = await openDuckDb({ path });
  expect(await again.aggregate({ ...TOTAL, company_id: 1 }, TIMEOUT_MS)).toMatchObject([{ event_count: 3 }]);
  const is_kept = name.includes("kept");
  expect(again.sinceOf(3)).toBe(is_kept ? 1_500_000_000_000 : 0);
  const kept = await again.aggregate({ ...TOTAL, company_id: 3 }, TIMEOUT_MS);
  expect(kept).toMatchObject([is_kept ? { event_count: 2, total_usage: "7.5" } : { event_count: 0 }]);
  await again.close();
  expect(readdirSync(folder).filter((file) => file.includes(".new"))).toEqual([]);
});

test("a file that can't be written anew as it was stays as it is", async () => {
  const path = join(folder, "wrong.duckdb");
  const [, sql = ""] = Object.entries(FIXTURES)[0] ?? [];
  // What the new layout does not take.
  await runOn(
    path,
    `${EVENTS}${sql} ALTER TABLE usage_events ALTER usage TYPE DECIMAL(30,6);
    INSERT INTO usage_events SELECT 9, 1, 11, 0, uuid(), 99999999999999.5, NULL, 0;`,
  );
  const refused = await openDuckDb({ path }).catch(String);
  expect(refused).toContain("Conversion Error");
  expect(existsSync(`${path}.new`)).toBe(false);
  expect(await runOn(path, "SELECT count(*), max(seq) FROM usage_events")).toEqual([[4n, 9n]]);
});

test("a file with tables that this program does not know is not written anew: they would be lost", async () => {
  const path = join(folder, "newer.duckdb");
  const store = await openDuckDb({ path });
  await store.append(1, [modelEvent()], NOW_MS);
  await store.close();
  await runOn(path, "CREATE TABLE usage_of_later (a INTEGER); INSERT INTO usage_of_later VALUES (7)");
  const refused = await rewriteStore(path, { memory_limit: "500MB", threads: 2 }).catch(String);
  expect(refused).toContain("usage_of_later");
  expect(await runOn(path, "SELECT a, (SELECT count(*) FROM usage_events) FROM usage_of_later")).toEqual([
    [7, 1n],
  ]);
});

test("a file written anew has the same events, sums and identity, and nothing twice", async () => {
  const path = join(folder, "anew.duckdb");
  const compaction = {
    hot_rows: 1,
    segment_rows: 300,
    move_rows: 100,
    snapshot_rows: 100,
    min_events: 1,
    max_share: 1,
    retry_ms: 10,
  };
  const store = await openDuckDb({ path, compaction });
  const events = Array.from({ length: 900 }, (_, i) =>
    modelEvent({ object: { kind: i % 3 }, timestamp: 1_700_000_000_000 + i * 60_000 }),
  );
  await store.append(1, events.slice(0, 800), NOW_MS);
  await store.compact();
  await store.append(1, events.slice(800), NOW_MS);
  const groups = () => ({ ...TOTAL, company_id: 1, group_by: ["metadata:kind"] as const });
  const before = await store.aggregate(groups(), TIMEOUT_MS);
  await store.close();
  const meta = "SELECT * FROM usage_meta ORDER BY ALL";
  const identity = await runOn(path, meta);
  expect(await rewriteStore(path, { memory_limit: "500MB", threads: 2 })).toBe(900);
  expect(await runOn(path, meta)).toEqual(identity);
  const anew = await openDuckDb({ path, compaction });
  expect(await anew.append(1, events, NOW_MS)).toEqual({ accepted: 0, duplicates: 900 });
  expect((await anew.aggregate(groups(), TIMEOUT_MS)).length).toBe(before.length);
  expect(await anew.check(null, TIMEOUT_MS)).toMatchObject({ events: 900, different: 0 });
  await anew.close();
});
