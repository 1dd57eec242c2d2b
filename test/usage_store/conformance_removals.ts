/** What every usage store does when events are removed and their sums kept, as cases: part of conformance.ts. */
import { expect, test } from "bun:test";
import * as fc from "fast-check";
import { HOUR_MS } from "../../src/usage_store/time_buckets.ts";
import { anyFilter, anyGroups, modelEvent, someEvents } from "./arbitrary_events.ts";
import type { Subject } from "./conformance_search.ts";
import { FIRST_PAGE, failure, NOW_MS, TIMEOUT_MS, TOTAL } from "./fixtures.ts";
import {
  groups,
  inOrder,
  isKeptSum,
  matching,
  type ModelEvent,
  sorted,
  windowTotal,
} from "./reference_model.ts";
import { propertyCases, TESTS_ALL } from "../support/properties.ts";

const SINCE_MS = Math.floor(NOW_MS / HOUR_MS) * HOUR_MS - 10 * HOUR_MS;

/** Appends and questions while events are removed. */
const ROUNDS = TESTS_ALL ? 8 : 4;

const eventAt = (timestamp: number, more: Partial<ModelEvent> = {}) => modelEvent({ ...more, timestamp });

export function removalCases({ store, company }: Subject): void {
  /** Closes, and removes by few at a time; the number of removed events. */
  async function removeAll(company_id: number, since_ms: number, limit = 7): Promise<number> {
    await store().closeBefore(company_id, since_ms);
    for (let all = 0; ; ) {
      const removed = await store().removeClosed(company_id, limit);
      if (removed === 0) return all;
      all += removed;
    }
  }

  const total = async (company_id: number) => {
    const [row] = await store().aggregate({ ...TOTAL, company_id }, TIMEOUT_MS);
    return [row?.event_count, row?.total_usage];
  };

  test("removed events leave their sums; later ones and other companies keep theirs", async () => {
    const old = [
      eventAt(SINCE_MS - 1, { millionths: 2_500_000n }),
      eventAt(SINCE_MS - 5 * HOUR_MS, { millionths: -500_000n, subscription_id: 2 }),
    ];
    const young = eventAt(SINCE_MS, { millionths: 1_000_000n });
    const company_id = await company([...old, young]);
    const neighbour = await company(old);
    const last_seq = await store().lastSeq(company_id, TIMEOUT_MS);
    expect(store().sinceOf(company_id)).toBe(0);
    expect(await removeAll(company_id, SINCE_MS)).toBe(2);
    expect(store().sinceOf(company_id)).toBe(SINCE_MS);
    const page = await store().search({ ...FIRST_PAGE, company_id }, TIMEOUT_MS);
    expect([page.rows.map(({ id }) => id), page.total, page.next]).toEqual([[young.id], 1, null]);
    expect(await total(company_id)).toEqual([3, "3"]);
    expect(await total(neighbour)).toEqual([2, "2"]);
    const by_subscription = { ...TOTAL, company_id, group_by: ["subscription" as const] };
    expect(
      inOrder(await store().aggregate(by_subscription, TIMEOUT_MS)).map(({ keys, total_usage }) => [
        ...keys,
        total_usage,
      ]),
    ).toEqual([
      [1, "3.5"],
      [2, "-0.5"],
    ]);
    expect(await store().check(company_id, TIMEOUT_MS)).toEqual({ hours: 1, events: 1, different: 0 });
    expect(await store().lastSeq(company_id, TIMEOUT_MS)).toBeGreaterThanOrEqual(last_seq);
    expect(await removeAll(company_id, SINCE_MS - HOUR_MS)).toBe(0);
    expect(store().sinceOf(company_id)).toBe(SINCE_MS);
    await store().rebuildSums();
    expect(await total(company_id)).toEqual([3, "3"]);
  });

  test("events before the bound are refused, all or none, so that a removed one never counts again", async () => {
    const old = eventAt(SINCE_MS - 1);
    const company_id = await company([old]);
    await removeAll(company_id, SINCE_MS);
    const refused = await failure(store().append(company_id, [eventAt(SINCE_MS), old], NOW_MS));
    expect(refused.kind).toBe("invalid");
    expect(refused.details).toEqual([
      { path: "/1/timestamp", message: expect.stringContaining(new Date(SINCE_MS).toISOString()) },
    ]);
    expect((await total(company_id))[0]).toBe(1);
    // Without its timestamp nothing tells that it is a repeat.
    const again = { ...old, timestamp: NOW_MS, timestamp_given: false };
    expect(await store().append(company_id, [again], NOW_MS)).toEqual({ accepted: 1, duplicates: 0 });
    expect(await store().append(company_id, [again], NOW_MS)).toEqual({ accepted: 0, duplicates: 1 });
  });

  test("what removed events would be needed for is refused, and says since when there are events", async () => {
    const company_id = await company([eventAt(SINCE_MS - HOUR_MS / 2), eventAt(SINCE_MS + 1)]);
    await removeAll(company_id, SINCE_MS);
    const line = new Date(SINCE_MS).toISOString();
    const cut = { ...TOTAL, company_id, start_ms: SINCE_MS - 1 };
    for (const query of [
      { ...TOTAL, company_id, metadata: { a: "1" } },
      { ...TOTAL, company_id, group_by: ["metadata:a" as const] },
      { ...TOTAL, company_id, min_usage: "0" },
      cut,
      { ...TOTAL, company_id, group_by: ["day" as const], time_zone: "Asia/Kathmandu" },
    ]) {
      const error = await failure(store().aggregate(query, TIMEOUT_MS));
      expect([error.kind, error.message]).toEqual(["invalid", expect.stringContaining(line)]);
      expect(await store().aggregate({ ...query, start_ms: SINCE_MS }, TIMEOUT_MS)).toBeArray();
    }
    const window = { subscription_id: 1, start_ms: SINCE_MS - HOUR_MS, end_ms: NOW_MS };
    const counted = await failure(store().totals(company_id, [window], { timeout_ms: TIMEOUT_MS }));
    expect([counted.kind, counted.message]).toEqual(["conflict", expect.stringContaining(line)]);
    const level = { aggregation: "weighted_sum" as const, value: [{ key: "usage", times: "1" }] };
    const meter = { ...level, filters: [], percentile: null, carry_over: false };
    const since = {
      subscription_id: 1,
      since_ms: 0,
      start_ms: SINCE_MS,
      end_ms: NOW_MS,
      use: 0,
      whole_ms: 1,
    };
    const measured = await failure(
      store().measure(
        { company_id, uses: [{ meter, parts: { keys: [] } }], windows: [since], max_parts: 1 },
        TIMEOUT_MS,
      ),
    );
    expect([measured.kind, measured.message]).toEqual(["conflict", expect.stringContaining(line)]);
    expect(await store().sums(company_id, [window], TIMEOUT_MS)).toMatchObject([{ event_count: 2 }]);
    const half = { ...window, start_ms: SINCE_MS - 1 };
    expect((await failure(store().sums(company_id, [half], TIMEOUT_MS))).kind).toBe("conflict");
  });

  test("a bound that cuts an hour before the first removed event cuts nothing", async () => {
    const first_ms = SINCE_MS - HOUR_MS / 2;
    const company_id = await company([eventAt(first_ms), eventAt(SINCE_MS)]);
    await removeAll(company_id, SINCE_MS);
    const countUntil = async (end_ms: number) =>
      (await store().aggregate({ ...TOTAL, company_id, end_ms }, TIMEOUT_MS)).map((row) => row.event_count);
    expect(await countUntil(first_ms)).toEqual([0]);
    expect(await countUntil(first_ms - 1)).toEqual([0]);
    expect((await failure(countUntil(first_ms + 1))).kind).toBe("invalid");
  });

  test("events that arrive and questions that are asked meanwhile miss nothing and count nothing twice", async () => {
    const events = Array.from({ length: 40 }, (_, i) => eventAt(SINCE_MS - (i + 1) * HOUR_MS));
    const company_id = await company(events);
    const removing = removeAll(company_id, SINCE_MS, TESTS_ALL ? 3 : 9);
    for (let i = 1; i <= ROUNDS; i++) {
      await store().append(company_id, [eventAt(NOW_MS)], NOW_MS);
      expect(await total(company_id)).toEqual([40 + i, expect.any(String)]);
    }
    expect(await removing).toBe(40);
    expect((await store().search({ ...FIRST_PAGE, company_id }, TIMEOUT_MS)).total).toBe(ROUNDS);
  });

  test("nothing is removed while removals are held", async () => {
    const company_id = await company([eventAt(SINCE_MS - 1)]);
    await store().closeBefore(company_id, SINCE_MS);
    const release = await store().holdRemovals();
    const removing = store().removeClosed(company_id, 10);
    expect((await store().search({ ...FIRST_PAGE, company_id }, TIMEOUT_MS)).total).toBe(1);
    release();
    expect(await removing).toBe(1);
  });

  test("it answers as the plain model does", async () => {
    await fc.assert(
      fc.asyncProperty(
        someEvents,
        anyFilter,
        anyGroups,
        fc.double({ min: 0, max: 1, noNaN: true }),
        fc.constantFrom("UTC", "America/New_York"),
        async (events, filter, how, share, time_zone) => {
          const times = events.map(({ timestamp }) => timestamp).toSorted((a, b) => a - b);
          const cut = times[Math.floor(share * times.length)] ?? NOW_MS;
          const since_ms = Math.floor(cut / HOUR_MS) * HOUR_MS;
          const company_id = await company(events);
          const question = { ...TOTAL, company_id, ...how, time_zone, max_groups: 10_000, ...filter };
          const left = events.filter(({ timestamp }) => timestamp >= since_ms);
          expect(await removeAll(company_id, since_ms)).toBe(events.length - left.length);
          const page = { ...FIRST_PAGE, ...filter, company_id };
          const found = await store().search(page, TIMEOUT_MS);
          expect(found.rows.map(({ id }) => id)).toEqual(
            sorted(matching(left, page), page)
              .slice(0, page.limit)
              .map(({ id }) => id),
          );
          const expected = inOrder(groups(matching(events, question), question));
          if (isKeptSum(events, question, since_ms))
            expect(inOrder(await store().aggregate(question, TIMEOUT_MS))).toEqual(expected);
          else expect((await failure(store().aggregate(question, TIMEOUT_MS))).kind).toBe("invalid");
          const start_ms = (filter.start_ms ?? 0) - ((filter.start_ms ?? 0) % HOUR_MS);
          const window = { subscription_id: 1, start_ms, end_ms: NOW_MS + HOUR_MS - (NOW_MS % HOUR_MS) };
          const whole = windowTotal(
            events.map((event) => ({ ...event, created_at: 0 })),
            window,
          );
          const [summed] = await store().sums(company_id, [window], TIMEOUT_MS);
          expect({ digest: whole.digest, ...summed }).toEqual(whole);
          expect(await store().check(company_id, TIMEOUT_MS)).toMatchObject({ different: 0 });
        },
      ),
      propertyCases(3, 40),
    );
  });
}
