import { expect, test } from "bun:test";
import { mkdtemp, rm, stat } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { openDuckDb } from "../../../src/usage_store/duckdb/duckdb_store.ts";
import { modelEvent } from "../arbitrary_events.ts";
import { NOW_MS } from "../fixtures.ts";

test("a long erasure empties the log now and then, though nothing is appended", async () => {
  const folder = await mkdtemp(join(tmpdir(), "erasure-log-"));
  const path = join(folder, "usage.duckdb");
  const store = await openDuckDb({ path });
  const events = Array.from({ length: 60 }, (_, i) => modelEvent({ object: { person: i } }));
  await store.append(1, events, NOW_MS);
  const sizes: number[] = [];
  for (const { id } of events) {
    await store.erase(1, [id]);
    sizes.push((await stat(`${path}.wal`).catch(() => ({ size: 0 }))).size);
  }
  expect(sizes.at(-1)).toBeLessThan(sizes[40] ?? 0);
  await store.close();
  await rm(folder, { recursive: true });
});
