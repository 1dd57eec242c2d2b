import { afterAll, describe, expect, test } from "bun:test";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { EventFilter, MetadataCondition } from "../../../src/usage_store/event_filter.ts";
import { type CompactableStore, openDuckDb } from "../../../src/usage_store/duckdb/duckdb_store.ts";
import { modelEvent } from "../arbitrary_events.ts";
import { TIMEOUT_MS } from "../fixtures.ts";
import { matching } from "../reference_model.ts";

// Questions filtered by one metadata key: from the events, and from the sums by the key's value. Both against the model.

const folder = await mkdtemp(join(tmpdir(), "usage-filtered-sums-"));
afterAll(() => rm(folder, { recursive: true }));

const NOW_MS = 1_800_000_000_000;
const START_MS = 1_699_999_200_000;
const HOUR_MS = 3_600_000;
const COMPANY = 1;
/** So often each kind of event came: sums are far fewer than events. */
const OF_EACH = 40;

/** What is easily taken for another: texts and numbers, keys within keys and texts, escapes, lists. */
const OBJECTS: (Record<string, unknown> | null)[] = [
  { status: 200 },
  { status: "200" },
  { status: 2000 },
  { status: "2000", z: 200 },
  { a: "x", status: 200, z: true },
  { status: true },
  { status: "true" },
  { status: null },
  { status: "null" },
  { status: "" },
  { status: [200] },
  { status: { status: 200 } },
  { deep: { status: 200 }, status: 404 },
  { deep: { status: 200 } },
  { list: [{ status: 200 }], status: "Späti" },
  { 'x"status': 200 },
  { 'x"status': 200, status: 'a"b' },
  { note: '"status":200,', status: "back\\slash" },
  { note: ',"status":200}' },
  { ":": 200, status: 1e21 },
  { status: 1e-7 },
  { status: "200}" },
  { status: "a.b", "status.code": 7 },
  {},
  null,
];

const events = OBJECTS.flatMap((object, kind) =>
  Array.from({ length: OF_EACH }, (_, i) =>
    modelEvent({
      object,
      subscription_id: 1 + (i % 2),
      timestamp: START_MS + (i % 2) * HOUR_MS + i,
      millionths: BigInt(1 + kind) * 1_000_000n,
    }),
  ),
);

const VALUES = [
  "200",
  "2000",
  "true",
  "null",
  "",
  'a"b',
  "back\\slash",
  "Späti",
  "1e+21",
  "1e-7",
  "a.b",
  "404",
  "200}",
];

const CONDITIONS: MetadataCondition[] = [
  ...VALUES.flatMap((value) =>
    (["is", "is_not", "contains"] as const).map((op) => ({ key: "status", op, values: [value] })),
  ),
  { key: "status", op: "is", values: ["200", "404"] },
  { key: "status", op: "is_not", values: ["200", "true"] },
  { key: "status", op: "is", values: [] },
  { key: "status", op: "is_not", values: [] },
  { key: "status", op: "contains", values: ["SPÄ", "40"] },
  { key: "status", op: "present", values: [] },
  { key: "status", op: "missing", values: [] },
  { key: "status.code", op: "is", values: ["7"] },
  { key: "status.status", op: "is_not", values: ["200"] },
  { key: ":", op: "is", values: ["200"] },
  { key: 'x"status', op: "is_not", values: ["200"] },
];

const FILTERS: Partial<EventFilter>[] = [
  ...CONDITIONS.map((condition) => ({ conditions: [condition] })),
  { metadata: { status: "200" } },
  { metadata: { status: "200" }, subscription_ids: [2] },
  {
    metadata: { status: "200" },
    conditions: [{ key: "status", op: "is_not", values: ["404"] }],
  },
  { metadata: { status: "200" }, conditions: [{ key: "z", op: "present", values: [] }] },
];

/** What a series finds, and how much it read for that. */
async function ask(store: CompactableStore, filter: Partial<EventFilter>, from_ms = START_MS) {
  const { total, read } = await store.series(
    {
      ...filter,
      company_id: COMPANY,
      edges: [from_ms, START_MS + 2 * HOUR_MS],
      group_by: [],
      measure: "units",
      top: 8,
      max_key_length: 500,
    },
    { timeout_ms: TIMEOUT_MS },
  );
  return { found: [total.value, total.events], read };
}

function expected(filter: Partial<EventFilter>, from_ms = START_MS) {
  const found = matching(events, { ...filter, company_id: COMPANY, start_ms: from_ms });
  const millionths = found.reduce((sum, event) => sum + event.millionths, 0n);
  return [String(millionths / 1_000_000n), found.length];
}

describe("filters by a metadata key", () => {
  test("find what the model finds, from events and from sums by the key's value, which read far less", async () => {
    const limits = { hot_rows: 1_000_000, segment_rows: 1_000_000, snapshot_rows: 1_000_000, move_rows: 200 };
    const compaction = { ...limits, min_events: 10, max_share: 0.2, retry_ms: 10 };
    const store = await openDuckDb({ path: join(folder, "usage.duckdb"), compaction, few_events: 0 });
    await store.append(COMPANY, events.slice(0, -10), NOW_MS);
    await store.compact();
    const not_404 = { conditions: [{ key: "status", op: "is_not" as const, values: ["404"] }] };
    const by_events = await ask(store, not_404);
    // Some came after the sums.
    await store.append(COMPANY, events.slice(-10), NOW_MS);
    for (const filter of FILTERS)
      expect([filter, (await ask(store, filter)).found]).toEqual([filter, expected(filter)]);
    // Enough questions missed sums by the key that they are made now.
    await store.compact();
    // The first hour is cut, and read from its events.
    const from_ms = START_MS + 17;
    for (const filter of FILTERS) {
      const { found } = await ask(store, filter, from_ms);
      expect([filter, found]).toEqual([filter, expected(filter, from_ms)]);
    }
    const by_sums = await ask(store, not_404);
    expect(by_events.read).toBeGreaterThan(900);
    expect(by_sums.read).toBeLessThan(60);
    await store.close();
  });

  test("that few events meet have sums made too: all of their time was read", async () => {
    const limits = { hot_rows: 1_000_000, segment_rows: 1_000_000, snapshot_rows: 1_000_000, move_rows: 200 };
    const compaction = { ...limits, min_events: 500, max_share: 0.2, retry_ms: 10 };
    const store = await openDuckDb({ path: join(folder, "rare.duckdb"), compaction, few_events: 0 });
    await store.append(COMPANY, events, NOW_MS);
    await store.compact();
    const rare = { metadata: { status: "404" } };
    for (let i = 0; i < 3; i++) expect((await ask(store, rare)).read).toBe(OF_EACH);
    await store.compact();
    const { found, read } = await ask(store, rare);
    expect(found).toEqual(expected(rare));
    expect(read).toBeLessThan(OF_EACH / 4);
    await store.close();
  });
});
