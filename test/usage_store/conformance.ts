/** What every usage store does, as cases over a factory. */
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import * as fc from "fast-check";
import type { AppError } from "../../src/core/errors.ts";
import { canonicalJson } from "../../src/usage_store/metadata.ts";
import type {
  AggregateQuery,
  AppendResult,
  EventFilter,
  NewEvent,
  SearchQuery,
  UsageStore,
  KnownWindow,
  UsageWindow,
  WindowSum,
} from "../../src/usage_store/port.ts";
import { erasureCases } from "./conformance_erasure.ts";
import { meterCases } from "./conformance_meters.ts";
import { removalCases } from "./conformance_removals.ts";
import { segmentCases } from "./conformance_segments.ts";
import { runningTotalsCases } from "./conformance_running_totals.ts";
import { metadataCases, searchCases } from "./conformance_search.ts";
import { seriesCases, seriesMetadataCases } from "./conformance_series.ts";
import { modelEvent, someEvents } from "./arbitrary_events.ts";
import { windowTotal } from "./reference_model.ts";
import { propertyCases } from "../support/properties.ts";
import { FIRST_PAGE, failure, NOW_MS, TIMEOUT_MS, TOTAL } from "./fixtures.ts";

import { exportCases } from "./conformance_export.ts";
export { failure, TIMEOUT_MS } from "./fixtures.ts";

/** Makes an empty store. The factory's owner closes it and removes what it leaves. */
export type OpenStore = () => Promise<UsageStore>;

let store: UsageStore;
// Cases share one store, and each takes companies of its own: that also shows that companies never mix.
let last_company_id = 0;
const newCompany = (): number => ++last_company_id;

const of = { store: () => store, company };
const GROUPS = {
  "appended events": () => [emptyCases(), appendCases(), concurrencyCases()],
  search: () => searchCases(of),
  metadata: () => [metadataCases(of), seriesMetadataCases(of)],
  series: () => seriesCases(of),
  totals: totalsCases,
  meters: () => meterCases(of),
  erasure: () => erasureCases(of),
  "running totals": () => runningTotalsCases(of),
  removals: () => removalCases(of),
  segments: () => segmentCases(of),
  exports: () => exportCases(of),
};
type Group = keyof typeof GROUPS;

/** Declares the cases for one implementation, or some groups of them. */
export function usageStoreConformance(
  name: string,
  open: OpenStore,
  groups = new Set(Object.keys(GROUPS)) as ReadonlySet<Group>,
): void {
  describe(name, () => {
    for (const group of groups) {
      const declare = GROUPS[group];
      describe(group, () => {
        // A store for each group: what all of them left behind would make the last ones slow.
        beforeAll(async () => {
          store = await open();
        });
        afterAll(() => store.close());
        declare();
      });
    }
    test("close() refuses what comes after, and may be called twice", async () => {
      const own = await open();
      await own.close();
      await own.close();
      expect((await failure(own.append(1, [modelEvent()], NOW_MS))).kind).toBe("unavailable");
      expect((await failure(own.ping(TIMEOUT_MS))).kind).toBe("unavailable");
    });
  });
}

function append(company_id: number, events: readonly NewEvent[], now_ms = NOW_MS): Promise<AppendResult> {
  return store.append(company_id, events, now_ms);
}

function search(filter: EventFilter, how: Partial<SearchQuery> = {}) {
  return store.search({ ...FIRST_PAGE, ...how, ...filter }, TIMEOUT_MS);
}

function aggregate(company_id: number, how: Partial<AggregateQuery> = {}) {
  return store.aggregate({ ...TOTAL, ...how, company_id }, TIMEOUT_MS);
}

async function count(company_id: number): Promise<number> {
  return (await search({ company_id })).total;
}

async function company(events: readonly NewEvent[]): Promise<number> {
  const company_id = newCompany();
  await append(company_id, events);
  return company_id;
}

function emptyCases(): void {
  test("an empty store answers every question", async () => {
    const company_id = newCompany();
    await store.ping(TIMEOUT_MS);
    expect(await search({ company_id })).toEqual({ rows: [], total: 0, next: null });
    expect(await aggregate(company_id, { group_by: ["hour"], time_zone: "America/New_York" })).toEqual([]);
    expect(await aggregate(company_id)).toEqual([
      { keys: [], total_usage: "0", event_count: 0, min_usage: null, max_usage: null },
    ]);
    const window = { subscription_id: 1, start_ms: 0, end_ms: NOW_MS };
    expect(await store.totals(company_id, [window], { timeout_ms: TIMEOUT_MS })).toEqual([
      { units: "0", event_count: 0, corrections: 0, digest: "0".repeat(32) },
    ]);
    expect(await store.totals(company_id, [], { timeout_ms: TIMEOUT_MS })).toEqual([]);
    expect(await append(company_id, [])).toEqual({ accepted: 0, duplicates: 0 });
  });
}

function appendCases(): void {
  const event = modelEvent({ usage: "1.5", millionths: 1_500_000n, object: { a: 1 } });

  test("append() gives back what was stored", async () => {
    const company_id = newCompany();
    await append(company_id, [{ ...event, usage: "-0.000001" }], 123);
    const { id, subscription_id, timestamp } = event;
    expect((await search({ company_id })).rows).toEqual([
      { id, subscription_id, timestamp, usage: "-0.000001", metadata: { a: 1 }, created_at: 123 },
    ]);
  });

  test.each<[string, Partial<NewEvent>, AppendResult | string]>([
    ["the same", {}, { accepted: 0, duplicates: 1 }],
    ["the same usage in other words", { usage: "1.500000" }, { accepted: 0, duplicates: 1 }],
    ["a default timestamp", { timestamp: 5, timestamp_given: false }, { accepted: 0, duplicates: 1 }],
    ["another timestamp", { timestamp: 5 }, "timestamp"],
    ["another usage", { usage: "1.500001" }, "usage"],
    ["another subscription", { subscription_id: 2 }, "subscription"],
    ["other metadata", { metadata: canonicalJson({ a: 2 }) }, "metadata"],
    ["no metadata", { metadata: null }, "metadata"],
    ["another id", { id: crypto.randomUUID() }, { accepted: 1, duplicates: 0 }],
  ])("append() of a stored id with %s", async (_, change, expected) => {
    const repeat = { ...event, ...change };
    const company_id = await company([event]);
    expect(await judged(append(company_id, [repeat]))).toEqual(expected);
    // The same rule within one call.
    const together = await judged(append(newCompany(), [event, repeat]));
    if (typeof expected === "string") expect(together).toBe(expected);
    else expect(together).toEqual({ ...expected, accepted: expected.accepted + 1 });
  });

  test.each<[string, Partial<NewEvent>, AppendResult | string]>([
    ["the same", {}, { accepted: 0, duplicates: 1 }],
    ["a default timestamp", { timestamp: 5, timestamp_given: false }, { accepted: 0, duplicates: 1 }],
    ["another usage", { usage: "1.500001" }, "usage"],
    ["another id", { id: crypto.randomUUID() }, "too late"],
  ])("append() of what may only repeat a stored id, with %s", async (_, change, expected) => {
    const repeat = { ...event, ...change, only_if_stored: "too late" };
    const company_id = await company([event]);
    expect(await judged(append(company_id, [repeat]), "too late")).toEqual(expected);
    expect(await count(company_id)).toBe(1);
    // What the same call, or the same commit, stores before it counts as well.
    const added = typeof expected === "string" ? expected : { ...expected, accepted: 1 };
    expect(await judged(append(newCompany(), [event, repeat]), "too late")).toEqual(added);
    const other_id = newCompany();
    const [first, second] = await Promise.all([
      append(other_id, [event]),
      judged(append(other_id, [repeat]), "too late"),
    ]);
    expect([first, second]).toEqual([{ accepted: 1, duplicates: 0 }, expected]);
  });

  test("append() stores nothing of a call whose repeats are new, and names them all", async () => {
    const company_id = await company([event]);
    const late = Array.from({ length: 150 }, () => ({ ...modelEvent(), only_if_stored: "too late" }));
    const call = [modelEvent(), { ...event, usage: "7" }, ...late, late[0] ?? event];
    const { kind, details } = await failure(append(company_id, call));
    expect(kind).toBe("invalid");
    expect(details).toEqual(
      Array.from({ length: 151 }, (_, i) => ({ path: `/${i + 2}/timestamp`, message: "too late" })),
    );
    expect(await count(company_id)).toBe(1);
  });

  test("append() stores nothing of a call with a conflict, and names every position", async () => {
    const events = Array.from({ length: 130 }, () => modelEvent());
    const company_id = await company(events);
    const call = [modelEvent(), ...events.map((old) => ({ ...old, usage: "7" })), modelEvent()];
    const { kind, details } = await failure(append(company_id, call));
    expect(kind).toBe("conflict");
    expect(details?.map(({ path }) => path)).toEqual(events.map((_, i) => `/${i + 1}/id`));
    expect(await count(company_id)).toBe(130);
  });

  test("append() keeps the ids of companies apart", async () => {
    await company([event]);
    expect(await append(newCompany(), [{ ...event, usage: "2" }])).toEqual({ accepted: 1, duplicates: 0 });
  });

  test("append() refuses what no engine can hold", async () => {
    for (const wrong of [
      { usage: "1000000000000" },
      { usage: "0.0000001" },
      { usage: "1e3" },
      { id: event.id.toUpperCase() },
      { timestamp: -1 },
      { timestamp: 253_402_300_800_000 },
    ]) {
      const call = append(newCompany(), [{ ...event, ...wrong }]);
      expect(await call.catch((error) => error)).toBeInstanceOf(TypeError);
    }
    expect(() => canonicalJson({ a: "\ud800" })).toThrow("surrogate");
    expect(canonicalJson({ b: "\\ud800", a: "😀" })).toBe(canonicalJson({ a: "😀", b: "\\ud800" }));
  });
}

/** The answer of an append, or the fields in which its only conflict lies, or `refusal` if it is that. */
function judged(call: Promise<AppendResult>, refusal?: string): Promise<AppendResult | string | undefined> {
  return call.catch((error: AppError) => {
    if (refusal !== undefined && error.kind === "invalid") {
      expect(error.details).toMatchObject([{ message: refusal }]);
      return refusal;
    }
    expect(error).toMatchObject({ kind: "conflict", details: [{}] });
    return error.details?.[0]?.message.split("other ").at(-1);
  });
}

function concurrencyCases(): void {
  test("append() accepts one of many parallel calls with the same new id", async () => {
    const company_id = newCompany();
    const event = modelEvent();
    const results = await Promise.all(Array.from({ length: 20 }, () => append(company_id, [event])));
    expect(results.filter(({ accepted }) => accepted === 1)).toHaveLength(1);
    expect(results.filter(({ duplicates }) => duplicates === 1)).toHaveLength(19);
    expect(await count(company_id)).toBe(1);
  });

  test("append() with a conflict fails alone, whatever shares its commit", async () => {
    const company_id = newCompany();
    const event = modelEvent();
    const [first, other, mixed, apart] = await Promise.allSettled([
      append(company_id, [event]),
      append(company_id, [{ ...event, usage: "2" }]),
      append(company_id, [modelEvent(), { ...event, usage: "3" }]),
      append(company_id, [modelEvent()]),
    ]);
    expect([first, apart].map((result) => result?.status)).toEqual(["fulfilled", "fulfilled"]);
    expect([other, mixed]).toMatchObject([
      { reason: { kind: "conflict" } },
      { reason: { kind: "conflict" } },
    ]);
    expect(await count(company_id)).toBe(2);
  });

  test("append() after a refused call of the same commit takes the refused ids", async () => {
    const [early, late] = [modelEvent(), modelEvent()];
    const company_id = await company([early]);
    const refused = failure(append(company_id, [late, { ...early, usage: "9" }]));
    const accepted = append(company_id, [{ ...late, usage: "4" }]);
    expect((await refused).kind).toBe("conflict");
    expect(await accepted).toEqual({ accepted: 1, duplicates: 0 });
    expect(await count(company_id)).toBe(2);
  });

  test("questions see every append answered before them", async () => {
    const company_id = newCompany();
    const window = { subscription_id: 1, start_ms: 0, end_ms: NOW_MS };
    await Promise.all(
      Array.from({ length: 12 }, async () => {
        const event = modelEvent();
        await append(company_id, [event]);
        const [found, [sum], [total]] = await Promise.all([
          search({ company_id }),
          aggregate(company_id),
          store.totals(company_id, [window], { timeout_ms: TIMEOUT_MS }),
        ]);
        expect(found.rows.map(({ id }) => id)).toContain(event.id);
        expect(Math.min(sum?.event_count ?? 0, total?.event_count ?? 0)).toBeGreaterThan(0);
      }),
    );
    expect(await aggregate(company_id)).toMatchObject([{ event_count: 12 }]);
  });
}

function totalsCases(): void {
  test("totals() up to lastSeq() leave out what is stored later, however early its created_at", async () => {
    const company_id = newCompany();
    const lastSeq = () => store.lastSeq(company_id, TIMEOUT_MS);
    const before = await lastSeq();
    await append(company_id, [modelEvent(), modelEvent()], 2_000);
    const last_seq = await lastSeq();
    expect(last_seq).toBeGreaterThan(before);
    await company([modelEvent()]);
    expect(await lastSeq()).toBeGreaterThanOrEqual(last_seq);
    await store.rebuildSums();
    expect(await lastSeq()).toBeGreaterThanOrEqual(last_seq);
    await append(company_id, [modelEvent()], 1_000);
    expect(await lastSeq()).toBeGreaterThan(last_seq);
    const counted = async (options: object) => {
      const window = { subscription_id: modelEvent().subscription_id, start_ms: 0, end_ms: NOW_MS };
      const all = { timeout_ms: TIMEOUT_MS, ...options };
      return (await store.totals(company_id, [window], all)).map(({ event_count }) => event_count);
    };
    expect(await counted({ last_seq })).toEqual([2]);
    expect(await counted({ last_seq: await lastSeq() })).toEqual([3]);
    expect(await counted({ last_seq: 0 })).toEqual([0]);
    expect(await counted({ last_seq: await lastSeq(), created_until_ms: 2_000 })).toEqual([1]);
  });

  test("haveNewer() tells the windows that hold an event of a later instant or a higher number", async () => {
    const company_id = newCompany();
    const ask = (known: Partial<KnownWindow>[]) =>
      store.haveLateEvents(
        company_id,
        known.map((one) => ({ ...everything, ...one })),
        TIMEOUT_MS,
      );
    const event = modelEvent();
    const everything = {
      subscription_id: event.subscription_id,
      start_ms: event.timestamp,
      end_ms: event.timestamp + 1,
      created_until_ms: 2_001,
      last_seq: 0,
    };
    expect(await ask([{}, {}])).toEqual([false, false]);
    await append(company_id, [event], 2_000);
    await company([event]);
    const last_seq = await store.lastSeq(company_id, TIMEOUT_MS);
    const never = Number.MAX_SAFE_INTEGER;
    expect(await ask([])).toEqual([]);
    expect(await ask([{}, { last_seq }, { last_seq, created_until_ms: 2_000 }])).toEqual([true, false, true]);
    expect(await ask([{ last_seq: never }, { last_seq: never, created_until_ms: 0 }])).toEqual([false, true]);
    const { timestamp, subscription_id } = event;
    expect(
      await ask([
        { end_ms: timestamp },
        { start_ms: timestamp + 1, end_ms: timestamp + 2 },
        { subscription_id: subscription_id + 1 },
        {},
      ]),
    ).toEqual([false, false, false, true]);
    // An earlier instant, stored later.
    await append(company_id, [{ ...modelEvent(), subscription_id, timestamp }], 1_000);
    expect(await ask([{ last_seq }, { last_seq: never }])).toEqual([true, false]);
  });

  test("totals() and sums() answer as the plain model does, digests included", async () => {
    const windows = fc.array(
      fc.record({
        subscription_id: fc.integer({ min: 1, max: 5 }),
        start_ms: fc.integer({ min: 0, max: 1_760_000_000_030 }),
        end_ms: fc.integer({ min: 1_000_000_000_000, max: 1_900_000_000_000 }),
      }),
      { maxLength: 20 },
    );
    await fc.assert(
      fc.asyncProperty(someEvents, someEvents, windows, async (early, late, asked) => {
        const company_id = await company([]);
        await append(company_id, early, 1_000);
        const before = early.map((event) => ({ ...event, created_at: 1_000 }));
        // Asked before too: what a store remembers of it must not show in the answers after.
        expect(await store.sums(company_id, asked, TIMEOUT_MS)).toEqual(sumsOf(before, asked));
        const fresh = late.filter(({ id }) => early.every((event) => event.id !== id));
        await append(company_id, fresh, 2_000);
        const all = [...before, ...fresh.map((event) => ({ ...event, created_at: 2_000 }))];
        for (const created_until_ms of [undefined, 2_001, 2_000, 1_000]) {
          const options = { created_until_ms, timeout_ms: TIMEOUT_MS };
          const expected = asked.map((window) => windowTotal(all, window, created_until_ms));
          expect(await store.totals(company_id, asked, options)).toEqual(expected);
        }
        const sums = sumsOf(all, asked);
        expect(await store.sums(company_id, asked, TIMEOUT_MS)).toEqual(sums);
        for (const [i, window] of asked.entries()) {
          expect(await store.sums(company_id, [window], TIMEOUT_MS)).toEqual(sums.slice(i, i + 1));
        }
      }),
      propertyCases(2, 25),
    );
  });
}

function sumsOf(events: Parameters<typeof windowTotal>[0], windows: readonly UsageWindow[]): WindowSum[] {
  return windows.map((window) => {
    const { digest: _, ...sums } = windowTotal(events, window);
    return sums;
  });
}
