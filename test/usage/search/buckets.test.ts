import { expect, test } from "bun:test";
import * as fc from "fast-check";
import type { ZoneTimeline } from "../../../src/core/periods.ts";
import { bucketsOf } from "../../../src/usage/search/buckets.ts";
import { tableOf } from "../../../src/usage/search/table.ts";

const ZONES = ["UTC", "Asia/Kathmandu", "America/New_York", "Asia/Kuala_Lumpur", "America/Sao_Paulo"];
const now = Temporal.Instant.from("2026-03-31T12:00:00Z");
const DAY_MS = 86_400_000;
const start = now.epochMilliseconds - 200 * DAY_MS;

const zonesOf = (timezone: string): ZoneTimeline => [{ timezone, from: null }];
const known = (timezone: string, max = 10_000) => ({ now, zones: zonesOf(timezone), max });

const window = fc
  .tuple(fc.integer({ min: start, max: now.epochMilliseconds }), fc.integer({ min: 1, max: 40 * DAY_MS }))
  .map(([start_ms, length]) => ({ start_ms, end_ms: start_ms + length }));

/** The key of an instant, by the calendar alone. */
function keyOf(kind: "day" | "hour" | "month", ms: number, zone: string): string {
  const at = Temporal.Instant.fromEpochMilliseconds(ms).toZonedDateTimeISO(zone);
  if (kind === "month") return at.toPlainDate().toPlainYearMonth().toString();
  return kind === "day" ? at.toPlainDate().toString() : `${at.toString().slice(0, 13)}:00${at.offset}`;
}

test("every instant of a window that has begun has its bucket, each bucket is there once, and in order", () => {
  fc.assert(
    fc.property(
      fc.constantFrom(...ZONES),
      fc.constantFrom("day" as const, "hour" as const, "month" as const),
      window,
      fc.double({ min: 0, max: 1, noNaN: true, maxExcluded: true }),
      (zone, kind, { start_ms, end_ms }, share) => {
        const buckets = bucketsOf(kind, [], { start_ms, end_ms }, known(zone)) ?? [];
        const until = Math.min(end_ms, now.epochMilliseconds + 1);
        const ms = start_ms + Math.floor((until - start_ms) * share);
        expect(buckets).toContain(keyOf(kind, ms, zone));
        expect([buckets[0], buckets.at(-1)]).toEqual([
          keyOf(kind, start_ms, zone),
          keyOf(kind, until - 1, zone),
        ]);
        expect(new Set(buckets).size).toBe(buckets.length);
      },
    ),
  );
});

test("without a window they reach from the first key to the last; over the most there are none", () => {
  const keys = ["2026-01-03", "2025-12-30"];
  const five = ["2025-12-30", "2025-12-31", "2026-01-01", "2026-01-02", "2026-01-03"];
  expect(bucketsOf("day", keys, {}, known("America/New_York"))).toEqual(five);
  expect(bucketsOf("day", keys, {}, known("America/New_York", 4))).toBeNull();
  expect(bucketsOf("day", [], {}, known("UTC"))).toEqual([]);
});

test("a group that no bucket is for is never lost", () => {
  const sums = { total_usage: 1, event_count: 1, min_usage: 1, max_usage: 1 };
  const group = (key: string) => ({ group_key: key, group_name: key, ...sums });
  const groups = ["2026-04-05T01:00+11:00", "2026-04-05T01:00+10:30"].map(group);
  const options = { limit: 50, has_bounds: false };
  const odd = tableOf(["hour"], groups, { ...options, buckets: ["2026-04-05T01:00+11:00"] });
  expect(odd.rows).toHaveLength(2);
  const even = tableOf(["day"], [group("2026-04-06")], { ...options, buckets: ["2026-04-05", "2026-04-06"] });
  expect(even.rows).toEqual([
    ["2026-04-05", 0, 0],
    ["2026-04-06", 1, 1],
  ]);
});

test("the rows and the others of a table always come to its total, whatever its limit", () => {
  const groups = fc.uniqueArray(
    fc.record({
      day: fc.constantFrom("2026-03-01", "2026-03-02", "2026-03-03"),
      model: fc.option(fc.constantFrom("a", "b", "c", "d")),
      total: fc.integer({ min: -1_000_000, max: 1_000_000 }).map((units) => units / 1_000),
      count: fc.integer({ min: 1, max: 9 }),
    }),
    { selector: ({ day, model }) => `${day} ${model}` },
  );
  fc.assert(
    fc.property(groups, fc.integer({ min: 1, max: 5 }), (given, limit) => {
      const sums = given.map(({ day, model, total, count }) => ({
        group_key: [day, model],
        group_name: [day, model],
        total_usage: total,
        event_count: count,
        min_usage: null,
        max_usage: null,
      }));
      const table = tableOf(["day", "metadata:model"], sums, { limit, buckets: null, has_bounds: false });
      const { rows, total, others } = table;
      const thousandths = (cells: readonly (readonly unknown[])[], at: number) =>
        cells.reduce((sum, row) => sum + Math.round(Number(row[at]) * 1_000), 0);
      const all = thousandths(rows, 2) + thousandths(others?.rows ?? [], 1);
      expect(all).toBe(Math.round(total.total_usage * 1_000));
      expect(Math.round((others?.total_usage ?? 0) * 1_000)).toBe(thousandths(others?.rows ?? [], 1));
      expect(new Set(rows.map(([, model]) => model)).size).toBe(Math.min(limit, total.groups));
      expect(total.groups).toBe(new Set(given.map(({ model }) => model)).size);
      expect(total.event_count).toBe(given.reduce((events, { count }) => events + count, 0));
    }),
  );
});
