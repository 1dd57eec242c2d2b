import { afterAll, expect, test } from "bun:test";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { EventBlock } from "../../../src/usage_store/duckdb/append/event_block.ts";
import { openDuckDb } from "../../../src/usage_store/duckdb/duckdb_store.ts";
import { TIMEOUT_MS } from "../conformance.ts";
import { eventBlock } from "./event_blocks.ts";

const folder = await mkdtemp(join(tmpdir(), "usage-load-"));
afterAll(() => rm(folder, { recursive: true }));

const NOW_MS = 1_800_000_000_000;
const TOTAL = { company_id: 1, group_by: [], time_zone: "UTC", max_groups: 1, max_key_length: 9 };

let files = 0;
const openStore = () => openDuckDb({ path: join(folder, `${++files}.duckdb`) });

const SKIPPED = 2_700;

/** Two blocks: of the second's 3,000 rows 500 are in the first too, 400 with other content, and one was skipped there. */
async function makeBlocks(): Promise<[EventBlock, EventBlock]> {
  const first = await eventBlock(1, 3_000);
  first.skip(SKIPPED - 1);
  const second = await eventBlock(2_501, 5_500, "CASE WHEN number > 2600 THEN number / 8 ELSE 1 END");
  return [first, second];
}

test.each(["one after the other", "the second while the first is loaded", "both before"])(
  "blocks are loaded alike when they are staged: %s",
  async (when) => {
    const store = await openStore();
    const [first, second] = await makeBlocks();
    if (when === "both before") await Promise.all([store.stage(1, first), store.stage(1, second)]);
    const loading = store.load(1, first, NOW_MS);
    if (when !== "one after the other") await store.stage(1, second);
    expect(await loading).toEqual({ accepted: 2_999, duplicates: 0, left: [] });
    const { left, ...counts } = await store.load(1, second, NOW_MS);
    expect(counts).toEqual({ accepted: 2_501, duplicates: 399 });
    expect(left).toEqual(Array.from({ length: 100 }, (_, i) => i));
    expect(await store.load(1, first, NOW_MS)).toEqual({ accepted: 0, duplicates: 2_999, left: [] });
    expect(await store.aggregate(TOTAL, TIMEOUT_MS)).toMatchObject([
      { event_count: 5_500, total_usage: String((5_500 * 5_501) / 2 / 8) },
    ]);
    expect(await store.check(null, TIMEOUT_MS)).toMatchObject({ events: 5_500, different: 0 });
    await store.close();
  },
);

test("a store closes with a block that is staged and never loaded, which leaves nothing behind", async () => {
  const path = join(folder, "left.duckdb");
  const store = await openDuckDb({ path });
  await store.stage(1, await eventBlock(1, 3_000));
  await store.close();
  const again = await openDuckDb({ path });
  expect(await again.load(1, await eventBlock(1, 3_000), NOW_MS)).toMatchObject({ accepted: 3_000 });
  await again.close();
});

test("of blocks that are staged and not loaded a few are held; the others can be loaded all the same", async () => {
  const store = await openStore();
  const staged: WeakRef<EventBlock>[] = [];
  const first = await eventBlock(1, 10);
  await store.stage(1, first);
  for (let i = 1; i < 12; i++) {
    const block = await eventBlock(i * 10 + 1, i * 10 + 10);
    staged.push(new WeakRef(block));
    await store.stage(1, block);
  }
  await Bun.sleep(1);
  Bun.gc(true);
  const held = staged.map((block) => block.deref()).filter((block) => block !== undefined);
  expect(held.length).toBeLessThan(8);
  for (const block of [first, ...held])
    expect(await store.load(1, block, NOW_MS)).toMatchObject({ accepted: 10, left: [] });
  await store.close();
});

test("blocks that were loaded are held no longer: a server loads any number of them", async () => {
  const store = await openStore();
  const loaded: WeakRef<object>[] = [];
  for (let i = 0; i < 8; i++) {
    const block = await eventBlock(i * 10 + 1, i * 10 + 10);
    loaded.push(new WeakRef(block));
    await store.stage(1, block);
    await store.load(1, block, NOW_MS);
  }
  await Bun.sleep(1);
  Bun.gc(true);
  // The last ones may be on the stack still.
  expect(loaded.filter((block) => block.deref() !== undefined).length).toBeLessThan(4);
  await store.close();
});
