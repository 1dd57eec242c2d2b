import { afterAll, expect, test } from "bun:test";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import * as fc from "fast-check";
import { openDuckDb } from "../../../src/usage_store/duckdb/duckdb_store.ts";
import type { AggregateQuery, SearchQuery, UsageStore } from "../../../src/usage_store/port.ts";
import { TESTS_ALL } from "../../support/properties.ts";
import { modelEvent } from "../arbitrary_events.ts";
import { TIMEOUT_MS, TOTAL } from "../fixtures.ts";

// Few events are read in other ways than many: every answer is the same.

const folder = await mkdtemp(join(tmpdir(), "usage-companies-"));
afterAll(() => rm(folder, { recursive: true }));

const NOW_MS = 1_800_000_000_000;
const FIRST_MS = 1_700_000_000_000;
const HOUR_MS = 3_600_000;
const FIRST_PAGE = { sort_by: "timestamp", sort_order: "desc", limit: 5, offset: 0 } as const;

/** The first store never finds that there are few events, the second one below 30, the third one always. */
const FEW = [0, 30, 1_000_000];
const open = () => Promise.all(FEW.map((few_events) => openDuckDb({ path: pathOf(few_events), few_events })));
const pathOf = (few_events: number) => join(folder, `${few_events}.duckdb`);

const ms = fc.option(fc.integer({ min: FIRST_MS - HOUR_MS, max: FIRST_MS + 40 * HOUR_MS }), {
  nil: undefined,
});
const filter = {
  company_id: fc.integer({ min: 1, max: 4 }),
  start_ms: fc.oneof(ms, fc.constant(undefined)),
  end_ms: fc.oneof(ms, fc.constant(undefined)),
  subscription_ids: fc.option(fc.constantFrom([], [1], [1, 2]), { nil: undefined }),
};
const page = fc.record({
  ...filter,
  sort_by: fc.constantFrom("timestamp" as const, "usage" as const),
  sort_order: fc.constantFrom("asc" as const, "desc" as const),
  limit: fc.integer({ min: 1, max: 20 }),
  offset: fc.constantFrom(0, 0, 3, 50, 500),
});
const sums = fc.record({
  ...filter,
  group_by: fc.constantFrom<AggregateQuery["group_by"]>(
    ["day"],
    ["hour", "subscription"],
    ["month"],
    [],
    ["subscription"],
  ),
  time_zone: fc.constantFrom("UTC", "Asia/Kathmandu", "Europe/Berlin"),
});

/** Two pages, the second by the cursor of the first. */
async function pages(store: UsageStore, wanted: SearchQuery) {
  const first = await store.search(wanted, TIMEOUT_MS);
  if (first.next === null) return [first];
  return [first, await store.search({ ...wanted, offset: 0, after: first.next }, TIMEOUT_MS)];
}

async function groups(store: UsageStore, wanted: Pick<AggregateQuery, "company_id" | "group_by">) {
  return new Set(await store.aggregate({ ...TOTAL, ...wanted }, TIMEOUT_MS));
}

test("few events and many give the same answers, while they become more and after the store was opened again", async () => {
  const asked = fc.tuple(fc.array(page, { minLength: 8 }), fc.array(sums, { minLength: 8 }));
  for (const [round, [page_queries, sum_queries]] of fc
    .sample(asked, { numRuns: TESTS_ALL ? 6 : 3, seed: 15 })
    .entries()) {
    const stores = await open();
    for (const company_id of [1, 2, 3]) {
      // One company stores nothing, one a few more each time, one many at once.
      const events = Array.from({ length: company_id === 3 ? 200 * round : 12 }, (_, i) =>
        modelEvent({
          id: crypto.randomUUID(),
          subscription_id: 1 + (i % 3),
          timestamp: FIRST_MS + ((i * 7_919_717) % (36 * HOUR_MS)) + company_id * HOUR_MS,
          usage: String((i * 13) % 7),
        }),
      );
      for (const store of stores) await store.append(company_id, events, NOW_MS);
    }
    for (const wanted of page_queries) {
      const [expected, ...others] = await Promise.all(stores.map((store) => pages(store, wanted)));
      for (const found of others) expect(found).toEqual(expected ?? []);
    }
    for (const wanted of sum_queries) {
      const [expected, ...others] = await Promise.all(stores.map((store) => groups(store, wanted)));
      for (const found of others) expect(found).toEqual(expected ?? new Set());
    }
    await Promise.all(stores.map((store) => store.close()));
  }
});

test("an end within the last hour excludes what is stored after it, also when that hour is known from sums only", async () => {
  const path = join(folder, "last-hour.duckdb");
  let store = await openDuckDb({ path, few_events: 0 });
  const at = (minutes: number) =>
    modelEvent({ id: crypto.randomUUID(), timestamp: FIRST_MS + minutes * 60_000 });
  const total = async (minutes: number) => {
    const end_ms = FIRST_MS + minutes * 60_000;
    const [row] = await store.aggregate({ ...TOTAL, company_id: 1, group_by: [], end_ms }, TIMEOUT_MS);
    return row?.event_count ?? 0;
  };
  const count = async (minutes: number) => {
    const end_ms = FIRST_MS + minutes * 60_000;
    const found = await store.search({ ...FIRST_PAGE, company_id: 1, end_ms }, TIMEOUT_MS);
    expect(found.total).toBe(await total(minutes));
    return found.total;
  };
  await store.append(1, [at(0), at(10), at(11)], NOW_MS);
  await store.append(2, [at(600)], NOW_MS);
  await store.close();
  store = await openDuckDb({ path, few_events: 0 });
  expect([await count(11), await count(12), await count(45)]).toEqual([2, 3, 3]);
  await store.append(1, [at(20)], NOW_MS);
  expect([await count(11), await count(20), await count(21), await count(45)]).toEqual([2, 3, 4, 4]);
  await store.close();
  store = await openDuckDb({ path, few_events: 0 });
  const [known] = await Promise.all([total(40), store.append(1, [at(30), at(44)], NOW_MS)]);
  expect(known === 4 || known === 5).toBe(true);
  expect([await count(30), await count(31), await count(40), await count(45)]).toEqual([4, 5, 5, 6]);
  await store.close();
});
