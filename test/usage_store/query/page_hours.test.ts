import { expect, test } from "bun:test";
import * as fc from "fast-check";
import { pageHours } from "../../../src/usage_store/query/page_hours.ts";
import { HOUR_MS } from "../../../src/usage_store/time_buckets.ts";

const ID = "00000000-0000-4000-8000-000000000000";

const counts = fc.uniqueArray(
  fc.record({ hour: fc.integer({ min: 0, max: 40 }), events: fc.integer({ min: 1, max: 9 }) }),
  { selector: ({ hour }) => hour, maxLength: 20 },
);
const sort_order = fc.constantFrom("asc", "desc");
const limit = fc.integer({ min: 1, max: 12 });

/** The hours of all events, one item an event, in the page's order. */
function inOrder(of: readonly { hour: number; events: number }[], order: string): number[] {
  const hours = of.flatMap(({ hour, events }) => Array.from({ length: events }, () => hour));
  return hours.toSorted((a, b) => (order === "asc" ? a - b : b - a));
}

test("the hours hold the page and the event after it, and what to skip stands before", () => {
  fc.assert(
    fc.property(counts, limit, fc.nat(60), sort_order, (of, rows, offset, order) => {
      const all = inOrder(of, order);
      const found = pageHours(of, { limit: rows, offset, sort_order: order });
      expect(found.total).toBe(all.length);
      if (offset >= all.length) return expect(found.last).toBeUndefined();
      const [first, last] = [found.first ?? all[0] ?? 0, found.last ?? -1];
      const inside = all.filter((hour) => hour >= Math.min(first, last) && hour <= Math.max(first, last));
      expect(inside.slice(found.skip, found.skip + rows + 1)).toEqual(all.slice(offset, offset + rows + 1));
      // No more than the hours of the page and of the event after it.
      expect(last).toBe(all[Math.min(offset + rows, all.length - 1)] ?? -1);
    }),
  );
});

test("after a cursor its own hour is read, and as many more as hold a page beside it", () => {
  fc.assert(
    fc.property(counts, limit, fc.integer({ min: 0, max: 40 }), sort_order, (of, rows, hour, order) => {
      const after = { value: String(hour * HOUR_MS + 5), id: ID };
      const found = pageHours(of, { limit: rows, offset: 0, sort_order: order, after });
      const ahead = inOrder(of, order).filter((of_event) =>
        order === "asc" ? of_event > hour : of_event < hour,
      );
      expect(found.total).toBe(inOrder(of, order).length);
      expect(found.skip).toBe(0);
      if (ahead.length === 0) return expect(found.last === undefined || found.last === hour).toBe(true);
      expect(found.first).toBe(hour);
      expect(found.last).toBe(ahead[Math.min(rows, ahead.length - 1)]);
    }),
  );
});
