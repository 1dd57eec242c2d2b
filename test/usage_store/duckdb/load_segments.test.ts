import { afterAll, expect, test } from "bun:test";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DuckDBInstance } from "@duckdb/node-api";
import { openDuckDb } from "../../../src/usage_store/duckdb/duckdb_store.ts";
import { loadSegments } from "../../../src/usage_store/duckdb/maintain/load_segments.ts";
import type { NewEvent } from "../../../src/usage_store/port.ts";

const folder = mkdtempSync(join(tmpdir(), "segments-"));
afterAll(() => rmSync(folder, { recursive: true }));

const START = Date.UTC(2026, 0, 1);
const LIMITS = { threads: 2, memory_limit: "500MB" };

function event(n: number, over: Partial<NewEvent> = {}): NewEvent {
  return {
    id: `00000000-0000-4000-8000-${String(n).padStart(12, "0")}`,
    subscription_id: 1 + (n % 3),
    timestamp: START + n * 977_777,
    timestamp_given: true,
    usage: n % 7 === 0 ? "-0.5" : "1.000001",
    metadata: n % 2 === 0 ? ('{"region":"a|b"}' as NewEvent["metadata"]) : null,
    ...over,
  };
}

const ALL = { subscription_id: 2, start_ms: 0, end_ms: START * 2 };

test("a store of segment files has the events, sums, numbers and ids of those that were backed up", async () => {
  const path = join(folder, "first.duckdb");
  const first = await openDuckDb({ path });
  const events = Array.from({ length: 600 }, (_, n) => event(n));
  await first.append(1, events.slice(0, 300), 1_000);
  await first.compact();
  await first.append(1, events.slice(300), 2_000);
  await first.append(2, [event(7)], 2_500);
  const last_seq = await first.lastSeq(1, 5_000);
  await first.append(1, [event(10_000)], 3_000);
  const totals = await first.totals(1, [ALL], { timeout_ms: 5_000, last_seq });
  await first.close();

  const parts = [
    [0, 250],
    [250, 10_000],
  ] as const;
  const instance = await DuckDBInstance.create(path);
  const connection = await instance.connect();
  const files: { path: string; events: number }[] = [];
  for (const [after, to] of parts) {
    const file = join(folder, `it's ${after}.parquet`);
    const rows = `SELECT * FROM usage_events WHERE seq > ${after} AND seq <= ${to}`;
    await connection.run(`COPY (${rows}) TO '${file.replace("'", "''")}' (FORMAT parquet)`);
    files.push({ path: file, events: to - after });
  }
  connection.closeSync();
  instance.closeSync();

  const copy = join(folder, "second.duckdb");
  expect(await loadSegments(copy, files, { ...LIMITS, last_seq })).toBe(601);
  const second = await openDuckDb({ path: copy });
  expect(await second.lastSeq(1, 5_000)).toBe(last_seq);
  expect(await second.totals(1, [ALL], { timeout_ms: 5_000 })).toEqual(totals);
  expect(await second.check(null, 5_000)).toMatchObject({ events: 601, different: 0 });
  // What was stored by the point is a duplicate, also as another hour's; what came after it is new.
  expect(await second.append(1, [event(3), event(10_000)], 4_000)).toEqual({ accepted: 1, duplicates: 1 });
  const changed = second.append(1, [event(4, { usage: "9" })], 4_000);
  expect(String(await changed.catch((error) => error))).toContain(
    "used already by events with other content",
  );
  expect(await second.lastSeq(1, 5_000)).toBe(last_seq + 1);
  expect((await second.totals(1, [ALL], { timeout_ms: 5_000, last_seq }))[0]).toEqual(totals[0]);
  await second.close();
});

test("a store without events goes on after the number that the database has counted up to", async () => {
  const path = join(folder, "empty.duckdb");
  expect(await loadSegments(path, [], { ...LIMITS, last_seq: 77 })).toBe(0);
  const store = await openDuckDb({ path });
  await store.append(1, [event(1)], 1_000);
  expect(await store.lastSeq(1, 5_000)).toBe(78);
  await store.close();
});
