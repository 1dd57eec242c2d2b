/** What every usage store answers as series, as cases: part of the cases in conformance.ts. */
import { expect, test } from "bun:test";
import * as fc from "fast-check";
import type { SeriesFrame, SeriesQuery } from "../../src/usage_store/series.ts";
import { anyFilter, anySeries, modelEvent, someEvents } from "./arbitrary_events.ts";
import { companiesOf, type Subject } from "./conformance_search.ts";
import { METADATA_GROUPS } from "./metadata_tables.ts";
import { series } from "./series_model.ts";
import { propertyCases } from "../support/properties.ts";
import { HOUR_MS } from "../../src/usage_store/time_buckets.ts";
import { failure, NOW_MS, TIMEOUT_MS } from "./fixtures.ts";

const options = { timeout_ms: TIMEOUT_MS };
const WHOLE = { group_by: [], measure: "units", top: 8, max_key_length: 500 } as const;

export function seriesCases(subject: Subject): void {
  const { store, company } = subject;

  test("series() and seriesFrames() answer as the plain model does", async () => {
    const filter = fc.oneof(anyFilter, fc.constant({}), fc.record({ subscription_ids: fc.constant([1, 2]) }));
    const questions = fc.array(fc.tuple(filter, anySeries), { minLength: 10, maxLength: 10 });
    await fc.assert(
      fc.asyncProperty(someEvents, questions, async (events, asked) => {
        const company_id = await company(events);
        for (const [conditions, how] of asked) {
          const query: SeriesQuery = { ...conditions, ...how, company_id };
          const expected = series(events, query);
          const { read, ...found } = await store().series(query, options);
          expect(found).toEqual(expected);
          expect(read).toBeLessThanOrEqual(expected.total.events);
          expect(read > 0).toBe(expected.total.events > 0);
          const only = expected.groups
            .map(({ keys }) => keys)
            .toReversed()
            .slice(1);
          const { read: _, ...of_these } = await store().series({ ...query, only }, options);
          expect(of_these).toEqual(series(events, { ...query, only }));
          await holdFrames(query, events);
        }
      }),
      propertyCases(2, 30),
    );
  });

  /** Each frame is exact for what it has read; the first has the newest. */
  async function holdFrames(query: SeriesQuery, events: Parameters<typeof series>[0]): Promise<void> {
    const frames: SeriesFrame[] = [];
    await store().seriesFrames(
      query,
      { ...options, slice_events: 7 },
      async (frame) => void frames.push(frame),
    );
    for (const { from_ms, result } of frames) {
      const { read: _, ...found } = result;
      expect(found).toEqual(
        series(
          events.filter(({ timestamp }) => timestamp >= from_ms),
          query,
        ),
      );
    }
    const starts = frames.map(({ from_ms }) => from_ms);
    expect(starts).toEqual(starts.toSorted((a, b) => b - a));
    expect(frames.at(-1)?.from_ms).toBe(query.edges[0]);
  }

  test("series() of no events has no buckets, however few there are", async () => {
    const company_id = await company([modelEvent()]);
    const conditions = [{ key: "a", op: "is" as const, values: ['"none"'] }];
    for (const edges of [
      [0, NOW_MS],
      [0, 0, NOW_MS],
      [0, 3_600_000, NOW_MS],
    ]) {
      const { total } = await store().series({ ...WHOLE, company_id, edges, conditions }, options);
      expect([edges, total.events, [...total.buckets]]).toEqual([edges, 0, []]);
    }
  });

  test("seriesFrames() cuts hours that hold more events than a frame takes", async () => {
    const at = 1_760_000_000_000;
    const events = Array.from({ length: 20 }, (_, i) =>
      modelEvent({ timestamp: at + (i % 10) * 1_000, object: { a: i } }),
    );
    const company_id = await company(events);
    const query: SeriesQuery = {
      ...WHOLE,
      company_id,
      edges: [at, at + 3_600_000],
      conditions: [{ key: "a", op: "present", values: [] }],
    };
    const counts: number[] = [];
    await store().seriesFrames(query, { ...options, slice_events: 5 }, async ({ result }) => {
      counts.push(result.total.events);
    });
    expect(counts).toEqual([4, 8, 12, 16, 20]);
  });

  test("series() counts what was kept of removed events where whole hours suffice, and is refused elsewhere", async () => {
    const since = fc.integer({ min: 0, max: 520_000 }).map((hour) => hour * HOUR_MS);
    const filter = fc.constantFrom({}, { subscription_ids: [1, 2] });
    const questions = fc.array(fc.tuple(filter, anySeries), { minLength: 10, maxLength: 10 });
    await fc.assert(
      fc.asyncProperty(someEvents, since, questions, async (events, since_ms, asked) => {
        const company_id = await company(events);
        await store().closeBefore(company_id, since_ms);
        while ((await store().removeClosed(company_id, 20)) > 0);
        const first = Math.min(...events.map(({ timestamp }) => timestamp));
        for (const [conditions, how] of asked) {
          const query: SeriesQuery = { ...conditions, ...how, company_id };
          const reaches = (query.edges[0] ?? 0) < since_ms && first < since_ms;
          const cuts = query.edges.some((edge) => edge > first && edge < since_ms && edge % HOUR_MS !== 0);
          if (reaches && (cuts || query.group_by.some(({ by }) => by === "metadata"))) {
            expect((await failure(store().series(query, options))).kind).toBe("invalid");
          } else {
            const { read: _, ...found } = await store().series(query, options);
            expect(found).toEqual(series(events, query));
            await holdFrames(query, events);
          }
        }
      }),
      propertyCases(2, 20),
    );
  });

  test("series() of removed events takes edges in the hour of the first, before it", async () => {
    const at = 1_760_000_400_000;
    const events = [modelEvent({ timestamp: at }), modelEvent({ timestamp: at + HOUR_MS })];
    const company_id = await company(events);
    await store().closeBefore(company_id, Math.floor(at / HOUR_MS) * HOUR_MS + 3 * HOUR_MS);
    while ((await store().removeClosed(company_id, 20)) > 0);
    for (const edges of [
      [0, at, at + 10 * HOUR_MS],
      [0, at - 1, at + 10 * HOUR_MS],
      [at - 2, at - 1, at, at + 10 * HOUR_MS],
    ]) {
      const query = { ...WHOLE, company_id, edges };
      const { read: _, ...found } = await store().series(query, options);
      expect(found).toEqual(series(events, query));
    }
  });

  test("series() ends when its signal is aborted, also where it waits for a connection", async () => {
    const company_id = await company([modelEvent()]);
    const query: SeriesQuery = { ...WHOLE, company_id, edges: [0, NOW_MS] };
    const reason = new Error("nobody waits for it");
    const aborted = AbortSignal.abort(reason);
    expect(
      await store()
        .series(query, { ...options, signal: aborted })
        .catch((error) => error),
    ).toBe(reason);
    const controller = new AbortController();
    const asked = Array.from({ length: 8 }, () =>
      store()
        .series(query, { ...options, signal: controller.signal })
        .catch((error: unknown) => error),
    );
    controller.abort(reason);
    expect(new Set(await Promise.all(asked))).toEqual(new Set([reason]));
    expect((await store().series(query, options)).total.events).toBe(1);
  });
}

/** A table of metadata, as groups of a series. */
export function seriesMetadataCases(subject: Subject): void {
  const numbers = [
    1e15, 123456789012345680, 0.1, 1e-6, 1.5e-7, -2.5e22, 1e16, 5e-324, 1.7976931348623157e308,
  ];
  const valued: [object: Record<string, unknown>, key: string, group: string | null][] = [
    ...METADATA_GROUPS,
    ...numbers.map((a): [Record<string, unknown>, string, string] => [{ a }, "a", JSON.stringify(a)]),
  ];
  const ofValue = companiesOf(subject, valued, ([object]) => [modelEvent({ object })]);
  test("series() groups by metadata as filters take it", async () => {
    for (const [i, [, key, group]] of valued.entries()) {
      const query = { ...WHOLE, edges: [0, NOW_MS], company_id: ofValue(i), max_key_length: 10 };
      const { groups } = await subject
        .store()
        .series({ ...query, group_by: [{ by: "metadata", key }] }, options);
      expect(groups.map(({ keys }) => keys)).toEqual([[group]]);
    }
  });
}
