import { afterAll, expect, test } from "bun:test";
import * as fc from "fast-check";
import { BIGINT, DuckDBDataChunk, INTEGER, UUID, VARCHAR } from "@duckdb/node-api";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { EventBlock } from "../../../src/usage_store/duckdb/append/event_block.ts";
import { USAGE_TYPE } from "../../../src/usage_store/duckdb/engine/schema.ts";
import { type CompactableStore, openDuckDb } from "../../../src/usage_store/duckdb/duckdb_store.ts";
import type { AggregateRow } from "../../../src/usage_store/port.ts";
import type { MetadataCondition } from "../../../src/usage_store/event_filter.ts";
import type { SeriesQuery } from "../../../src/usage_store/series.ts";
import { propertyCases } from "../../support/properties.ts";
import { anyCondition, modelEvent, scalar } from "../arbitrary_events.ts";
import { TIMEOUT_MS, TOTAL } from "../fixtures.ts";
import { groups as modelGroups, inOrder as sortedGroups, matching } from "../reference_model.ts";
import { series } from "../series_model.ts";
import { numbersOf, sumNames } from "./stored_sums.ts";

// The sums by subscription, metadata key and hour: who has them, and that nothing is summed twice or left out.

const folder = await mkdtemp(join(tmpdir(), "usage-group-sums-"));
afterAll(() => rm(folder, { recursive: true }));

let files = 0;
const newPath = (): string => join(folder, `${++files}.duckdb`);

const NOW_MS = 1_800_000_000_000;
const HOUR_MS = 3_600_000;
const NEVER = 1_000_000_000;
const LIMITS = {
  hot_rows: NEVER,
  segment_rows: NEVER,
  snapshot_rows: NEVER,
  move_rows: 70,
  min_events: 100,
  max_share: 0.1,
  retry_ms: 10,
};
const opened = (path: string) => openDuckDb({ path, compaction: LIMITS, few_events: 0 });

/** Events of some hours, with a usage of 1, of two subscriptions. */
const newEvents = (length: number, hours = 3, objectOf = (i: number): Record<string, unknown> => ({ i })) =>
  Array.from({ length }, (_, i) =>
    modelEvent({
      timestamp: 1_700_000_000_000 + (i % hours) * HOUR_MS,
      subscription_id: 1 + (i % 2),
      usage: "1",
      object: objectOf(i),
    }),
  );

/** The number of events of each subscription, by its sums and as far as these do not go by events. */
async function counts(store: CompactableStore, company_id = 1, how = {}): Promise<number[]> {
  const groups = await store.aggregate(
    { ...TOTAL, company_id, group_by: ["subscription"], ...how },
    TIMEOUT_MS,
  );
  for (const { total_usage, event_count } of groups) expect(total_usage).toBe(String(event_count));
  return groups.toSorted((a, b) => Number(a.keys[0]) - Number(b.keys[0])).map((group) => group.event_count);
}

const SUMMED = `SELECT company_id, count(*), sum(events)::BIGINT FROM usage_group_sums GROUP BY 1 ORDER BY 1`;

test("a company gets them when it has enough events, and enough for each row, and loses them when it has not", async () => {
  const path = newPath();
  let store = await opened(path);
  await store.append(1, newEvents(200), NOW_MS);
  await store.append(2, newEvents(90), NOW_MS);
  await store.append(3, newEvents(200, 100), NOW_MS);
  await store.compact();
  await store.close();
  expect(await numbersOf(path, SUMMED)).toEqual([[1, 6, 200]]);
  store = await opened(path);
  await store.append(1, newEvents(10), NOW_MS);
  await store.append(2, newEvents(20), NOW_MS);
  await store.append(3, newEvents(2_000, 100), NOW_MS);
  await store.compact();
  expect(await Promise.all([1, 2, 3].map((company_id) => counts(store, company_id)))).toEqual([
    [105, 105],
    [55, 55],
    [1_100, 1_100],
  ]);
  await store.close();
  expect(await numbersOf(path, SUMMED)).toEqual([
    [1, 6, 210],
    [2, 6, 110],
    [3, 100, 2_200],
  ]);
  store = await opened(path);
  await store.append(1, newEvents(60, 60), NOW_MS);
  await store.compact();
  expect(await counts(store)).toEqual([135, 135]);
  await store.close();
  expect((await numbersOf(path, SUMMED)).map(([company_id]) => company_id)).toEqual([2, 3]);
});

test("a query finds each event once, whatever the compaction does meanwhile", async () => {
  const store = await opened(newPath());
  const events = { sent: 0, stored: 0 };
  const appending = (async () => {
    for (let round = 0; round < 12; round++) {
      events.sent += 150;
      await store.append(1, newEvents(150), NOW_MS);
      events.stored = events.sent;
      if (round % 3 === 2) await store.compact();
      if (round % 10 === 9) await store.rebuildSums();
    }
    return true;
  })();
  let is_over = false;
  do {
    is_over = await Promise.race([appending, Bun.sleep(0).then(() => false)]);
    const { stored } = events;
    const found = (await counts(store)).reduce((sum, count) => sum + count, 0);
    expect(found).toBeGreaterThanOrEqual(stored);
    expect(found).toBeLessThanOrEqual(events.sent);
  } while (!is_over);
  expect(await counts(store)).toEqual([900, 900]);
  await store.close();
});

test("they are those of the events: in windows, for some subscriptions, and of events that came later", async () => {
  const store = await opened(newPath());
  await store.append(1, newEvents(300), NOW_MS);
  await store.compact();
  await store.append(1, newEvents(30), NOW_MS);
  const start_ms = 1_700_000_000_000;
  expect(await counts(store)).toEqual([165, 165]);
  expect(await counts(store, 1, { subscription_ids: [2] })).toEqual([165]);
  expect(await counts(store, 1, { subscription_ids: [] })).toEqual([]);
  expect(await counts(store, 1, { start_ms: start_ms + 1 })).toEqual([110, 110]);
  expect(await counts(store, 1, { start_ms, end_ms: start_ms + HOUR_MS })).toEqual([55, 55]);
  expect(await counts(store, 1, { start_ms, end_ms: start_ms + 1 })).toEqual([55, 55]);
  await store.close();
});

test("a difference is reported, and made good by making them again", async () => {
  const path = newPath();
  let store = await opened(path);
  await store.append(1, newEvents(200), NOW_MS);
  await store.compact();
  await store.append(1, newEvents(10), NOW_MS);
  expect(await store.check(null, TIMEOUT_MS)).toEqual({ hours: 3, events: 210, different: 0 });
  await store.close();
  await numbersOf(path, "DELETE FROM usage_group_sums WHERE subscription_id = 2");
  store = await opened(path);
  expect(await store.check(1, TIMEOUT_MS)).toMatchObject({ different: 3 });
  expect(await store.check(2, TIMEOUT_MS)).toMatchObject({ different: 0 });
  await store.rebuildSums();
  expect(await store.check(null, TIMEOUT_MS)).toEqual({ hours: 3, events: 210, different: 0 });
  expect(await counts(store)).toEqual([105, 105]);
  await store.close();
});

test("a file of a version that did not know them gets them, also when that version wrote to it again", async () => {
  const path = newPath();
  let store = await opened(path);
  await store.append(1, newEvents(200), NOW_MS);
  await store.close();
  await numbersOf(path, "DROP TABLE usage_group_sums");
  await numbersOf(path, "DROP TABLE usage_group_summed");
  await numbersOf(path, "DELETE FROM usage_meta WHERE name = 'tables'");
  store = await opened(path);
  expect(await counts(store)).toEqual([100, 100]);
  await store.compact();
  expect(await counts(store)).toEqual([100, 100]);
  await store.close();
  // What it writes comes after the last event in the sums, and may be sorted already.
  const events = newEvents(100).map(({ subscription_id, timestamp, id }, i) => {
    return `(${1_000 + i}, 1, ${subscription_id}, ${timestamp}, '${id}', 1, NULL, 1)`;
  });
  await numbersOf(path, `INSERT INTO usage_runs VALUES ${events.join(", ")}`);
  await numbersOf(
    path,
    `INSERT INTO usage_hour_deltas SELECT company_id, timestamp // ${HOUR_MS}, sum(usage), count(*), min(usage), max(usage),
      max(seq) FROM usage_runs WHERE seq >= 1_000 GROUP BY 1, 2`,
  );
  store = await opened(path);
  expect(await counts(store)).toEqual([150, 150]);
  await store.compact();
  expect(await counts(store)).toEqual([150, 150]);
  await store.close();
  expect(await numbersOf(path, SUMMED)).toEqual([[1, 6, 300]]);
});

test("sums that another program may not have kept right are made again, and those of earlier ones go", async () => {
  const path = newPath();
  let store = await opened(path);
  await store.append(1, newEvents(200), NOW_MS);
  await store.compact();
  await store.close();
  await numbersOf(path, "UPDATE usage_group_sums SET total = total + 1");
  await numbersOf(path, "CREATE TABLE usage_group_hours (company_id INTEGER)");
  await numbersOf(path, "CREATE TABLE usage_summed (company_id INTEGER)");
  await numbersOf(path, "UPDATE usage_meta SET value = 'of another program' WHERE name = 'tables'");
  store = await opened(path);
  expect(await counts(store)).toEqual([100, 100]);
  await store.compact();
  expect(await counts(store)).toEqual([100, 100]);
  expect(await store.check(null, TIMEOUT_MS)).toMatchObject({ different: 0 });
  await store.close();
  expect(await numbersOf(path, SUMMED)).toEqual([[1, 6, 200]]);
  const earlier = "table_name IN ('usage_group_hours', 'usage_summed')";
  expect(await numbersOf(path, `SELECT count(*) FROM duckdb_tables() WHERE ${earlier}`)).toEqual([[0]]);
});

test("numbers that no event got are given to events after a restart: those count too", async () => {
  const path = newPath();
  let store = await opened(path);
  await store.append(1, newEvents(200), NOW_MS);
  // A block of an import has a number for each row, also for those that are not loaded.
  const block = new EventBlock(1, 50);
  const chunk = DuckDBDataChunk.create([INTEGER, INTEGER, BIGINT, UUID, USAGE_TYPE, VARCHAR], 50);
  const metadata = chunk.getColumnVector(5);
  for (let row = 0; row < 50; row++) metadata.setItem(row, null);
  metadata.flush();
  block.add(chunk);
  for (let row = 0; row < 50; row++) block.skip(row);
  expect(await store.load(1, block, NOW_MS)).toMatchObject({ accepted: 0 });
  await store.compact();
  await store.close();
  store = await opened(path);
  await store.append(1, newEvents(20), NOW_MS);
  expect(await counts(store)).toEqual([110, 110]);
  await store.compact();
  expect(await counts(store)).toEqual([110, 110]);
  expect(await store.check(null, TIMEOUT_MS)).toMatchObject({ different: 0 });
  await store.close();
});

test("sums that cannot be made do not keep the compaction from its end for good", async () => {
  const path = newPath();
  await (await opened(path)).close();
  await numbersOf(path, "ALTER TABLE usage_group_sums ADD COLUMN of_a_later_version INTEGER");
  const store = await opened(path);
  await store.append(1, newEvents(200), NOW_MS);
  const failed = await store.compact().then(() => "done", String);
  expect(failed).toContain("usage_group_sums has 11 columns");
  await store.append(1, newEvents(20), NOW_MS);
  await store.compact();
  expect(await counts(store)).toEqual([110, 110]);
  await store.close();
});

const VALUES = ["a", 'b"c', 1, "1", true, null, { a: "a" }, "x".repeat(30)];
const keyed = (length: number) =>
  newEvents(length, 3, (i) => (i % 9 === 8 ? {} : { "the.key": VALUES[i % 9], unique: i }));
const BY_KEY = { group_by: ["metadata:the.key"] as const, max_key_length: 20 };

test("a metadata key gets them when it is asked for often, unless it has too many values", async () => {
  const path = newPath();
  const store = await opened(path);
  const by = (how: object) => store.aggregate({ ...TOTAL, company_id: 1, ...BY_KEY, ...how }, TIMEOUT_MS);
  const inOrder = (rows: readonly AggregateRow[]) =>
    rows.toSorted((a, b) => (JSON.stringify(a.keys) < JSON.stringify(b.keys) ? -1 : 1));
  const questions = [
    {},
    { group_by: ["metadata:the.key", "subscription"] },
    { group_by: ["day", "metadata:the.key"], time_zone: "Asia/Kathmandu" },
    { group_by: ["metadata:the.key", "month"], subscription_ids: [2], start_ms: 1_700_000_000_001 },
    { group_by: ["metadata:the.key"], metadata: { "the.key": "1" } },
    { group_by: ["metadata:the.key", "metadata:unique"] },
    { group_by: ["metadata:"] },
  ];
  const answers = async () => Promise.all(questions.map(async (how) => inOrder(await by(how))));
  await store.append(1, keyed(1_800), NOW_MS);
  const before = await answers();
  for (let i = 0; i < 3; i++) await by({ group_by: ["metadata:unique"] });
  await store.compact();
  expect(await answers()).toEqual(before);
  await store.append(1, keyed(90), NOW_MS);
  const later = await answers();
  await store.compact();
  expect(await answers()).toEqual(later);
  expect(later[0]?.map(({ event_count }) => event_count).reduce((sum, count) => sum + count)).toBe(1_890);
  expect(await store.check(null, TIMEOUT_MS)).toMatchObject({ events: 1_890, different: 0 });
  await store.rebuildSums();
  expect(await answers()).toEqual(later);
  await store.close();
  expect(await sumNames(path)).toEqual([
    '[null,false,""]',
    '[null,false,"the.key"]',
    '[null,true,"the.key"]',
    "[null,true]",
  ]);
});

test("by the value of a key alone where sums by subscription too would be too many", async () => {
  const path = newPath();
  const store = await opened(path);
  const by = async (how: object) => {
    const wanted = { ...TOTAL, company_id: 1, group_by: ["metadata:kind"] as const, ...how };
    return new Set(await store.aggregate(wanted, TIMEOUT_MS));
  };
  const questions = [
    {},
    { start_ms: 1_700_000_000_001, end_ms: 1_700_000_000_000 + 2 * HOUR_MS },
    { group_by: ["day", "metadata:kind"], time_zone: "Asia/Kuala_Lumpur" },
    { subscription_ids: [2, 4] },
    { group_by: ["subscription", "metadata:kind"] },
    { group_by: ["metadata:\u0001kind"] },
  ];
  const answers = () => Promise.all(questions.map(by));
  const events = (length: number) =>
    newEvents(length, 3, (i) => (i % 3 === 0 ? { kind: "a" } : { "\u0001kind": "b" })).map((event, i) => ({
      ...event,
      subscription_id: 1 + (i % 20),
    }));
  await store.append(1, events(400), NOW_MS);
  const before = await answers();
  for (let i = 0; i < 3; i++) expect(await answers()).toEqual(before);
  await store.compact();
  expect(await answers()).toEqual(before);
  await store.append(1, events(50), NOW_MS);
  const later = await answers();
  await store.compact();
  expect(await answers()).toEqual(later);
  expect(await store.check(null, TIMEOUT_MS)).toMatchObject({ events: 450, different: 0 });
  await store.close();
  expect(await sumNames(path)).toEqual(['[null,false,"\\u0001kind"]', '[null,false,"kind"]']);
  await numbersOf(path, "UPDATE usage_group_sums SET total = total + 1");
  const again = await opened(path);
  expect((await again.check(null, TIMEOUT_MS)).different).toBeGreaterThan(0);
  const [wrong] = await again.aggregate({ ...TOTAL, company_id: 1, group_by: ["metadata:kind"] }, TIMEOUT_MS);
  expect(Number(wrong?.total_usage)).toBeGreaterThan(wrong?.event_count ?? 0);
  await again.close();
});

test("a filter by one metadata key is answered by its sums, as the plain model answers", async () => {
  const store = await openDuckDb({
    path: newPath(),
    compaction: { ...LIMITS, max_share: 1 },
    few_events: 0,
  });
  const values = fc.sample(scalar, { numRuns: 400, seed: 7 });
  const objectOf = (i: number) => {
    if (i % 11 === 10) return {};
    if (i % 13 === 12) return { the: { key: values[i % values.length] } };
    return { "the.key": i % 17 === 16 ? ["eu"] : values[i % values.length], other: i };
  };
  const events = newEvents(1_200, 3, objectOf);
  await store.append(1, events, NOW_MS);
  const start_ms = 1_700_000_000_000 - (1_700_000_000_000 % HOUR_MS);
  const whole: SeriesQuery = {
    company_id: 1,
    edges: [start_ms, start_ms + HOUR_MS, start_ms + 4 * HOUR_MS],
    group_by: [],
    measure: "units",
    top: 8,
    max_key_length: 500,
  };
  const missing: MetadataCondition = { key: "the.key", op: "missing", values: [] };
  const answer = (how: object) => store.series({ ...whole, ...how }, { timeout_ms: TIMEOUT_MS });
  const by_subscription = { group_by: [{ by: "subscription" }], conditions: [missing] };
  for (let i = 0; i < 3; i++) await Promise.all([answer({ conditions: [missing] }), answer(by_subscription)]);
  await store.compact();
  expect((await answer({ conditions: [{ ...missing, op: "is_not", values: ["eu"] }] })).read).toBeLessThan(
    300,
  );
  const some = fc.record({
    conditions: fc.array(
      anyCondition.map((one) => ({ ...one, key: "the.key" })),
      { maxLength: 2 },
    ),
    metadata: fc.constantFrom({}, {}, { "the.key": "5" }, { "the.key": "null" }, { other: "7" }),
    subscription_ids: fc.constantFrom(undefined, undefined, [2]),
    group_by: fc.constantFrom(
      [],
      [],
      [{ by: "subscription" as const }],
      [{ by: "metadata" as const, key: "the.key" }],
    ),
    edges: fc.constantFrom(whole.edges, [start_ms + 5, start_ms + HOUR_MS, 1_700_000_000_001 + HOUR_MS]),
    measure: fc.constantFrom("units" as const, "active_subscriptions" as const),
  });
  const hold = () =>
    fc.assert(
      fc.asyncProperty(some, async (how) => {
        const { read: _, ...found } = await answer(how);
        expect(found).toEqual(series(events, { ...whole, ...how }));
        const wanted = { ...TOTAL, company_id: 1, ...how, group_by: ["hour" as const] };
        const groups = await store.aggregate(wanted, TIMEOUT_MS);
        expect(sortedGroups(groups)).toEqual(sortedGroups(modelGroups(matching(events, wanted), wanted)));
      }),
      propertyCases(5, 75),
    );
  await hold();
  events.push(...newEvents(60, 3, objectOf));
  await store.append(1, events.slice(-60), NOW_MS);
  await hold();
  await store.close();
});
