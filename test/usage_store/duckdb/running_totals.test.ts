import { afterAll, expect, test } from "bun:test";
import { existsSync } from "node:fs";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import * as fc from "fast-check";
import { compareTotals } from "../../../src/usage_store/compare_totals.ts";
import { openDatabase } from "../../../src/usage_store/duckdb/engine/database.ts";
import { openDuckDb, openStoreOn } from "../../../src/usage_store/duckdb/duckdb_store.ts";
import type { UsageStore } from "../../../src/usage_store/port.ts";
import type { Calendar, Watch, WatchedTotals } from "../../../src/usage_store/running_totals.ts";
import { HOUR_MS } from "../../../src/usage_store/time_buckets.ts";
import { propertyCases } from "../../support/properties.ts";
import { anyInstant, modelEvent } from "../arbitrary_events.ts";
import { eventsWithNumbers } from "../arbitrary_meters.ts";
import { NOW_MS, TIMEOUT_MS } from "../fixtures.ts";
import { allTimeFrom, anyWatch, everyMs, expectedTotals, inOrder } from "../watches.ts";
import type { DuckDbOptions } from "../../../src/usage_store/duckdb/options.ts";
import { eventBlock } from "./event_blocks.ts";
import { failNowAndThen } from "./failing_commits.ts";
import { killedEvents, killedWatches, START_MS } from "./killed_watches.ts";

// What becomes of running totals with DuckDB's store: starts, bulk loads, failed engines. Decision 0232.

/** Few in every run; `KILL_ROUNDS=100 bun test test/usage_store/duckdb/running_totals.test.ts` makes more of them. */
const ROUNDS = Number(process.env.KILL_ROUNDS ?? 1);
const ROUND_MS = 300_000;

const folder = await mkdtemp(join(tmpdir(), "usage-totals-"));
afterAll(() => rm(folder, { recursive: true }));

let files = 0;
const newPath = (): string => join(folder, `${++files}.duckdb`);

/** Events that came since a snapshot are counted by statements, however few they are. */
const COUNTED = {
  hot_rows: 500_000,
  segment_rows: 8_000_000,
  move_rows: 500_000,
  snapshot_rows: 1,
  min_events: 200_000,
  max_share: 0.1,
  retry_ms: 10_000,
};

/** A store that says why a snapshot can't be used. */
async function open(path: string, options: Pick<DuckDbOptions, "compaction"> = {}) {
  const told: string[] = [];
  const store = await openDuckDb({ path, on_failure: (error) => told.push(String(error)), ...options });
  return { store, told };
}

async function watch(store: UsageStore, watches: readonly Watch[]): Promise<WatchedTotals[]> {
  const watched = store.running_totals.watch(watches);
  await store.running_totals.counted();
  return watched;
}

/** Holds all totals, which must be certain, to what the store measures. */
async function expectMeasured(
  store: UsageStore,
  watched: readonly WatchedTotals[],
  at_ms = START_MS + 36 * HOUR_MS,
): Promise<void> {
  const found = await compareTotals(store, watched, at_ms, TIMEOUT_MS);
  expect(found).toEqual({ compared: watched.length, unproved: 0, different: [] });
}

const LIFE: Watch = {
  company_id: 1,
  subscription_id: 7,
  meter: {
    aggregation: "sum",
    value: [{ key: "metadata:n", times: "1" }],
    filters: [],
    percentile: null,
    carry_over: false,
  },
  per: null,
  since_ms: 0,
  from_ms: 0,
  calendar: allTimeFrom(0),
};

test("totals are right after starts: with a snapshot, with none, with a damaged one, with events since", async () => {
  await fc.assert(
    fc.asyncProperty(
      eventsWithNumbers,
      fc.array(anyWatch(1), { minLength: 2, maxLength: 5 }),
      fc.array(anyInstant, { maxLength: 2 }),
      fc.array(fc.constantFrom("keep", "keep", "remove", "damage"), { minLength: 2, maxLength: 2 }),
      fc.constantFrom({}, { compaction: COUNTED }),
      async (events, watches, instants, fates, options) => {
        const path = newPath();
        const part = Math.ceil(events.length / 4);
        const upTo = (parts: number) => events.slice(0, parts * part);
        const first = await open(path);
        await watch(first.store, watches.slice(1));
        await first.store.append(1, upTo(1), NOW_MS);
        await first.store.close();
        for (const [round, fate] of fates.entries()) {
          const snapshot = `${path}.totals`;
          if (fate === "remove") await rm(snapshot);
          if (fate === "damage") {
            const text = await readFile(snapshot, "latin1");
            await writeFile(snapshot, text.slice(0, -60) + text.slice(-50), "latin1");
          }
          // A process that watches nothing leaves the snapshot as it is.
          const blind = await open(path);
          await blind.store.append(1, upTo(2 + round), NOW_MS);
          await blind.store.close();
          expect(blind.told).toHaveLength(fate === "damage" ? 1 : 0);
          const { store, told } = await open(path, options);
          const watched = await watch(store, watches);
          await store.append(1, upTo(3 + round), NOW_MS);
          for (const totals of watched) {
            expect(totals.is_certain).toBe(true);
            for (const ms of [totals.watch.from_ms, ...instants])
              if (ms >= totals.watch.from_ms)
                expect(inOrder(totals.groupsAt(ms))).toEqual(
                  expectedTotals(upTo(3 + round), totals.watch, ms),
                );
          }
          await store.close();
          expect(told).toEqual([]);
        }
      },
    ),
    propertyCases(2),
  );
});

test("many events since a snapshot are counted by statements: before, in and after the first windows", async () => {
  const path = newPath();
  const first = await open(path);
  await watch(first.store, killedWatches());
  await first.store.append(1, killedEvents(100), NOW_MS);
  await first.store.close();
  const blind = await open(path);
  await blind.store.append(1, killedEvents(300), NOW_MS);
  await blind.store.close();
  const { store } = await open(path, { compaction: COUNTED });
  const watched = await watch(store, killedWatches());
  await store.append(1, killedEvents(100), NOW_MS);
  for (const days of [1, 2, 3]) await expectMeasured(store, watched, START_MS + 24 * days * HOUR_MS);
  await store.close();
});

test("a snapshot holds what was removed, and none is believed after an erasure by a process without totals", async () => {
  const path = newPath();
  const events = [0, 1].map((hour) =>
    modelEvent({ timestamp: hour * HOUR_MS + 7, subscription_id: 7, object: { n: 3 } }),
  );
  const first = await open(path);
  await watch(first.store, [LIFE]);
  await first.store.append(1, events, NOW_MS);
  await first.store.closeBefore(1, HOUR_MS);
  expect(await first.store.removeClosed(1, 10)).toBe(1);
  await first.store.close();
  const second = await open(path);
  const [again] = await watch(second.store, [LIFE]);
  expect(again?.at(0)).toEqual({ quantity: "6", certain: true });
  const { compared, unproved } = await compareTotals(second.store, again ? [again] : [], 0, TIMEOUT_MS);
  expect([compared, unproved]).toEqual([0, 1]);
  await second.store.close();
  const third = await open(path);
  await third.store.erase(
    1,
    events.map(({ id }) => id),
  );
  await third.store.close();
  const fourth = await open(path);
  expect(fourth.told.join()).toContain("counted instead");
  const hourly = { ...LIFE, from_ms: HOUR_MS, calendar: everyMs(HOUR_MS) };
  const [life, hour] = await watch(fourth.store, [LIFE, hourly]);
  expect([life?.is_certain, hour?.at(HOUR_MS)]).toEqual([false, { quantity: "0", certain: true }]);
  await fourth.store.close();
});

test("a snapshot of windows that are cut otherwise now, as by other rules of a time zone, is counted anew", async () => {
  const path = newPath();
  const shifted = (by_ms: number): Calendar => ({
    name: "hours of some zone",
    at(ms) {
      const { start_ms, end_ms, whole_ms } = everyMs(HOUR_MS).at(ms - by_ms);
      return { start_ms: start_ms + by_ms, end_ms: end_ms + by_ms, whole_ms };
    },
  });
  const hourly = (by_ms: number): Watch => ({
    ...LIFE,
    per: "n",
    from_ms: 10 * HOUR_MS + by_ms,
    calendar: shifted(by_ms),
  });
  const events = Array.from({ length: 8 }, (_, i) =>
    modelEvent({ timestamp: (10 + i / 4) * HOUR_MS, subscription_id: 7, object: { n: 1 } }),
  );
  const first = await open(path);
  await watch(first.store, [hourly(0)]);
  await first.store.append(1, events, NOW_MS);
  await first.store.close();
  const second = await open(path);
  // Known from the snapshot: what is removed by now can't be counted.
  const by_ms = HOUR_MS / 2;
  const [same, other] = await watch(second.store, [hourly(0), hourly(by_ms)]);
  expect([...(same?.groupsAt(10 * HOUR_MS) ?? [])]).toEqual([{ group: "1", quantity: "4", certain: true }]);
  expect([...(other?.groupsAt(10 * HOUR_MS + by_ms) ?? [])]).toEqual([
    { group: "1", quantity: "4", certain: true },
  ]);
  expect([...(other?.groupsAt(11 * HOUR_MS + by_ms) ?? [])]).toEqual([
    { group: "1", quantity: "2", certain: true },
  ]);
  await second.store.close();
});

test("rows of a bulk load count when they are stored, repeats do not", async () => {
  const { store } = await open(newPath());
  const watched = await watch(store, [LIFE, { ...LIFE, subscription_id: 8 }]);
  const quantities = () => watched.map((totals) => totals.at(0));
  await store.load(1, await eventBlock(1, 3_000), NOW_MS);
  expect(quantities()).toEqual([
    { quantity: "4501500", certain: true },
    { quantity: "0", certain: true },
  ]);
  await store.load(1, await eventBlock(2_501, 3_001), NOW_MS);
  await store.load(2, await eventBlock(1, 10), NOW_MS);
  expect(quantities()[0]).toEqual({ quantity: "4504501", certain: true });
  const [late] = await watch(store, [LIFE]);
  expect(late?.at(0)).toEqual({ quantity: "4504501", certain: true });
  await store.close();
});

test("a total that is not what the store measures is found", async () => {
  const { store } = await open(newPath());
  const watched = await watch(store, killedWatches());
  await store.append(1, killedEvents(500), NOW_MS);
  await expectMeasured(store, watched);
  const lying: Parameters<typeof compareTotals>[0] = {
    running_totals: store.running_totals,
    sinceOf: () => 0,
    measure: async (query, timeout_ms) => {
      const [first = [], ...others] = await store.measure(query, timeout_ms);
      return [first.map((part) => ({ ...part, quantity: "123" })), ...others];
    },
  };
  const { different } = await compareTotals(lying, watched, START_MS + 24 * HOUR_MS, TIMEOUT_MS);
  expect(different.map(({ measured, watch: { meter } }) => [measured, meter.aggregation])).toEqual([
    ["123", "count"],
  ]);
  await store.close();
});

test("an engine that fails in commits, again and again, leaves totals of what is stored", async () => {
  const database = await openDatabase(newPath(), { threads: 2, memory_limit: "500MB" });
  const store = await openStoreOn(database, {});
  const watched = await watch(store, killedWatches());
  const failing = failNowAndThen(database);
  while (store.stats().engine_losses === 0)
    await store.append(1, killedEvents(20), NOW_MS).catch(() => undefined);
  await failing;
  await store.append(1, killedEvents(20), NOW_MS);
  await expectMeasured(store, watched);
  await store.close();
});

test(
  "kill -9 in the middle of commits, countings and snapshots: totals are what the store measures",
  async () => {
    const path = newPath();
    for (let round = 0; round < ROUNDS; round++) {
      const writer = join(import.meta.dir, "running_totals_writer.ts");
      const child = Bun.spawn([process.execPath, writer, path], { stdout: "pipe" });
      const after_ms = 50 + ((round * 167) % 600);
      let killer: ReturnType<typeof setTimeout> | undefined;
      for await (const _ of child.stdout)
        if (existsSync(`${path}.totals`)) killer ??= setTimeout(() => child.kill("SIGKILL"), after_ms);
      await child.exited;
      expect(child.signalCode).toBe("SIGKILL");
      const { store, told } = await open(path);
      const watched = await watch(store, killedWatches());
      await store.append(1, killedEvents(100), NOW_MS);
      await expectMeasured(store, watched);
      expect(told).toEqual([]);
      await store.close();
    }
  },
  ROUNDS * ROUND_MS,
);
