import { afterAll, describe, expect, test } from "bun:test";
import { statSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { AppError } from "../../../src/core/errors.ts";
import { FINGERPRINT, prepareAppend } from "../../../src/usage_store/append/append_request.ts";
import { type Database, openDatabase } from "../../../src/usage_store/duckdb/engine/database.ts";
import { Engine } from "../../../src/usage_store/duckdb/engine/engine.ts";
import { FingerprintIndex } from "../../../src/usage_store/index/fingerprints.ts";
import { SipHash } from "../../../src/usage_store/index/siphash.ts";
import { Writer } from "../../../src/usage_store/duckdb/append/writer.ts";
import { openDuckDb, openStoreOn } from "../../../src/usage_store/duckdb/duckdb_store.ts";
import type { UsageStore } from "../../../src/usage_store/port.ts";
import { TotalsKeeper } from "../../../src/usage_store/running/keeper.ts";
import { failure, TIMEOUT_MS, usageStoreConformance } from "../conformance.ts";
import { modelEvent } from "../arbitrary_events.ts";

const folder = await mkdtemp(join(tmpdir(), "usage-"));
afterAll(() => rm(folder, { recursive: true }));

let files = 0;
const newPath = (): string => join(folder, `${++files}.duckdb`);

const LIMITS = { threads: 2, memory_limit: "500MB" };
const NOW_MS = 1_800_000_000_000;
const PAGE = { company_id: 1, sort_by: "timestamp", sort_order: "asc", limit: 9, offset: 0 } as const;

const newEvents = (length: number) => Array.from({ length }, () => modelEvent());

const count = async (store: UsageStore): Promise<number> => (await store.search(PAGE, TIMEOUT_MS)).total;

usageStoreConformance("the DuckDB usage store", () => openDuckDb({ path: newPath() }));

describe("the DuckDB usage store, its file", () => {
  test("knows its events again when opened again", async () => {
    const path = newPath();
    const events = newEvents(3_000);
    const first = await openDuckDb({ path });
    await first.append(1, events, NOW_MS);
    await first.close();
    const second = await openDuckDb({ path });
    const [one] = events;
    expect(await second.append(1, events, NOW_MS)).toEqual({ accepted: 0, duplicates: 3_000 });
    expect((await failure(second.append(1, [{ ...modelEvent(one), usage: "9" }], NOW_MS))).kind).toBe(
      "conflict",
    );
    expect(await second.append(1, newEvents(2), NOW_MS)).toEqual({ accepted: 2, duplicates: 0 });
    expect(await count(second)).toBe(3_002);
    await second.close();
  });

  test("has one opener, in this process and in others", async () => {
    const path = newPath();
    const store = await openDuckDb({ path });
    const inside = await failure(openDuckDb({ path }));
    expect([inside.kind, inside.message]).toEqual([
      "unavailable",
      expect.stringContaining("only one process"),
    ]);
    const module = join(import.meta.dir, "../../../src/usage_store/duckdb/duckdb_store.ts");
    const code = `import { openDuckDb } from ${JSON.stringify(module)};
      await openDuckDb({ path: ${JSON.stringify(path)} }).catch((error) => console.log(error.message));`;
    const outside = Bun.spawnSync(["bun", "-e", code]);
    expect(outside.stdout.toString()).toContain("only one process may write the usage store");
    await store.close();
    await (await openDuckDb({ path })).close();
  });

  test("is not written to by opening it again, unless it lacks a table", async () => {
    const path = newPath();
    await (await openDuckDb({ path })).close();
    const change = async (sql: string): Promise<number> => {
      const database = await openDatabase(path, LIMITS);
      const connection = await database.instance.connect();
      await connection.run(sql);
      connection.closeSync();
      database.close();
      return statSync(`${path}.wal`, { throwIfNoEntry: false })?.size ?? 0;
    };
    expect(await change("SELECT 1")).toBe(0);
    // As a file of a program that knew neither the table nor how to say so.
    await change("DROP TABLE usage_kept_since; DELETE FROM usage_meta WHERE name = 'tables'");
    expect(await change("FROM usage_kept_since")).toBeGreaterThan(0);
  });

  test("is refused when a newer version wrote it", async () => {
    const path = newPath();
    const database = await openDatabase(path, LIMITS);
    const connection = await database.instance.connect();
    await connection.run("UPDATE usage_meta SET value = '99' WHERE name = 'schema_version'");
    connection.closeSync();
    database.close();
    const error: unknown = await openDuckDb({ path }).catch((reason) => reason);
    expect(String(error)).toContain("its layout is version 99");
  });
});

/** Makes every write fail, by a change of the table that is not committed, until it is called. */
async function blockWrites(database: Database): Promise<() => Promise<void>> {
  const other = await database.instance.connect();
  await other.run("BEGIN; ALTER TABLE usage_hot_0 ADD COLUMN extra INTEGER");
  return async () => {
    await other.run("ROLLBACK");
    other.closeSync();
  };
}

describe("the DuckDB usage store, when a commit fails", () => {
  test("append() fails and the same events are stored when sent again", async () => {
    const database = await openDatabase(newPath(), LIMITS);
    const store = await openStoreOn(database, {});
    const [stored, fresh] = [modelEvent(), modelEvent()];
    await store.append(1, [stored], NOW_MS);
    const unblock = await blockWrites(database);
    const calls = [
      store.append(1, [fresh], NOW_MS),
      store.append(1, [fresh], NOW_MS),
      store.append(1, [{ ...fresh, usage: "9" }], NOW_MS),
      store.append(1, [{ ...stored, usage: "9" }], NOW_MS),
      store.append(1, [{ ...modelEvent(), only_if_stored: "too late" }], NOW_MS),
      store.append(1, [{ ...fresh, only_if_stored: "too late" }], NOW_MS),
      store.append(1, newEvents(5_000), NOW_MS),
    ].map(failure);
    // The fourth rests on what is stored, the fifth on what is not; the others on what failed to be.
    expect((await Promise.all(calls)).map(({ kind, retry_after_s }) => [kind, retry_after_s])).toEqual([
      ["unavailable", 1],
      ["unavailable", 1],
      ["unavailable", 1],
      ["conflict", undefined],
      ["invalid", undefined],
      ["unavailable", 1],
      ["unavailable", 1],
    ]);
    expect(await count(store)).toBe(1);
    await unblock();
    expect(await store.append(1, [fresh, stored], NOW_MS)).toEqual({ accepted: 1, duplicates: 1 });
    expect(await count(store)).toBe(2);
    await store.close();
  });
});

describe("the DuckDB usage store, its limits", () => {
  test("append() refuses more than may be pending, and takes them when there is room", async () => {
    const store = await openDuckDb({ path: newPath(), pending_events: 10 });
    expect((await failure(store.append(1, newEvents(11), NOW_MS))).kind).toBe("too_large");
    const results = await Promise.allSettled([1, 2, 3].map(() => store.append(1, newEvents(5), NOW_MS)));
    expect(results).toMatchObject([
      { value: { accepted: 5 } },
      { value: { accepted: 5 } },
      { reason: { kind: "unavailable", retry_after_s: 1 } },
    ]);
    expect(await store.append(1, newEvents(5), NOW_MS)).toEqual({ accepted: 5, duplicates: 0 });
    await store.close();
  });

  test("close() waits for pending appends", async () => {
    const path = newPath();
    const store = await openDuckDb({ path, group_ms: 60_000 });
    const pending = store.append(1, newEvents(7), NOW_MS);
    await store.close();
    expect(await pending).toEqual({ accepted: 7, duplicates: 0 });
    const again = await openDuckDb({ path });
    expect(await count(again)).toBe(7);
    await again.close();
  });

  test("questions over their time are interrupted, too many are refused, and the store goes on", async () => {
    const store = await openDuckDb({ path: newPath(), readers: 1, readers_waiting: 8 });
    for (let i = 0; i < 10; i++) await store.append(1, newEvents(10_000), NOW_MS);
    const windows = Array.from({ length: 5_000 }, () => ({
      subscription_id: 1,
      start_ms: 0,
      end_ms: NOW_MS,
    }));
    const slow = (timeout_ms: number) => failure(store.totals(1, windows, { timeout_ms }));
    const started_ms = performance.now();
    const errors: AppError[] = await Promise.all([slow(100), slow(50), slow(100), slow(100)]);
    expect(errors.map(({ kind }) => kind)).toEqual([
      "unavailable",
      "unavailable",
      "unavailable",
      "rate_limited",
    ]);
    expect(errors.map(({ retry_after_s }) => retry_after_s)).toEqual([1, 1, 1, 1]);
    expect(performance.now() - started_ms).toBeLessThan(30_000);
    expect(await count(store)).toBe(100_000);
    await store.close();
  });

  test("questions are interrupted also while they wait for a thread", async () => {
    // More at once than the four threads that run native calls unless told otherwise.
    const store = await openDuckDb({ path: newPath(), readers: 8 });
    await store.append(1, newEvents(10_000), NOW_MS);
    const windows = Array.from({ length: 5_000 }, () => ({
      subscription_id: 1,
      start_ms: 0,
      end_ms: NOW_MS,
    }));
    const started_ms = performance.now();
    const errors = await Promise.all(
      Array.from({ length: 8 }, () => failure(store.totals(1, windows, { timeout_ms: 200 }))),
    );
    expect(errors.map(({ kind }) => kind)).toEqual(Array(8).fill("unavailable"));
    expect(performance.now() - started_ms).toBeLessThan(30_000);
    await store.close();
  });
});

describe("the DuckDB usage store, its fingerprints", () => {
  test("append() tells ids apart that share a fingerprint", async () => {
    const database = await openDatabase(newPath(), LIMITS);
    const hash = new SipHash(database.fingerprint_key);
    const index = new FingerprintIndex();
    const totals = new TotalsKeeper({ last_seq: 0, secret: "", stored: [], onFailure: () => undefined });
    const connection = await database.instance.connect();
    const limits = { group_ms: 0, ready_requests: 10, group_events: 10, pending_events: 10 };
    const writer = new Writer(
      new Engine(database.instance),
      connection,
      { index, totals },
      { last_seq: 0, hot_rows: 0 },
      limits,
    );
    const event = modelEvent();
    const first = prepareAppend(1, [event], NOW_MS, hash);
    const second = prepareAppend(1, [modelEvent()], NOW_MS, hash);
    const elsewhere = prepareAppend(2, [{ ...event, usage: "9" }], NOW_MS, hash);
    await writer.append(first);
    for (const other of [second, elsewhere]) {
      // As if the fingerprint were the first event's, whose row is number 1, and a lost row's too.
      const [high = 0, low = 0] = other.words.subarray(FINGERPRINT);
      index.add(high, low, 1);
      index.add(high, low, 77);
      expect(await writer.append(other)).toEqual({ accepted: 1, duplicates: 0 });
    }
    expect(await writer.append(second)).toEqual({ accepted: 0, duplicates: 1 });
    expect(await writer.append(first)).toEqual({ accepted: 0, duplicates: 1 });
    await writer.close();
    database.close();
  });

  test("the index finds every entry, in at most 24 bytes each", () => {
    const index = new FingerprintIndex();
    const random = new Uint32Array(16_384);
    const entries: [number, number, number][] = [];
    for (let block = 0; block < 8; block++) {
      crypto.getRandomValues(random);
      for (let i = 0; i + 1 < random.length; i += 2) {
        // Also numbers over 32 bits, and those whose lower 32 bits are all zero.
        const seq = (entries.length + 1) * (i % 4 === 0 ? 1 : 2 ** 22);
        entries.push([random[i] ?? 0, random[i + 1] ?? 0, seq]);
      }
    }
    for (const [high, low, seq] of entries) index.add(high, low, seq);
    expect(index.size).toBe(65_536);
    expect(entries.filter(([high, low, seq]) => !index.find(high, low).includes(seq))).toEqual([]);
    expect(entries.filter(([high, low]) => index.find(high, low ^ 1).length > 0).length).toBeLessThan(3);
    expect(index.bytes / index.size).toBeLessThan(24);
    const [high = 0, low = 0] = entries[0] ?? [];
    index.add(high, low, 5);
    expect(index.find(high, low)).toContain(5);
  });

  test("SipHash is the published function", () => {
    // The vector of the paper's appendix, which fixes the plain version for any round counts.
    expect(plainSipHash(2, 4, countTo(16), countTo(15))).toBe(0xa129ca6149be45e5n);
    for (let run = 0; run < 100; run++) {
      const key = crypto.getRandomValues(new Uint8Array(16));
      const message = crypto.getRandomValues(new Uint8Array(24));
      const [a = 0, b = 0, c = 0, d = 0, e = 0, f = 0] = new Uint32Array(message.buffer);
      const hash = new SipHash(key);
      hash.hash(a, b, c, d, e, f);
      expect((BigInt(hash.high) << 32n) | BigInt(hash.low)).toBe(plainSipHash(1, 3, key, message));
    }
  });
});

const countTo = (length: number): Uint8Array => Uint8Array.from({ length }, (_, i) => i);
const rotate = (x: bigint, by: bigint): bigint => BigInt.asUintN(64, (x << by) | (x >> (64n - by)));
const add = (x: bigint, y: bigint): bigint => BigInt.asUintN(64, x + y);
const word = (bytes: Uint8Array, at: number): bigint =>
  bytes.slice(at, at + 8).reduceRight((sum, byte) => (sum << 8n) | BigInt(byte), 0n);

/** SipHash-c-d, as its paper writes it down. */
function plainSipHash(c: number, d: number, key: Uint8Array, message: Uint8Array): bigint {
  const [k0, k1] = [word(key, 0), word(key, 8)];
  let v0 = k0 ^ 0x736f6d6570736575n;
  let v1 = k1 ^ 0x646f72616e646f6dn;
  let v2 = k0 ^ 0x6c7967656e657261n;
  let v3 = k1 ^ 0x7465646279746573n;
  const rounds = (times: number): void => {
    for (let i = 0; i < times; i++) {
      v0 = add(v0, v1);
      v1 = rotate(v1, 13n) ^ v0;
      v0 = rotate(v0, 32n);
      v2 = add(v2, v3);
      v3 = rotate(v3, 16n) ^ v2;
      v0 = add(v0, v3);
      v3 = rotate(v3, 21n) ^ v0;
      v2 = add(v2, v1);
      v1 = rotate(v1, 17n) ^ v2;
      v2 = rotate(v2, 32n);
    }
  };
  const whole = message.length - (message.length % 8);
  const words = Array.from({ length: whole / 8 }, (_, i) => word(message, i * 8));
  words.push(word(message, whole) | (BigInt(message.length) << 56n));
  for (const m of words) {
    v3 ^= m;
    rounds(c);
    v0 ^= m;
  }
  v2 ^= 0xffn;
  rounds(d);
  return v0 ^ v1 ^ v2 ^ v3;
}
