/** What every usage store finds and sums, as cases: part of the cases in conformance.ts. */
import { beforeAll, expect, test } from "bun:test";
import * as fc from "fast-check";
import type {
  AggregateQuery,
  EventFilter,
  NewEvent,
  SearchPosition,
  SearchQuery,
  StoredEvent,
  UsageStore,
} from "../../src/usage_store/port.ts";
import { anyFilter, anyGroups, anyPage, anyWindow, modelEvent, someEvents } from "./arbitrary_events.ts";
import { newestCases } from "./conformance_newest.ts";
import { LOCAL_KEYS } from "./local_keys.ts";
import { METADATA_GROUPS, METADATA_PAIRS, METADATA_TEXTS } from "./metadata_tables.ts";
import {
  decimalText,
  groups,
  inOrder,
  keyUses,
  type ModelEvent,
  matching,
  page,
  sorted,
} from "./reference_model.ts";
import { propertyCases } from "../support/properties.ts";
import { FIRST_PAGE, failure, NOW_MS, TIMEOUT_MS, TOTAL } from "./fixtures.ts";

/** The store, once it is open, and a new company in it with these events. */
export interface Subject {
  store: () => UsageStore;
  company: (events: readonly NewEvent[]) => Promise<number>;
}

export function searchCases(subject: Subject): void {
  modelCases(subject);
  cursorCases(subject);
  newestCases(subject);
  filterCases(subject);
  aggregateCases(subject);
  keyCases(subject);
  keyBoundCases(subject);
}

/** A company for each row with its events, all stored before the first case: in time for one compaction. */
export function companiesOf<Row>({ company }: Subject, rows: readonly Row[], of: (row: Row) => NewEvent[]) {
  const company_ids: number[] = [];
  beforeAll(async () => {
    company_ids.push(...(await Promise.all(rows.map((row) => company(of(row))))));
  });
  return (row: number) => company_ids[row] ?? 0;
}

/** The rows, each with its number at the end. */
const numbered = <Row extends unknown[]>(rows: readonly Row[]) =>
  rows.map((row, number): [...Row, number: number] => [...row, number]);

/** What search answers for an event of the model. */
function stored(event: ModelEvent): StoredEvent {
  const { id, subscription_id, timestamp, millionths, object: metadata } = event;
  return { id, subscription_id, timestamp, usage: decimalText(millionths), metadata, created_at: NOW_MS };
}

function positionOf({ sort_by }: Pick<SearchQuery, "sort_by">, event: ModelEvent): SearchPosition {
  const value = sort_by === "usage" ? decimalText(event.millionths) : String(event.timestamp);
  return { value, id: event.id };
}

function modelCases({ store, company }: Subject): void {
  test("search() and aggregate() answer as the plain model does", async () => {
    const question = fc.tuple(fc.oneof(anyFilter, anyWindow), anyPage, anyGroups);
    const questions = fc.array(question, { minLength: 14, maxLength: 14 });
    await fc.assert(
      fc.asyncProperty(someEvents, questions, async (events, asked) => {
        const company_id = await company(events);
        for (const [conditions, how, grouping] of asked) {
          const filter = { ...conditions, company_id };
          const expected = matching(events, filter);
          const wanted = { ...filter, ...how };
          const rows = page(expected, wanted);
          const last = how.offset + how.limit < expected.length ? rows.at(-1) : undefined;
          expect(await store().search(wanted, TIMEOUT_MS)).toEqual({
            rows: rows.map(stored),
            total: expected.length,
            next: last === undefined ? null : positionOf(how, last),
          });
          const query = { ...TOTAL, ...filter, ...grouping };
          expect(inOrder(await store().aggregate(query, TIMEOUT_MS))).toEqual(
            inOrder(groups(expected, query)),
          );
        }
      }),
      propertyCases(3, 30),
    );
  });
}

function cursorCases({ store, company }: Subject): void {
  /** Reads page after page, each after the one before. */
  async function walk(wanted: SearchQuery): Promise<StoredEvent[]> {
    const rows: StoredEvent[] = [];
    let after: SearchPosition | undefined;
    do {
      const found = await store().search({ ...wanted, after }, TIMEOUT_MS);
      rows.push(...found.rows);
      after = found.next ?? undefined;
      // A page that is followed by another is full.
      if (after !== undefined) expect(found.rows).toHaveLength(wanted.limit);
    } while (after !== undefined);
    return rows;
  }

  test("search() after the end of the page before reads every event once, in order", async () => {
    const how = fc.record({
      sort_by: fc.constantFrom("timestamp", "usage"),
      sort_order: fc.constantFrom("asc", "desc"),
      limit: fc.integer({ min: 3, max: 30 }),
    });
    const questions = fc.array(fc.tuple(fc.oneof(anyFilter, anyWindow, fc.constant({})), how), {
      minLength: 6,
      maxLength: 6,
    });
    await fc.assert(
      fc.asyncProperty(someEvents, questions, async (events, asked) => {
        const company_id = await company(events);
        for (const [conditions, order] of asked) {
          const wanted = { ...FIRST_PAGE, ...order, ...conditions, company_id };
          expect(await walk(wanted)).toEqual(sorted(matching(events, wanted), order).map(stored));
        }
      }),
      propertyCases(2, 30),
    );
  });

  test("search() after a place at which no event stands, and with an offset from there", async () => {
    const events = Array.from({ length: 9 }, (_, i) => modelEvent({ timestamp: i * 1_000_000 }));
    const company_id = await company(events);
    const ids = async (how: Partial<SearchQuery>) => {
      const { rows, total } = await store().search({ ...FIRST_PAGE, company_id, ...how }, TIMEOUT_MS);
      expect(total).toBe(9);
      return rows.map(({ id }) => id);
    };
    const expected = events.map(({ id }) => id);
    const after = { value: "4000001", id: crypto.randomUUID() };
    expect(await ids({ after })).toEqual(expected.slice(5));
    expect(await ids({ after, offset: 2, limit: 1 })).toEqual(expected.slice(7, 8));
    expect(await ids({ after, sort_order: "desc" })).toEqual(expected.slice(0, 5).toReversed());
    expect(await ids({ after: { ...after, value: "99000000" } })).toEqual([]);
  });

  test("search() after a page is not moved by events that come to stand before it", async () => {
    const company_id = await company([1, 2, 3, 4].map((timestamp) => modelEvent({ timestamp })));
    const wanted: SearchQuery = { ...FIRST_PAGE, company_id, sort_order: "desc", limit: 2 };
    const { next } = await store().search(wanted, TIMEOUT_MS);
    await store().append(company_id, [modelEvent({ timestamp: 9 }), modelEvent({ timestamp: 2 })], NOW_MS);
    const found = await store().search({ ...wanted, after: next ?? undefined }, TIMEOUT_MS);
    expect(found.rows.map(({ timestamp }) => timestamp)).toEqual([2, 2]);
    expect(found.total).toBe(6);
  });
}

const KEY_BOUNDS = {
  max_events: 100,
  max_bytes: 1_000_000,
  max_keys: 1_000,
  max_key_length: 20,
  max_depth: 50,
  max_elements: 2,
  max_samples: 3,
  max_sample_length: 20,
};

function keyCases({ store, company }: Subject): void {
  test("metadataKeys() answers as the plain model does", async () => {
    const questions = fc.array(fc.tuple(fc.oneof(anyFilter, fc.constant({})), fc.constantFrom(1, 5, 100)), {
      minLength: 6,
      maxLength: 6,
    });
    await fc.assert(
      fc.asyncProperty(someEvents, questions, async (events, asked) => {
        const company_id = await company(events);
        for (const [conditions, max_events] of asked) {
          const filter = { ...conditions, company_id };
          const matched = matching(events, filter);
          const expected = keyUses(matched, { ...KEY_BOUNDS, max_events });
          const query = { ...filter, ...KEY_BOUNDS, max_events };
          const { keys, ...rest } = await store().metadataKeys(query, TIMEOUT_MS);
          expect(keys.map(({ key, count }) => [key, count])).toEqual(
            expected.map(({ key, count }) => [key, count]),
          );
          for (const [i, { samples }] of keys.entries()) {
            const all = expected[i]?.samples ?? [];
            expect(all).toEqual(expect.arrayContaining(samples));
            expect(new Set(samples).size).toBe(samples.length);
            expect(samples.length).toBeGreaterThan(0);
          }
          expect(rest).toEqual({
            events: Math.min(matched.length, max_events),
            all_events: matched.length <= max_events,
            all_keys: true,
          });
        }
      }),
      propertyCases(2, 30),
    );
  });
}

function keyBoundCases({ store, company }: Subject): void {
  test("metadataKeys() looks at the newest events within its bounds, at one at least", async () => {
    const company_id = await company(
      ["old", "middle", "new"].map((key, i) =>
        modelEvent({ timestamp: i, object: { [key]: "x".repeat(93) } }),
      ),
    );
    for (const [bound, keys] of [
      [{ max_bytes: 1 }, ["new"]],
      [{ max_bytes: 208 }, ["new"]],
      [{ max_bytes: 209 }, ["middle", "new"]],
      [{ max_events: 2 }, ["middle", "new"]],
      [{}, ["middle", "new", "old"]],
    ] as const) {
      const query = { ...KEY_BOUNDS, ...bound, max_key_length: 6, company_id };
      const { keys: found, events, all_events } = await store().metadataKeys(query, TIMEOUT_MS);
      expect(found.map(({ key }) => key)).toEqual([...keys]);
      expect([events, all_events]).toEqual([keys.length, keys.length === 3]);
    }
  });

  test("metadataKeys() tells of what is inside of a place whose name a whole key has", async () => {
    const company_id = await company([modelEvent({ object: { "a.b": "x", a: { b: ["y"] } } })]);
    const { keys } = await store().metadataKeys({ company_id, ...KEY_BOUNDS, max_events: 10 }, TIMEOUT_MS);
    expect(keys.map(({ key, samples }) => [key, samples])).toEqual([
      ["a.b", ["x"]],
      ["a.b.0", ["y"]],
    ]);
  });

  test("metadataKeys() says when keys were left out", async () => {
    const company_id = await company([modelEvent({ object: { a: { b: { c: 1 } }, d: 2, long: 3 } })]);
    for (const [bound, keys, all_keys] of [
      [{ max_keys: 2 }, ["a.b.c", "d"], false],
      [{ max_depth: 2 }, ["d", "long"], false],
      [{ max_depth: 3 }, ["a.b.c", "d", "long"], true],
      [{ max_key_length: 3 }, ["a.b.c", "d"], true],
    ] as const) {
      const found = await store().metadataKeys({ ...KEY_BOUNDS, ...bound, company_id }, TIMEOUT_MS);
      expect([found.keys.map(({ key }) => key), found.all_keys]).toEqual([[...keys], all_keys]);
    }
  });
}

const countOf =
  ({ store }: Subject) =>
  async (filter: EventFilter): Promise<number> =>
    (await store().search({ ...FIRST_PAGE, ...filter }, TIMEOUT_MS)).total;

function filterCases(subject: Subject): void {
  const { store, company } = subject;
  const count = countOf(subject);

  const ofThree = companiesOf(subject, [8], (timestamp) =>
    [-500_000n, 1_000_000n, 2_000_000n].map((millionths) => modelEvent({ timestamp, millionths })),
  );
  test.each<[Partial<EventFilter>, number]>([
    [{ min_usage: "0.9999999" }, 2],
    [{ min_usage: "1.0000001" }, 1],
    [{ max_usage: "-0.4999999" }, 1],
    [{ max_usage: "-0.5000001" }, 0],
    [{ min_usage: "1e30" }, 0],
    [{ max_usage: "1e30" }, 3],
    [{ min_usage: "-1e30" }, 3],
    [{ max_usage: "-1e30" }, 0],
    [{ start_ms: 8, end_ms: 8 }, 0],
    [{ start_ms: 9, end_ms: 8 }, 0],
    [{ start_ms: Number.MIN_SAFE_INTEGER, end_ms: Number.MAX_SAFE_INTEGER }, 3],
    [{ start_ms: Number.MAX_SAFE_INTEGER, end_ms: Number.MIN_SAFE_INTEGER }, 0],
    [{ subscription_ids: [] }, 0],
    [{ subscription_ids: [1, 2] }, 3],
    [{ subscription_ids: Array.from({ length: 20_000 }, (_, i) => i + 1) }, 3],
  ])("search() for %j", async (filter, total) => {
    expect(await count({ company_id: ofThree(0), ...filter })).toBe(total);
  });

  test("a window holds while events beyond it are stored", async () => {
    const company_id = await company([modelEvent({ timestamp: NOW_MS })]);
    const filter = { company_id, start_ms: NOW_MS, end_ms: NOW_MS + 1 };
    for (let i = 1; i <= 8; i++) {
      const beyond = [modelEvent({ timestamp: NOW_MS + i }), modelEvent({ timestamp: NOW_MS - i })];
      const [total, [sum]] = await Promise.all([
        count(filter),
        store().aggregate({ ...TOTAL, ...filter }, TIMEOUT_MS),
        store().append(company_id, beyond, NOW_MS),
      ]);
      expect([total, sum?.event_count]).toEqual([1, 1]);
    }
  });
}

function aggregateCases(subject: Subject): void {
  const { store, company } = subject;
  const aggregate = (company_id: number, how: Partial<AggregateQuery>) =>
    store().aggregate({ ...TOTAL, ...how, company_id }, TIMEOUT_MS);

  const ofInstants = companiesOf(subject, LOCAL_KEYS, ([, , instants]) =>
    instants.map((text) => modelEvent({ timestamp: Temporal.Instant.from(text).epochMilliseconds })),
  );
  test.each(numbered(LOCAL_KEYS))("aggregate() in %s by %s", async (time_zone, kind, _, keys, number) => {
    const rows = await aggregate(ofInstants(number), { group_by: [kind], time_zone });
    expect(new Set(rows.map((row) => row.keys[0]))).toEqual(new Set(keys));
    expect(rows).toHaveLength(keys.length);
  });

  test("aggregate() makes one group of values that have one text", async () => {
    const values = ["5", 5, "1e+21", 1e21, "true", true, null, ["x"], { y: 1 }];
    const company_id = await company([
      ...values.map((a) => modelEvent({ object: { a } })),
      modelEvent({ object: null }),
      modelEvent({ object: { b: 1 } }),
    ]);
    const rows = await aggregate(company_id, { group_by: ["metadata:a"], max_groups: 4 });
    expect(inOrder(rows).map(({ keys, event_count }) => [keys[0], event_count])).toEqual([
      ["1e+21", 2],
      ["5", 2],
      ["true", 2],
      [null, 5],
    ]);
    expect((await failure(aggregate(company_id, { group_by: ["metadata:a"], max_groups: 3 }))).kind).toBe(
      "invalid",
    );
  });

  test("aggregate() sums exactly where doubles do not", async () => {
    const usages = ["999999999999.999999", "0.000001", "-999999999999.999999", "0.1", "0.2"];
    const company_id = await company(usages.map((usage) => ({ ...modelEvent(), usage })));
    expect(await aggregate(company_id, {})).toMatchObject([
      { total_usage: "0.300001", max_usage: "999999999999.999999" },
    ]);
  });

  test("aggregate() refuses more than max_groups", async () => {
    const company_id = await company([1, 2, 3].map((subscription_id) => modelEvent({ subscription_id })));
    expect(await aggregate(company_id, { group_by: ["subscription"], max_groups: 3 })).toHaveLength(3);
    const error = await failure(aggregate(company_id, { group_by: ["subscription"], max_groups: 2 }));
    expect(error.kind).toBe("invalid");
    expect(error.message).toContain("over 2 groups");
  });
}

/** Tables of metadata, a company a row: in a store of their own, as each compaction looks at every company. */
export function metadataCases(subject: Subject): void {
  const { store } = subject;
  const count = countOf(subject);

  const oneWithMetadata = ([object]: [object: Record<string, unknown>, ...unknown[]]) => [
    modelEvent({ object }),
    modelEvent({ object: null }),
  ];
  const ofPair = companiesOf(subject, METADATA_PAIRS, oneWithMetadata);
  test.each(numbered(METADATA_PAIRS))(
    "search() of metadata %j for %j",
    async (_, metadata, matches, number) => {
      expect(await count({ company_id: ofPair(number), metadata })).toBe(matches ? 1 : 0);
    },
  );

  const ofText = companiesOf(subject, METADATA_TEXTS, oneWithMetadata);
  test.each(numbered(METADATA_TEXTS))(
    "search() of metadata %j for the text %p",
    async (_, metadata_search, matches, number) => {
      expect(await count({ company_id: ofText(number), metadata_search })).toBe(matches ? 1 : 0);
    },
  );

  const ofGroup = companiesOf(subject, METADATA_GROUPS, ([object]) => [modelEvent({ object })]);
  test.each(numbered(METADATA_GROUPS))("aggregate() of metadata %j by %p", async (_, key, group, number) => {
    const company_id = ofGroup(number);
    const rows = await store().aggregate(
      { ...TOTAL, company_id, group_by: [`metadata:${key}`], max_key_length: 10 },
      TIMEOUT_MS,
    );
    expect(rows.map(({ keys }) => keys)).toEqual([[group]]);
    // A group is what a filter by its key finds.
    if (group === null || group.endsWith("…")) return;
    const found = await store().search({ ...FIRST_PAGE, company_id, metadata: { [key]: group } }, TIMEOUT_MS);
    expect(found.total).toBe(1);
  });
}
