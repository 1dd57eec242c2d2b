import { afterAll, afterEach, describe, expect, spyOn, test } from "bun:test";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DuckDBConnection } from "@duckdb/node-api";
import { type Database, openDatabase } from "../../../src/usage_store/duckdb/engine/database.ts";
import { Engine } from "../../../src/usage_store/duckdb/engine/engine.ts";
import { Readers } from "../../../src/usage_store/duckdb/engine/readers.ts";
import { type CompactableStore, openStoreOn } from "../../../src/usage_store/duckdb/duckdb_store.ts";
import type { DuckDbOptions } from "../../../src/usage_store/duckdb/options.ts";
import { failure, TIMEOUT_MS } from "../conformance.ts";
import { modelEvent } from "../arbitrary_events.ts";
import { eventBlock } from "./event_blocks.ts";

// What becomes of the store when its engine fails: decision 0110.

const folder = await mkdtemp(join(tmpdir(), "usage-recovery-"));
afterAll(() => rm(folder, { recursive: true }));

let files = 0;
const NOW_MS = 1_800_000_000_000;
const NEVER = 1_000_000_000;
const COMPACTION = {
  hot_rows: NEVER,
  segment_rows: NEVER,
  move_rows: 700,
  snapshot_rows: NEVER,
  min_events: 1,
  max_share: 1,
  retry_ms: 10,
};
const PAGE = { company_id: 1, sort_by: "timestamp", sort_order: "asc", limit: 9, offset: 0 } as const;

const newEvents = (length: number) => Array.from({ length }, () => modelEvent());
const count = async (store: CompactableStore): Promise<number> =>
  (await store.search(PAGE, TIMEOUT_MS)).total;

async function open(options: Partial<DuckDbOptions> = {}) {
  const path = join(folder, `${++files}.duckdb`);
  const database = await openDatabase(path, { threads: 2, memory_limit: "500MB" });
  const told: string[] = [];
  const on_failure = (_: unknown, message: string) => void told.push(message);
  const store = await openStoreOn(database, { compaction: COMPACTION, on_failure, ...options });
  return { path, database, store, told };
}

let restore = () => undefined as void;
afterEach(() => restore());

type Run = DuckDBConnection["run"];

type Before = (connection: DuckDBConnection) => Promise<unknown>;
/** By statement; one that is done stays, empty: the spy is there until `restore`. */
const breaks = new Map<string, Before | undefined>();

/** Runs `before` in front of the next statement `sql`, on any connection. */
function breakNext(sql: string, before: Before): void {
  const is_spied = breaks.size > 0;
  breaks.set(sql, before);
  if (is_spied) return;
  const original: Run = Reflect.get(DuckDBConnection.prototype, "run");
  const spy = spyOn(DuckDBConnection.prototype, "run").mockImplementation(async function (
    this: DuckDBConnection,
    ...call: Parameters<Run>
  ) {
    const [statement] = call;
    const next = breaks.get(statement);
    if (next !== undefined) {
      breaks.set(statement, undefined);
      await next(this);
    }
    return original.apply(this, call);
  });
  restore = () => {
    breaks.clear();
    spy.mockRestore();
  };
}

/** Stops the clock that pauses are counted by, until what it returns is called: a slow machine would outlast them. */
function stopClock(): () => void {
  const clock = spyOn(performance, "now").mockReturnValue(performance.now());
  return () => clock.mockRestore();
}

/** Takes the memory from the engine, all but a kilobyte: what needs some more fails, a commit too. */
async function takeMemory(database: Database): Promise<void> {
  const connection = await database.instance.connect();
  await connection.run("SET temp_directory = ''");
  const limit = (kilobytes: number) =>
    connection.run(`SET memory_limit = '${kilobytes}KB'`).then(Boolean, () => false);
  let kilobytes = 100_000;
  for (const step of [250, 10, 1]) while (await limit(kilobytes - step)) kilobytes -= step;
  connection.closeSync();
}

/** Sets what the engine does at its next checkpoint. */
async function breakCheckpoints(database: Database): Promise<void> {
  const connection = await database.instance.connect();
  await connection.run("SET debug_checkpoint_abort = 'before_header'");
  connection.closeSync();
}

describe("a commit that fails", () => {
  test("takes staged blocks with it: they are staged anew on the next engine", async () => {
    const { store } = await open();
    const [first, second] = [await eventBlock(1, 30_000), await eventBlock(29_001, 59_000)];
    await store.stage(1, first);
    await store.stage(1, second);
    breakNext("COMMIT", () => Promise.reject(new Error("No memory for the commit")));
    // The index knows their ids by then, so that each row is left to `append`.
    expect((await store.load(1, first, NOW_MS)).left).toHaveLength(30_000);
    expect(store.stats().engine_losses).toBe(1);
    const { left, ...counts } = await store.load(1, second, NOW_MS);
    expect([counts, left.length]).toEqual([{ accepted: 29_000, duplicates: 0 }, 1_000]);
    expect(await count(store)).toBe(29_000);
    await store.close();
  });

  test("for want of memory ends the engine; its events are stored when sent again, and none is lost", async () => {
    const { store, database, told } = await open();
    const [first, second] = [newEvents(30_000), newEvents(2_000)];
    await store.append(1, first, NOW_MS);
    breakNext("COMMIT", () => takeMemory(database));
    const error = await failure(store.append(1, second, NOW_MS));
    expect(error).toMatchObject({ kind: "unavailable", retry_after_s: 1 });
    expect(error.message).toContain("none of them is stored");
    expect(String(error.cause instanceof Error && error.cause.cause)).toMatch(/Failed to commit/);
    expect(store.stats()).toMatchObject({ engine_losses: 1, is_open: true });
    expect(await count(store)).toBe(30_000);
    expect(await store.append(1, [...first, ...second], NOW_MS)).toEqual({
      accepted: 2_000,
      duplicates: 30_000,
    });
    await store.compact();
    expect(await store.check(null, TIMEOUT_MS)).toEqual({ hours: 1, events: 32_000, different: 0 });
    expect(told.filter((message) => message.includes("doctor"))).toEqual([]);
    await store.close();
  });

  test("and is on disk all the same is answered as stored", async () => {
    const { store } = await open();
    const event = modelEvent();
    await store.append(1, [event], NOW_MS);
    breakNext("COMMIT", async (connection) => {
      await connection.run("COMMIT;");
      throw new Error("TransactionContext Error: Failed to commit: the disk did not answer");
    });
    const stored = store.append(1, [modelEvent(), event], NOW_MS);
    const refused = failure(store.append(1, [{ ...event, usage: "9" }], NOW_MS));
    expect(await stored).toEqual({ accepted: 1, duplicates: 1 });
    expect((await refused).kind).toBe("conflict");
    expect(store.stats().engine_losses).toBe(1);
    expect(await store.check(null, TIMEOUT_MS)).toEqual({ hours: 1, events: 2, different: 0 });
    await store.close();
  });

  test("and is on disk all the same is answered as stored also when a checkpoint ended the engine meanwhile", async () => {
    const { store, told } = await open();
    const event = modelEvent();
    await store.append(1, [event], NOW_MS);
    const [reached, committed] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    breakNext("FORCE CHECKPOINT", async () => {
      reached.resolve();
      await committed.promise;
      throw new Error("IO Error: No space left on device");
    });
    const compaction = store.compact().catch(() => undefined);
    await reached.promise;
    breakNext("COMMIT", async (connection) => {
      await connection.run("COMMIT;");
      committed.resolve();
      while (store.stats().engine_losses === 0) await Bun.sleep(1);
      throw new Error("INTERRUPT Error: Interrupted!");
    });
    expect(await store.append(1, [modelEvent(), event], NOW_MS)).toEqual({ accepted: 1, duplicates: 1 });
    await compaction;
    expect(store.stats().engine_losses).toBe(1);
    expect(told.filter((line) => line.includes("doctor"))).toEqual([]);
    expect(await store.check(null, TIMEOUT_MS)).toMatchObject({ events: 2, different: 0 });
    await store.close();
  });

  test("is not met by appends that wait, nor by questions", async () => {
    const { store } = await open({ group_events: 100 });
    await store.append(1, newEvents(10), NOW_MS);
    breakNext("COMMIT", () => Promise.reject(new Error("Failed to commit: no memory")));
    const windows = [{ subscription_id: 1, start_ms: 0, end_ms: NOW_MS }];
    const lost = failure(store.append(1, newEvents(2_000), NOW_MS));
    const waiting = [1, 2, 3].map(() => store.append(1, newEvents(100), NOW_MS));
    const questions = [1, 2, 3, 4, 5, 6].map(() => store.sums(1, windows, TIMEOUT_MS));
    expect((await lost).kind).toBe("unavailable");
    expect(await Promise.all(waiting)).toEqual(waiting.map(() => ({ accepted: 100, duplicates: 0 })));
    for (const [sum] of await Promise.all(questions))
      expect([10, 110, 210, 310]).toContain(sum?.event_count ?? -1);
    expect(await count(store)).toBe(310);
    expect(store.stats().engine_losses).toBe(1);
    await store.close();
  });

  test("again and again holds appends back, for longer each time, and lets questions go on", async () => {
    const { store } = await open();
    await store.append(1, newEvents(1), NOW_MS);
    const goOn = stopClock();
    for (const losses of [1, 2]) {
      breakNext("COMMIT", () => Promise.reject(new Error("IO Error: No space left on device")));
      expect((await failure(store.append(1, newEvents(1), NOW_MS))).kind).toBe("unavailable");
      restore();
      expect(store.stats().engine_losses).toBe(losses);
    }
    expect((await failure(store.append(1, newEvents(1), NOW_MS))).message).toContain("retry later");
    expect((await failure(store.ping(TIMEOUT_MS))).kind).toBe("unavailable");
    expect(await count(store)).toBe(1);
    goOn();
    for (;;) {
      const result = await store.append(1, newEvents(1), NOW_MS).catch(() => undefined);
      if (result?.accepted === 1) break;
      await Bun.sleep(20);
    }
    await store.ping(TIMEOUT_MS);
    await store.close();
  });

  test("in the compaction loses and doubles nothing", async () => {
    const { store, path } = await open();
    await store.append(1, newEvents(2_000), NOW_MS);
    breakNext("COMMIT", () =>
      Promise.reject(new Error("TransactionContext Error: Failed to commit: no memory")),
    );
    await store.compact();
    expect(store.stats().engine_losses).toBe(1);
    expect(await store.check(null, TIMEOUT_MS)).toEqual({ hours: 1, events: 2_000, different: 0 });
    await store.close();
    const again = await openDatabase(path, { threads: 2, memory_limit: "500MB" });
    const connection = await again.instance.connect();
    expect((await connection.run("FROM usage_runs")).rowCount).toBe(2_000);
    connection.closeSync();
    again.close();
  });
});

describe("a checkpoint that fails", () => {
  test("ends the engine, and the store goes on by itself", async () => {
    const { store, database } = await open();
    const events = newEvents(3_000);
    await store.append(1, events, NOW_MS);
    await breakCheckpoints(database);
    await store.compact();
    expect(store.stats()).toMatchObject({ engine_losses: 1, is_open: true });
    expect(await count(store)).toBe(3_000);
    await store.ping(TIMEOUT_MS);
    expect(await store.append(1, [...events, modelEvent()], NOW_MS)).toEqual({
      accepted: 1,
      duplicates: 3_000,
    });
    expect(await store.check(null, TIMEOUT_MS)).toMatchObject({ events: 3_001, different: 0 });
    await store.close();
  });

  test("at the end is reported, and what is stored is there at the next start", async () => {
    const { store, database, path, told } = await open();
    await store.append(1, newEvents(100), NOW_MS);
    await breakCheckpoints(database);
    await store.close();
    expect(told).toEqual(["usage store: the last checkpoint failed"]);
    const again = await openDatabase(path, { threads: 2, memory_limit: "500MB" });
    const reopened = await openStoreOn(again, {});
    expect(await count(reopened)).toBe(100);
    await reopened.close();
  });
});

test("a question that ends one engine after the other is refused, and other companies' go on", async () => {
  const { store, told } = await open();
  await store.append(1, newEvents(1), NOW_MS);
  const original: Run = Reflect.get(DuckDBConnection.prototype, "run");
  const spy = spyOn(DuckDBConnection.prototype, "run").mockImplementation(async function (
    this: DuckDBConnection,
    ...call: Parameters<Run>
  ) {
    if (call[0].includes("GROUP BY ALL")) throw new Error("FATAL Error: the database has been invalidated");
    return original.apply(this, call);
  });
  restore = () => spy.mockRestore();
  const asked = { company_id: 1, time_zone: "UTC", max_groups: 9, max_key_length: 9 };
  const ask = () => failure(store.aggregate({ ...asked, group_by: ["metadata:a"] }, TIMEOUT_MS));
  const goOn = stopClock();
  expect((await ask()).message).toContain("made the usage store fail");
  for (let i = 0; i < 20; i++) expect((await ask()).kind).toBe("unavailable");
  goOn();
  expect(store.stats().engine_losses).toBe(2);
  expect((await store.search({ ...PAGE, company_id: 2 }, TIMEOUT_MS)).total).toBe(0);
  expect(await store.append(1, newEvents(1), NOW_MS)).toMatchObject({ accepted: 1 });
  expect(told.filter((message) => message.includes("doctor"))).toEqual([]);
  await store.close();
});

test("a store that can't be opened again answers unavailable until it can, and closes", async () => {
  const { store, database, told } = await open();
  await store.append(1, newEvents(5), NOW_MS);
  // Whoever holds the file open keeps the next engine from opening it: two at once would destroy it.
  const other = await database.instance.connect();
  await breakCheckpoints(database);
  expect((await failure(store.compact())).kind).toBe("unavailable");
  expect((await failure(store.append(1, newEvents(5), NOW_MS))).kind).toBe("unavailable");
  expect((await failure(store.ping(TIMEOUT_MS))).kind).toBe("unavailable");
  expect(store.stats().is_open).toBe(false);
  while (!told.includes("usage store: it could not be opened again, it will be tried again"))
    await Bun.sleep(20);
  other.closeSync();
  while (!store.stats().is_open) await Bun.sleep(20);
  expect(await count(store)).toBe(5);
  await store.close();
});

test("closing lets a checkpoint that is under way come to its end: cut off, it would end the engine and leave the log", async () => {
  const { store, told, path } = await open();
  await store.append(1, newEvents(30_000), NOW_MS);
  const closed = Promise.withResolvers<void>();
  breakNext("FORCE CHECKPOINT", async () => void setImmediate(() => closed.resolve(store.close())));
  await store.compact().catch(() => undefined);
  await closed.promise;
  expect(told).toEqual([]);
  expect(Bun.file(`${path}.wal`).size).toBe(0);
});

test("a connection whose rollback failed is given to nobody else", async () => {
  const { database } = await open();
  const engine = new Engine(database.instance);
  const readers = await Readers.open(engine, { readers: 1, waiting: 9, waiting_company: 9 });
  breakNext("ROLLBACK", () => Promise.reject(new Error("Out of Memory Error: failed to pin block")));
  const ask = () =>
    readers.run(1, TIMEOUT_MS, async (connection) => (await connection.run("SELECT 7")).rowCount);
  expect(await Promise.all([ask(), ask(), ask()])).toEqual([1, 1, 1]);
  expect(engine.is_lost).toBe(false);
  await readers.close();
});

test("an engine that was closed for a failure wrote nothing", async () => {
  const { store, database, path } = await open();
  await store.append(1, newEvents(100), NOW_MS);
  await store.compact();
  await store.append(1, newEvents(100), NOW_MS);
  const before = await Promise.all([Bun.file(path).bytes(), Bun.file(`${path}.wal`).bytes()]);
  breakNext("COMMIT", () =>
    Promise.reject(new Error("TransactionContext Error: Failed to commit: no memory")),
  );
  let after: Uint8Array[] = [];
  const reopen = database.reopen.bind(database);
  spyOn(database, "reopen").mockImplementation(async () => {
    database.close();
    after = await Promise.all([Bun.file(path).bytes(), Bun.file(`${path}.wal`).bytes()]);
    return reopen();
  });
  await failure(store.append(1, newEvents(1), NOW_MS));
  const hashes = before.map((bytes) => Bun.hash(bytes));
  expect(after.map((bytes) => Bun.hash(bytes))).toEqual(hashes);
  // Nor does opening it again, for which a full disk has no room.
  const opened = await Promise.all([Bun.file(path).bytes(), Bun.file(`${path}.wal`).bytes()]);
  expect(opened.map((bytes) => Bun.hash(bytes))).toEqual(hashes);
  await store.close();
});
