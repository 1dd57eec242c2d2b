/** What the running totals of every usage store are, as cases: part of conformance.ts. */
import { expect, test } from "bun:test";
import * as fc from "fast-check";
import type { Watch, WatchedEvent, WatchedTotals } from "../../src/usage_store/running_totals.ts";
import { HOUR_MS } from "../../src/usage_store/time_buckets.ts";
import { propertyCases } from "../support/properties.ts";
import { anyInstant, modelEvent } from "./arbitrary_events.ts";
import { eventsWithNumbers } from "./arbitrary_meters.ts";
import type { Subject } from "./conformance_search.ts";
import { NOW_MS } from "./fixtures.ts";
import { erased, type ModelEvent } from "./reference_model.ts";
import { allTimeFrom, anyWatch, everyMs, expectedTotals, inOrder } from "./watches.ts";

const SUM: Pick<Watch, "meter" | "per" | "subscription_id"> = {
  subscription_id: 1,
  meter: {
    aggregation: "sum",
    value: [{ key: "usage", times: "1" }],
    filters: [],
    percentile: null,
    carry_over: false,
  },
  per: null,
};

/** Holds every total at the instants, from the watch's first one on, to the model's. */
function expectTotals(
  watched: readonly WatchedTotals[],
  events: readonly ModelEvent[],
  instants: readonly number[],
): void {
  for (const totals of watched) {
    const { watch } = totals;
    expect(totals.is_certain).toBe(true);
    for (const ms of [watch.from_ms, ...instants.filter((instant) => instant >= watch.from_ms)]) {
      const expected = expectedTotals(events, watch, ms);
      expect(inOrder(totals.groupsAt(ms))).toEqual(expected);
      for (const [group, quantity] of expected)
        expect(totals.at(ms, group)).toEqual({ quantity, certain: true });
    }
  }
}

export function runningTotalsCases({ store, company }: Subject): void {
  const totals = () => store().running_totals;
  const append = (company_id: number, events: readonly ModelEvent[]) =>
    store().append(company_id, events, NOW_MS);

  test("they are what the model measures, whatever is stored while they are counted", async () => {
    await fc.assert(
      fc.asyncProperty(
        eventsWithNumbers,
        fc.array(anyWatch(0), { minLength: 3, maxLength: 6 }),
        fc.array(anyInstant, { maxLength: 3 }),
        async (events, watches, instants) => {
          const third = Math.ceil(events.length / 3);
          const company_id = await company(events.slice(0, third));
          const own = watches.map((watch) => ({ ...watch, company_id }));
          const early = totals().watch(own.slice(0, 2));
          // In commits of their own, some of them while the first is counted, with repeats.
          const middle = events
            .slice(third, 2 * third)
            .map((event) => append(company_id, [event, ...events.slice(0, 2)]));
          await totals().counted();
          const late = totals().watch(own.slice(2));
          await Promise.all(middle);
          expectTotals(early, events.slice(0, 2 * third), instants);
          await append(company_id, events);
          expectTotals(early, events, instants);
          await totals().counted();
          expectTotals([...early, ...late], events, instants);
          const ids = events.slice(0, 5).map(({ id }) => id);
          await store().erase(company_id, ids);
          await totals().counted();
          expectTotals([...early, ...late], erased(events, new Set(ids)), instants);
          for (const watched of [...early, ...late]) watched.close();
        },
      ),
      propertyCases(2, 20),
    );
  });

  test("an event is in the totals when its append is answered, and was heard of in that turn", async () => {
    const company_id = await company([]);
    const [watched] = totals().watch([{ ...SUM, company_id, since_ms: 0, from_ms: 0, calendar: everyMs(1) }]);
    await totals().counted();
    const heard: [WatchedEvent, string | undefined][] = [];
    const end = totals().listen((event) => heard.push([event, watched?.at(5).quantity]));
    const [first, elsewhere, second] = [
      modelEvent({ timestamp: 5 }),
      modelEvent({ timestamp: 5, subscription_id: 2 }),
      modelEvent({ timestamp: 5, millionths: -250_000n }),
    ];
    await append(company_id, [first, elsewhere]);
    expect(watched?.at(5)).toEqual({ quantity: "1", certain: true });
    await append(company_id, [first, second]);
    expect(watched?.at(5)).toEqual({ quantity: "0.75", certain: true });
    end();
    await append(company_id, [modelEvent({ timestamp: 5 })]);
    expect(heard).toEqual([
      [{ company_id, subscription_id: 1, id: first.id }, "1"],
      [{ company_id, subscription_id: 1, id: second.id }, "0.75"],
    ]);
    watched?.close();
    expect(watched?.is_certain).toBe(false);
  });

  test("what was removed stays in totals, and can't be counted anew but for later windows", async () => {
    const hours = [0, 1, 2].map((hour) => modelEvent({ timestamp: hour * HOUR_MS + 7 }));
    const company_id = await company(hours);
    const life = { ...SUM, company_id, since_ms: 0, from_ms: 0, calendar: allTimeFrom(0) };
    const hourly = { ...life, calendar: everyMs(HOUR_MS) };
    const [before] = totals().watch([life]);
    await totals().counted();
    await store().closeBefore(company_id, HOUR_MS);
    expect(await store().removeClosed(company_id, 100)).toBe(1);
    expect(before?.at(0)).toEqual({ quantity: "3", certain: true });
    const [again, later] = totals().watch([life, hourly]);
    await totals().counted();
    expect([again?.is_certain, later?.is_certain]).toEqual([false, false]);
    totals().forgetBefore(HOUR_MS + 1);
    await totals().counted();
    expect([again?.is_certain, later?.is_certain]).toEqual([false, true]);
    expect([0, 1, 2].map((hour) => later?.at(hour * HOUR_MS))).toEqual([
      { quantity: "0", certain: false },
      { quantity: "1", certain: true },
      { quantity: "1", certain: true },
    ]);
    for (const watched of [before, again, later]) watched?.close();
  });

  test("averages and percentiles have no running total", () => {
    for (const aggregation of ["average", "percentile"] as const) {
      const meter = { ...SUM.meter, aggregation };
      const watch = { ...SUM, meter, company_id: 1, since_ms: 0, from_ms: 0, calendar: everyMs(1) };
      expect(() => totals().watch([watch])).toThrow(aggregation);
    }
  });
}
