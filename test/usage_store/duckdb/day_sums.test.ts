import { afterAll, expect, test } from "bun:test";
import * as fc from "fast-check";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type CompactableStore, openDuckDb } from "../../../src/usage_store/duckdb/duckdb_store.ts";
import { MEASURES, type SeriesGrouping, type SeriesQuery } from "../../../src/usage_store/series.ts";
import { propertyCases } from "../../support/properties.ts";
import { modelEvent } from "../arbitrary_events.ts";
import { NOW_MS, TIMEOUT_MS, TOTAL } from "../fixtures.ts";
import { erased, groups as modelGroups, inOrder, matching, type ModelEvent } from "../reference_model.ts";
import { series } from "../series_model.ts";
import { sumNames } from "./stored_sums.ts";

// Sums by day: where subscriptions send in nearly every hour, so that sums by hour would be as many as the events.

const folder = await mkdtemp(join(tmpdir(), "usage-day-sums-"));
afterAll(() => rm(folder, { recursive: true }));

let files = 0;
const newPath = (): string => join(folder, `${++files}.duckdb`);

const HOUR_MS = 3_600_000;
const NEVER = 1_000_000_000;
const compaction = {
  hot_rows: NEVER,
  segment_rows: NEVER,
  snapshot_rows: NEVER,
  move_rows: 150,
  min_events: 100,
  max_share: 0.3,
  retry_ms: 10,
};
const opened = (path: string) => openDuckDb({ path, compaction, few_events: 0 });

const FROM = "2026-10-19";
const DAYS = 14;

/** Midnights of a zone, `step` days apart, from the first day of events to their last. */
function midnights(time_zone: string, step = 1): number[] {
  const first = Temporal.PlainDate.from(FROM).toZonedDateTime(time_zone);
  return Array.from(
    { length: Math.ceil(DAYS / step) + 1 },
    (_, i) => first.add({ days: i * step }).epochMilliseconds,
  );
}

/** Two weeks of events of four subscriptions, in the midst of which the clock changes in Europe and not in Asia. */
function someEvents(length: number, seed: number): ModelEvent[] {
  const first = Temporal.PlainDate.from(FROM).toZonedDateTime("UTC").epochMilliseconds;
  const one = fc.record({
    timestamp: fc.integer({ min: first, max: first + DAYS * 24 * HOUR_MS }),
    subscription_id: fc.integer({ min: 1, max: 4 }),
    millionths: fc.bigInt({ min: -2_000_000n, max: 9_000_000n }),
    kind: fc.constantFrom("a", "b", 3, undefined),
    region: fc.constantFrom("eu", "us"),
  });
  return fc
    .sample(one, { numRuns: length, seed })
    .map(({ kind, region, ...event }) =>
      modelEvent({ ...event, object: kind === undefined ? { region } : { kind, region } }),
    );
}

const BY_SUBSCRIPTION: SeriesGrouping = { by: "subscription" };
const KIND: SeriesGrouping = { by: "metadata", key: "kind" };
const REGION: SeriesGrouping = { by: "metadata", key: "region" };

const asked = (how: Partial<SeriesQuery> = {}): SeriesQuery => ({
  company_id: 1,
  edges: midnights("Europe/Berlin"),
  group_by: [BY_SUBSCRIPTION],
  measure: "units",
  top: 3,
  max_key_length: 500,
  ...how,
});

/** Asks until the sums are there that the questions need: first those by hour are found too many. */
async function askOften(store: CompactableStore, questions: readonly SeriesQuery[]): Promise<void> {
  for (let round = 0; round < 4; round++) {
    for (const question of questions)
      for (let i = 0; i < 3; i++) await store.series(question, { timeout_ms: TIMEOUT_MS });
    await store.compact();
  }
}

const GROUPINGS: SeriesGrouping[][] = [
  [],
  [BY_SUBSCRIPTION],
  [
    {
      by: "subscription",
      labels: new Map([
        [1, 7],
        [2, 8],
        [3, 8],
      ]),
    },
  ],
  [KIND],
  [KIND, REGION],
  [BY_SUBSCRIPTION, KIND],
];

const cut = (edges: number[]) => [
  (edges[0] ?? 0) + 5 * HOUR_MS + 7,
  ...edges.slice(1, -1),
  (edges.at(-1) ?? 0) - 1,
];
const ends = (edges: number[]) => [edges[0] ?? 0, edges.at(-1) ?? 0];

/** Questions by whole days of a zone, cut at their ends, by weeks, and by what is no day at all. */
const question = (time_zones: readonly string[]): fc.Arbitrary<SeriesQuery> =>
  fc
    .record({
      edges: fc
        .tuple(
          fc.constantFrom(...time_zones),
          fc.constantFrom(1, 1, 7),
          fc.constantFrom(cut, ends, (edges: number[]) => edges),
        )
        .map(([time_zone, step, change]) => change(midnights(time_zone, step))),
      group_by: fc.constantFrom(...GROUPINGS),
      measure: fc.constantFrom(...MEASURES),
      by_events: fc.boolean(),
      subscription_ids: fc.constantFrom(undefined, undefined, [2, 4]),
      conditions: fc.constantFrom(
        undefined,
        undefined,
        [{ key: "kind", op: "is" as const, values: ["3", "a"] }],
        [
          { key: "kind", op: "missing" as const, values: [] },
          { key: "region", op: "is_not" as const, values: ["us"] },
        ],
      ),
    })
    .map(asked);

/** Holds answers to the plain model: series, and sums by local day and month. */
async function hold(
  store: CompactableStore,
  events: readonly ModelEvent[],
  { zones = ["Europe/Berlin"], from_ms = 0 } = {},
): Promise<void> {
  await fc.assert(
    fc.asyncProperty(question(zones), fc.constantFrom(...zones), async (one, time_zone) => {
      const edges = one.edges.filter((edge, i) => edge >= from_ms || i === one.edges.length - 1);
      const wanted = { ...one, edges: edges.length > 1 ? edges : [from_ms, from_ms + 48 * HOUR_MS] };
      const { read: _, ...found } = await store.series(wanted, { timeout_ms: TIMEOUT_MS });
      expect(found).toEqual(series(events, wanted));
      for (const group_by of [
        ["day"],
        ["month", "subscription"],
        ["subscription"],
        ["day", "metadata:kind"],
      ] as const) {
        const { conditions, subscription_ids } = wanted;
        const [start_ms, end_ms] = ends(wanted.edges);
        const sums = {
          ...TOTAL,
          company_id: 1,
          conditions,
          subscription_ids,
          start_ms,
          end_ms,
          group_by,
          time_zone,
        };
        const rows = await store.aggregate(sums, TIMEOUT_MS);
        expect(inOrder(rows)).toEqual(inOrder(modelGroups(matching(events, sums), sums)));
      }
    }),
    propertyCases(5, 125),
  );
}

const BERLIN = [
  asked(),
  asked({ edges: ends(midnights("Europe/Berlin")) }),
  asked({ group_by: [KIND] }),
  asked({ group_by: [KIND, REGION] }),
  asked({ group_by: [BY_SUBSCRIPTION, KIND] }),
];
const [SUMMER, WINTER] = [22 * HOUR_MS, 23 * HOUR_MS];
const ofKind = (...kind: unknown[]) => JSON.stringify(kind);

test("questions by day are answered by sums by day, whatever comes, goes and changes", async () => {
  const path = newPath();
  let store = await opened(path);
  let events = someEvents(900, 1);
  await store.append(1, events, NOW_MS);
  await hold(store, events);
  await askOften(store, BERLIN);
  // Four subscriptions on 14 days, and an hour that is in none of them.
  const options = { timeout_ms: TIMEOUT_MS };
  expect((await store.series(asked(), options)).read).toBeLessThan(80);
  expect((await store.series(asked({ group_by: [KIND, REGION] }), options)).read).toBeLessThan(160);
  expect((await store.series(asked({ edges: ends(midnights("Europe/Berlin")) }), options)).read).toBeLessThan(
    150,
  );
  await hold(store, events);
  const late = someEvents(120, 2);
  events.push(...late);
  await store.append(1, late, NOW_MS);
  await hold(store, events);
  await store.compact();
  await hold(store, events);
  expect((await store.series(asked(), options)).read).toBeLessThan(80);
  expect(await store.check(null, TIMEOUT_MS)).toMatchObject({ events: 1_020, different: 0 });
  const ids = events.filter((_, i) => i % 3 === 0).map(({ id }) => id);
  await store.erase(1, ids);
  events = erased(events, new Set(ids));
  await hold(store, events);
  await askOften(store, BERLIN);
  expect((await store.series(asked(), options)).read).toBeLessThan(80);
  await store.close();
  expect(await sumNames(path)).toEqual(expect.arrayContaining([ofKind(SUMMER, true), ofKind(WINTER, true)]));
  store = await opened(path);
  expect((await store.series(asked(), options)).read).toBeLessThan(80);
  await hold(store, events);
  await askOften(store, BERLIN);
  await store.rebuildSums();
  await hold(store, events);
  expect(await store.check(1, TIMEOUT_MS)).toMatchObject({ different: 0 });
  await store.close();
  // Those of one key are left out where those of both keys answer.
  const groups = [[true], [false, "kind", "region"], [true, "kind"]];
  const names = [SUMMER, WINTER].flatMap((start) => groups.map((group) => ofKind(start, ...group)));
  expect(await sumNames(path)).toEqual(expect.arrayContaining(names));
});

test("questions that other sums answer make none", async () => {
  const path = newPath();
  const store = await opened(path);
  await store.append(1, someEvents(900, 6), NOW_MS);
  await askOften(store, [asked({ group_by: [] })]);
  await askOften(store, [asked()]);
  // Days of any beginning answer it.
  const cut_edges = ends(cut(midnights("Europe/Berlin")));
  await askOften(store, [asked({ edges: cut_edges })]);
  expect((await store.series(asked({ edges: cut_edges }), { timeout_ms: TIMEOUT_MS })).read).toBeLessThan(
    200,
  );
  await store.close();
  expect(await sumNames(path)).toEqual([ofKind(SUMMER, true), ofKind(WINTER, true)]);
});

test("where sums by hour answer, many events have those by day too, which answer what leaves few events", async () => {
  const path = newPath();
  // A tenth of these events is enough for sums, so that there are many; an hour has several of a subscription.
  const limits = { ...compaction, min_events: 90, max_share: 1 };
  const store = await openDuckDb({ path, compaction: limits, few_events: 0 });
  const events = [...someEvents(900, 8), ...someEvents(900, 9)];
  await store.append(1, events, NOW_MS);
  const options = { timeout_ms: TIMEOUT_MS };
  const read = async (how: Partial<SeriesQuery> = {}) => (await store.series(asked(how), options)).read;
  await store.compact();
  expect(await read()).toBeGreaterThan(500);
  await askOften(store, [asked(), asked({ group_by: [] })]);
  expect(await read()).toBeLessThan(80);
  // Of two days and three hours days would leave these three to the events.
  const edges = [midnights("Europe/Berlin")[0] ?? 0, (midnights("Europe/Berlin")[2] ?? 0) + 3 * HOUR_MS];
  expect(await read({ edges })).toBeGreaterThan(100);
  await hold(store, events, { zones: ["Europe/Berlin", "Asia/Kathmandu", "UTC"] });
  expect(await store.check(null, TIMEOUT_MS)).toMatchObject({ different: 0 });
  await store.close();
  const names = [ofKind(null, true), ofKind(SUMMER, true), ofKind(WINTER, true)];
  expect(await sumNames(path)).toEqual(expect.arrayContaining(names));
});

test("removed events leave sums of what is there, also of the day that is cut", async () => {
  const store = await opened(newPath());
  const events = someEvents(900, 3);
  await store.append(1, events, NOW_MS);
  await askOften(store, BERLIN);
  const since_ms = (midnights("Europe/Berlin")[4] ?? 0) + 9 * HOUR_MS;
  await store.closeBefore(1, since_ms);
  for (let removed = 1; removed > 0; ) {
    removed = await store.removeClosed(1, 40);
    expect(await store.check(null, TIMEOUT_MS)).toMatchObject({ different: 0 });
  }
  expect(
    (await store.series(asked({ edges: midnights("Europe/Berlin").slice(6) }), { timeout_ms: TIMEOUT_MS }))
      .read,
  ).toBeLessThan(60);
  const left = events.filter(({ timestamp }) => timestamp >= since_ms);
  await hold(store, left, { zones: ["Europe/Berlin", "Asia/Kathmandu", "UTC"], from_ms: since_ms });
  const more = someEvents(200, 4).filter(({ timestamp }) => timestamp >= since_ms);
  await store.append(1, more, NOW_MS);
  await store.compact();
  await hold(store, [...left, ...more], { zones: ["UTC", "Europe/Berlin"], from_ms: since_ms });
  expect(await store.check(null, TIMEOUT_MS)).toMatchObject({ different: 0 });
  await store.close();
});

test("a changed zone gets sums of its own, and a beginning of days gives way only when nobody asks for it", async () => {
  const path = newPath();
  const store = await opened(path);
  const events = someEvents(900, 5);
  await store.append(1, events, NOW_MS);
  const zoned = (time_zone: string) => asked({ edges: midnights(time_zone) });
  await askOften(store, [zoned("Europe/Berlin")]);
  await askOften(store, [zoned("Asia/Kuala_Lumpur")]);
  // All three beginnings are in use.
  await askOften(store, [zoned("Asia/Kathmandu")]);
  const reads = async (time_zone: string) =>
    (await store.series(zoned(time_zone), { timeout_ms: TIMEOUT_MS })).read;
  const { read, total } = await store.series(zoned("Asia/Kathmandu"), { timeout_ms: TIMEOUT_MS });
  expect(read).toBe(total.events);
  for (let i = 0; i < 50; i++) {
    await reads("Asia/Kathmandu");
    await reads("Asia/Kuala_Lumpur");
  }
  await store.compact();
  expect(await reads("Asia/Kathmandu")).toBeLessThan(80);
  expect(await reads("Asia/Kuala_Lumpur")).toBeLessThan(80);
  expect(await reads("Europe/Berlin")).toBeGreaterThan(400);
  await hold(store, events, { zones: ["Asia/Kathmandu", "Asia/Kuala_Lumpur"] });
  expect(await store.check(null, TIMEOUT_MS)).toMatchObject({ different: 0 });
  await store.close();
  const starts = new Set((await sumNames(path)).map((name) => JSON.parse(name)[0] / HOUR_MS));
  expect(starts.size).toBe(3);
  expect(starts).toContain(16);
  expect(starts).toContain(18.25);
});
