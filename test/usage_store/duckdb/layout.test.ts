import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { existsSync } from "node:fs";
import { copyFile, mkdtemp, open, readFile, rm, truncate, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { openDatabase } from "../../../src/usage_store/duckdb/engine/database.ts";
import { EVENT_TABLES } from "../../../src/usage_store/duckdb/engine/schema.ts";
import { asNumber, asText, query } from "../../../src/usage_store/duckdb/engine/sql.ts";
import {
  type CompactableStore,
  openDuckDb,
  openStoreOn,
} from "../../../src/usage_store/duckdb/duckdb_store.ts";
import { TIMEOUT_MS } from "../conformance.ts";
import { modelEvent } from "../arbitrary_events.ts";

// What becomes of events once they are stored: sorted runs, sums by hour, the snapshot of the index.

const folder = await mkdtemp(join(tmpdir(), "usage-layout-"));
afterAll(() => rm(folder, { recursive: true }));

let files = 0;
const newPath = (): string => join(folder, `${++files}.duckdb`);

const NOW_MS = 1_800_000_000_000;
const NEVER = 1_000_000_000;
const SMALL = {
  hot_rows: NEVER,
  segment_rows: NEVER,
  move_rows: 700,
  snapshot_rows: NEVER,
  min_events: 1,
  max_share: 1,
  retry_ms: 10,
};
const HOUR_MS = 3_600_000;

/** Events of 40 hours, in no order, of some subscriptions. */
const newEvents = (length: number) =>
  Array.from({ length }, (_, i) =>
    modelEvent({
      timestamp: 1_699_999_200_000 + ((i * 7_919_993) % (40 * HOUR_MS)),
      subscription_id: 1 + (i % 3),
    }),
  );

const PAGE = { sort_by: "timestamp", sort_order: "asc", limit: 1, offset: 0 } as const;
const count = async (store: CompactableStore, company_id = 1): Promise<number> =>
  (await store.search({ ...PAGE, company_id }, TIMEOUT_MS)).total;

/** What a closed store's file answers to a statement. */
async function ask(path: string, sql: string) {
  const database = await openDatabase(path, { threads: 2, memory_limit: "500MB" });
  const connection = await database.instance.connect();
  try {
    return await query(connection, sql);
  } finally {
    connection.closeSync();
    database.close();
  }
}

async function rowsByTable(path: string): Promise<Record<string, number>> {
  const parts = EVENT_TABLES.map((table) => `SELECT '${table}', count(*) FROM ${table}`);
  const rows = await ask(path, parts.join(" UNION ALL "));
  return Object.fromEntries(rows.map(([table, rows_]) => [asText(table), asNumber(rows_)]));
}

test("what was stored up to a number stays the same, whatever happens to the store", async () => {
  const path = newPath();
  const opened = () => openDuckDb({ path, compaction: { ...SMALL, move_rows: 7, segment_rows: 40 } });
  let store = await opened();
  const windows = [1, 2, 3].map((subscription_id) => ({ subscription_id, start_ms: 0, end_ms: NOW_MS }));
  const totals = (last_seq: number) => store.totals(1, windows, { last_seq, timeout_ms: TIMEOUT_MS });
  const known: { last_seq: number; totals: unknown; events: number }[] = [];
  const happenings = [
    () => store.compact(),
    () => store.rebuildSums(),
    async () => {
      await store.close();
      store = await opened();
    },
    // A refused append takes part in a commit and stores nothing.
    async () => {
      const late = { ...modelEvent(), only_if_stored: "too late" };
      await Promise.allSettled([store.append(1, [late], NOW_MS), store.append(2, newEvents(3), NOW_MS)]);
    },
  ];
  try {
    for (let round = 0; round < 16; round++) {
      await store.append(1, newEvents(5), NOW_MS - round);
      const last_seq = await store.lastSeq(1, TIMEOUT_MS);
      known.push({ last_seq, totals: await totals(last_seq), events: 5 * (round + 1) });
      // Every pair of happenings comes after the other.
      await happenings[round % 4]?.();
      await happenings[Math.floor(round / 4) % 4]?.();
    }
    for (const { last_seq, totals: told, events } of known) {
      const again = await totals(last_seq);
      expect(again).toEqual(told as typeof again);
      expect(again.reduce((sum, { event_count }) => sum + event_count, 0)).toBe(events);
    }
  } finally {
    await store.close();
  }
});

describe("compaction", () => {
  test("moves what is hot into runs sorted by company and time", async () => {
    const path = newPath();
    const store = await openDuckDb({ path, compaction: SMALL });
    for (const company_id of [3, 1, 2]) await store.append(company_id, newEvents(1_000), NOW_MS);
    await store.compact();
    await store.append(1, newEvents(10), NOW_MS);
    expect(await count(store)).toBe(1_010);
    await store.close();
    const tables = await rowsByTable(path);
    expect(tables.usage_runs).toBe(3_000);
    expect(Object.values(tables).reduce((sum, rows) => sum + rows, 0)).toBe(3_010);
    // One run for each move: within it no row is before the one that stands before it.
    const [[unsorted]] = (await ask(
      path,
      `SELECT count(*) FROM (SELECT seq // 700 AS move, row(company_id, timestamp, id) AS place,
        lag(place) OVER (PARTITION BY move ORDER BY rowid) AS before FROM usage_runs) WHERE place < before`,
    )) as [[bigint]];
    expect(unsorted).toBe(0n);
  });

  test("makes one long run of many short ones", async () => {
    const path = newPath();
    const store = await openDuckDb({ path, compaction: { ...SMALL, segment_rows: 3_000 } });
    for (let i = 0; i < 4; i++) {
      for (const company_id of [2, 1]) await store.append(company_id, newEvents(400), NOW_MS);
      await store.compact();
    }
    expect([await count(store, 1), await count(store, 2)]).toEqual([1_600, 1_600]);
    expect(await store.check(null, TIMEOUT_MS)).toEqual({ hours: 80, events: 3_200, different: 0 });
    await store.close();
    expect(await rowsByTable(path)).toMatchObject({ usage_runs: 0, usage_settled: 3_200 });
    const [[unsorted]] = (await ask(
      path,
      `SELECT count(*) FROM (SELECT row(company_id, timestamp, id) AS place,
        lag(place) OVER (ORDER BY rowid) AS before FROM usage_settled) WHERE place < before`,
    )) as [[bigint]];
    expect(unsorted).toBe(0n);
  });

  test("goes on with what a killed one left in every hot table", async () => {
    const path = newPath();
    const store = await openDuckDb({ path, compaction: SMALL });
    await store.append(1, newEvents(50), NOW_MS);
    await store.close();
    // As a kill leaves them between two moves.
    await ask(
      path,
      "INSERT INTO usage_hot_2 FROM usage_hot_0 WHERE seq > 25; DELETE FROM usage_hot_0 WHERE seq > 25",
    );
    const again = await openDuckDb({ path, compaction: { ...SMALL, hot_rows: 40 } });
    await again.compact();
    await again.append(1, newEvents(5), NOW_MS);
    expect(await count(again)).toBe(55);
    await again.close();
    expect(await rowsByTable(path)).toMatchObject({ usage_runs: 50 });
  });

  test("a failure is logged, loses nothing, and is repaired", async () => {
    const path = newPath();
    const failures: unknown[] = [];
    const database = await openDatabase(path, { threads: 2, memory_limit: "500MB" });
    const store = await openStoreOn(database, {
      compaction: { ...SMALL, hot_rows: 100 },
      on_failure: (error) => failures.push(error),
    });
    const other = await database.instance.connect();
    await other.run("BEGIN; ALTER TABLE usage_runs ADD COLUMN extra INTEGER");
    await store.append(1, newEvents(200), NOW_MS);
    while (failures.length === 0) await Bun.sleep(5);
    expect(await count(store)).toBe(200);
    await other.run("ROLLBACK");
    other.closeSync();
    await store.compact();
    expect(await count(store)).toBe(200);
    expect(await store.check(1, TIMEOUT_MS)).toMatchObject({ events: 200, different: 0 });
    await store.close();
    expect(await rowsByTable(path)).toMatchObject({ usage_runs: 200 });
  });
});

test("failures under load are logged once each, and compaction goes on when it can", async () => {
  const path = newPath();
  const failures: unknown[] = [];
  const database = await openDatabase(path, { threads: 2, memory_limit: "500MB" });
  const store = await openStoreOn(database, {
    compaction: { ...SMALL, hot_rows: 10, retry_ms: 300 },
    on_failure: (error) => failures.push(error),
  });
  const other = await database.instance.connect();
  await other.run("BEGIN; ALTER TABLE usage_hour_folds ADD COLUMN extra INTEGER");
  const started_ms = performance.now();
  for (let i = 0; i < 60; i++) await store.append(1, newEvents(20), NOW_MS);
  // At most one a rest, however many commits there were, and one more.
  expect(failures.length).toBeLessThanOrEqual(1 + Math.ceil((performance.now() - started_ms) / 300));
  while (failures.length < 2) await Bun.sleep(20);
  await other.run("ROLLBACK");
  other.closeSync();
  // No further commit: it is tried again by itself.
  const runs = async () => (await store.check(1, TIMEOUT_MS)).different;
  expect(await runs()).toBe(0);
  await store.compact();
  expect(await count(store)).toBe(1_200);
  await store.close();
  expect((await rowsByTable(path)).usage_runs).toBe(1_200);
});

test("sums that could not be folded or made anew leave the store able to", async () => {
  const path = newPath();
  const database = await openDatabase(path, { threads: 2, memory_limit: "500MB" });
  const store = await openStoreOn(database, { compaction: SMALL });
  const [event] = newEvents(1);
  await store.append(1, [modelEvent(event)], NOW_MS);
  const other = await database.instance.connect();
  await other.run("BEGIN; ALTER TABLE usage_hour_folds ADD COLUMN extra INTEGER");
  expect(await store.rebuildSums().catch(() => "failed")).toBe("failed");
  expect(await store.append(1, [modelEvent(event)], NOW_MS)).toEqual({ accepted: 0, duplicates: 1 });
  expect(await store.compact().catch(() => "failed")).toBe("failed");
  await other.run("ROLLBACK");
  other.closeSync();
  await store.compact();
  await store.rebuildSums();
  expect(await store.check(null, TIMEOUT_MS)).toEqual({ hours: 1, events: 1, different: 0 });
  await store.close();
});

describe("the sums by hour", () => {
  test("agree with the events through every move, and a difference is reported", async () => {
    const path = newPath();
    const store = await openDuckDb({ path, compaction: SMALL });
    await Promise.all(Array.from({ length: 20 }, () => store.append(1, newEvents(100), NOW_MS)));
    expect(await store.check(null, TIMEOUT_MS)).toEqual({ hours: 40, events: 2_000, different: 0 });
    await store.compact();
    await store.append(2, newEvents(100), NOW_MS);
    expect(await store.check(null, TIMEOUT_MS)).toEqual({ hours: 80, events: 2_100, different: 0 });
    await store.close();
    await ask(
      path,
      "UPDATE usage_hour_folds SET total = total + 0.000001 WHERE hour = (SELECT min(hour) FROM usage_hours)",
    );
    const again = await openDuckDb({ path });
    expect(await again.check(1, TIMEOUT_MS)).toMatchObject({ events: 2_000, different: 1 });
    expect(await again.check(2, TIMEOUT_MS)).toMatchObject({ events: 100, different: 0 });
    expect(await again.check(null, TIMEOUT_MS)).toMatchObject({ different: 1 });
    await again.close();
  });
});

describe("the snapshot of the index", () => {
  const OFTEN = { ...SMALL, snapshot_rows: 100 };

  async function fill(path: string): Promise<ReturnType<typeof newEvents>> {
    const store = await openDuckDb({ path, compaction: OFTEN });
    const events = newEvents(3_000);
    // Some while the snapshot is written, some after.
    await store.append(1, events.slice(0, 2_000), NOW_MS);
    const compacted = store.compact();
    for (let i = 2_000; i < 2_900; i += 100) await store.append(1, events.slice(i, i + 100), NOW_MS);
    await compacted;
    await store.append(1, events.slice(2_900), NOW_MS);
    await store.close();
    return events;
  }

  const original = newPath();
  let events: ReturnType<typeof newEvents>;
  beforeAll(async () => {
    events = await fill(original);
  });

  /** The path of a copy of the filled store. */
  async function copied(): Promise<string> {
    const path = newPath();
    for (const part of ["", ".ids"]) await copyFile(original + part, path + part);
    return path;
  }

  /** Opens again; answers what was told of the snapshot, having seen that every event is known. */
  async function reopened(path: string, stored = events): Promise<string[]> {
    const failures: string[] = [];
    const on_failure = (error: unknown) => failures.push(String((error as Error).cause));
    const store = await openDuckDb({ path, on_failure });
    expect(await store.append(1, stored, NOW_MS)).toEqual({ accepted: 0, duplicates: 3_000 });
    expect(await store.append(1, newEvents(3), NOW_MS)).toEqual({ accepted: 3, duplicates: 0 });
    await store.close();
    return failures;
  }

  test("is read at the next opening, with the events since", async () => {
    expect(existsSync(`${original}.ids`)).toBe(true);
    expect(await reopened(await copied())).toEqual([]);
  });

  test("is written after an opening that found many events without it", async () => {
    const path = newPath();
    const store = await openDuckDb({ path, compaction: SMALL });
    const stored = newEvents(3_000);
    await store.append(1, stored, NOW_MS);
    await store.close();
    expect(existsSync(`${path}.ids`)).toBe(false);
    const opened = await openDuckDb({ path, compaction: OFTEN });
    expect(await count(opened)).toBe(3_000);
    while (!existsSync(`${path}.ids`)) await Bun.sleep(5);
    await opened.close();
    expect(await reopened(path, stored)).toEqual([]);
  });

  test.each<[string, (path: string) => Promise<void>, string | undefined]>([
    ["a changed byte in the middle", (path) => flip(path, 1_000), "damaged"],
    ["a changed byte at the end", (path) => flip(path, -20), "damaged"],
    ["its end cut off", (path) => truncate(path, 5_000), "damaged|cut off"],
    ["nothing in it", (path) => truncate(path, 0), "cut off"],
    ["other things in it", (path) => writeFile(path, "not a snapshot, but long enough"), "damaged|cut off"],
    ["no file at all", (path) => rm(path), undefined],
  ])("with %s is left aside, and the index is built again", async (_, spoil, told) => {
    const path = await copied();
    await spoil(`${path}.ids`);
    const failures = await reopened(path);
    expect(failures).toHaveLength(told === undefined ? 0 : 1);
    if (told !== undefined) expect(failures[0]).toMatch(new RegExp(told));
    // It can't be believed later.
    expect(existsSync(`${path}.ids`)).toBe(false);
  });

  test("of another store, or of another history, is left aside", async () => {
    const [path, other_path] = [await copied(), newPath()];
    await fill(other_path);
    await writeFile(`${path}.ids`, await readFile(`${other_path}.ids`));
    expect((await reopened(path))[0]).toContain("another usage store");

    // A store put back to an earlier state, that went on differently.
    const earlier_path = newPath();
    const earlier = await openDuckDb({ path: earlier_path, compaction: OFTEN });
    await earlier.append(1, events.slice(0, 50), NOW_MS);
    await earlier.close();
    const file = await readFile(earlier_path);
    const later = await openDuckDb({ path: earlier_path, compaction: OFTEN });
    await later.append(1, events.slice(50, 1_000), NOW_MS);
    await later.compact();
    await later.close();
    await writeFile(earlier_path, file);
    const failures: string[] = [];
    const back = await openDuckDb({
      path: earlier_path,
      on_failure: (error) => failures.push(String(error)),
    });
    expect(failures).toHaveLength(1);
    expect(await back.append(1, events.slice(0, 100), NOW_MS)).toEqual({ accepted: 50, duplicates: 50 });
    await back.append(1, newEvents(60), NOW_MS);
    // As many as before, so that the numbers of the snapshot are there again.
    await back.append(1, events.slice(160, 1_000), NOW_MS);
    await back.close();
    const again = await openDuckDb({ path: earlier_path });
    expect(await again.append(1, events.slice(0, 100), NOW_MS)).toEqual({ accepted: 0, duplicates: 100 });
    expect(await again.append(1, events.slice(160, 1_000), NOW_MS)).toEqual({ accepted: 0, duplicates: 840 });
    expect(await count(again)).toBe(1_000);
    await again.close();
  });
});

async function flip(path: string, at: number): Promise<void> {
  const file = await open(path, "r+");
  const { size } = await file.stat();
  const position = at < 0 ? size + at : at;
  const byte = new Uint8Array(1);
  await file.read(byte, 0, 1, position);
  await file.write(Uint8Array.of((byte[0] ?? 0) ^ 0xff), 0, 1, position);
  await file.close();
}
