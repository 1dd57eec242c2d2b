import { expect, test } from "bun:test";
import * as fc from "fast-check";
import type { ZoneTimeline } from "../../../src/core/periods.ts";
import { bucketsOf } from "../../../src/usage/series/buckets.ts";
import { INTERVALS, type RangeInput } from "../../../src/usage/series/model.ts";
import { windowOf, windowOfMonth } from "../../../src/core/windows.ts";
import { assertOneForm, lastYear, moveEdges } from "../../../src/usage/series/range.ts";
import { propertyCases } from "../../support/properties.ts";
import { ms } from "../fixtures.ts";

const iso = (at: number) => Temporal.Instant.fromEpochMilliseconds(at).toString();
const local = (at: number, zone: string) =>
  Temporal.Instant.fromEpochMilliseconds(at).toZonedDateTimeISO(zone);

const zonesOf = (timezone: string): ZoneTimeline => [{ timezone, from: null }];

const ZONES = [
  "UTC",
  "Asia/Kathmandu",
  "America/New_York",
  "Australia/Lord_Howe",
  "America/St_Johns",
  "Pacific/Apia",
];

/** Instants around changes of the clock, and any. */
const instant = fc.oneof(
  fc
    .tuple(
      fc.constantFrom(
        "2026-03-08T07:00Z",
        "2026-11-01T06:00Z",
        "2026-04-04T15:00Z",
        "2006-10-29T02:31Z",
        "2011-12-30T10:00Z",
      ),
      fc.integer({ min: -90_000_000, max: 90_000_000 }),
    )
    .map(([at, by]) => ms(at) + by),
  fc.integer({ min: 0, max: 1_900_000_000_000 }),
);

const LENGTH = {
  minute: 60e3,
  five_minutes: 300e3,
  fifteen_minutes: 900e3,
  hour: 3600e3,
  day: 864e5,
  week: 7 * 864e5,
  month: 31 * 864e5,
};

/** Whether a local time begins an interval, by the clock on the wall. */
function begins(interval: keyof typeof LENGTH, at: Temporal.ZonedDateTime): boolean {
  if (LENGTH[interval] < 864e5) {
    const since_midnight = at.hour * 3600e3 + at.minute * 60e3 + at.second * 1e3 + at.millisecond;
    return since_midnight % LENGTH[interval] === 0;
  }
  if (!at.equals(at.startOfDay())) return false;
  return interval === "day" || (interval === "week" ? at.dayOfWeek === 1 : at.day === 1);
}

test("buckets cover the range, begin where local intervals do, and hold one interval each", () => {
  fc.assert(
    fc.property(
      instant,
      fc.integer({ min: 1, max: 120 }),
      fc.integer({ min: 0, max: 1 }),
      fc.constantFrom(...INTERVALS),
      fc.constantFrom(...ZONES),
      (start_ms, count, extra, interval, zone) => {
        const end_ms = start_ms + count * LENGTH[interval] + extra * 12_345;
        const { edges, cuts_first, cuts_last } = bucketsOf({ start_ms, end_ms }, interval, zonesOf(zone));
        expect([edges[0], edges.at(-1)]).toEqual([start_ms, end_ms]);
        const isChange = (at: number) => local(at, zone).offset !== local(at - 1, zone).offset;
        for (const [i, edge] of edges.entries()) {
          const is_end = i === 0 || i === edges.length - 1;
          if (i > 0) expect(edge).toBeGreaterThan(edges[i - 1] ?? 0);
          if (!is_end) expect(begins(interval, local(edge, zone)) || isChange(edge)).toBe(true);
        }
        // No interval begins inside of a bucket.
        const step = Math.min(LENGTH[interval], 36e5) / 4;
        for (const [i, edge] of edges.slice(0, -1).entries()) {
          for (
            let at = Math.ceil((edge + 1) / 900e3) * 900e3, n = 0;
            at < (edges[i + 1] ?? 0) && n < 40;
            at += Math.max(step, 900e3), n++
          )
            expect([iso(at), begins(interval, local(at, zone))]).toEqual([iso(at), false]);
        }
        if (!cuts_first) expect(begins(interval, local(start_ms, zone)) || isChange(start_ms)).toBe(true);
        if (!cuts_last) expect(begins(interval, local(end_ms, zone)) || isChange(end_ms)).toBe(true);
      },
    ),
    propertyCases(60),
  );
});

test("a day that a zone skipped makes no bucket", () => {
  // Samoa had no 30 December 2011.
  const range = { start_ms: ms("2011-12-29T10:00Z"), end_ms: ms("2011-12-31T10:00Z") };
  const { edges } = bucketsOf(range, "day", zonesOf("Pacific/Apia"));
  expect(edges.map(iso)).toEqual(["2011-12-29T10:00:00Z", "2011-12-30T10:00:00Z", "2011-12-31T10:00:00Z"]);
});

test("auto takes the shortest interval that makes at most 400 buckets", () => {
  const start_ms = ms("2026-01-01T00:00Z");
  for (const [hours, interval] of [
    [1, "minute"],
    [6, "minute"],
    [7, "five_minutes"],
    [24, "five_minutes"],
    [48, "fifteen_minutes"],
    [7 * 24, "hour"],
    [30 * 24, "day"],
    [365 * 24, "day"],
    [2 * 365 * 24, "week"],
    [10 * 365 * 24, "month"],
  ] as const)
    expect([
      hours,
      bucketsOf({ start_ms, end_ms: start_ms + hours * 3_600_000 }, "auto", zonesOf("UTC")).interval,
    ]).toEqual([hours, interval]);
});

test("the last twelve months end with the running one", () => {
  const now = Temporal.Instant.from("2026-04-01T03:30:00Z"); // 31 March, 23:30, in New York
  const { start_ms, end_ms } = lastYear(now, zonesOf("America/New_York"));
  expect([iso(start_ms), iso(end_ms)]).toEqual(["2025-04-01T04:00:00Z", "2026-04-01T04:00:00Z"]);
});

test("months begin where those that were billed did, in the zone of then", () => {
  const moved = [
    ...zonesOf("Asia/Kuala_Lumpur"),
    { timezone: "America/New_York", from: Temporal.Instant.from("2026-02-10T00:00Z") },
  ];
  const range = { start_ms: ms("2026-01-15T00:00Z"), end_ms: ms("2026-05-01T04:00Z") };
  expect(bucketsOf(range, "month", moved).edges.map(iso)).toEqual([
    "2026-01-15T00:00:00Z",
    "2026-01-31T16:00:00Z",
    "2026-02-28T16:00:00Z",
    "2026-04-01T04:00:00Z",
    "2026-05-01T04:00:00Z",
  ]);
});

test.each<[RangeInput, string]>([
  [{ month: "2026-01", relative: "today" }, "/range"],
  [{ from: "2026-01-01T00:00Z", period_of: 1 }, "/range"],
  [{ to: "2026-01-01T00:00Z" }, "/range/from"],
  [{ on: "2026-01-01", month: "2026-01" }, "/range/period_of"],
])("a range in several forms, or in part, is refused: %j", (range, path) => {
  expect(() => assertOneForm(range)).toThrow(
    expect.objectContaining({ kind: "invalid", details: [expect.objectContaining({ path })] }),
  );
});

const march = windowOfMonth("2026-03", zonesOf("America/New_York"));
const movedDays = (range: { start_ms: number; end_ms: number }, compare: Parameters<typeof moveEdges>[1]) => {
  const { edges } = bucketsOf(range, "day", zonesOf("America/New_York"));
  const moved = moveEdges(edges, compare, "America/New_York");
  expect(moved).toHaveLength(edges.length);
  return [moved[0] ?? 0, moved.at(-1) ?? 0].map(iso);
};

test("a range is compared with as many months, days or hours before, or a year ago", () => {
  expect(movedDays(march, { to: "before" })).toEqual(["2026-02-01T05:00:00Z", "2026-03-01T05:00:00Z"]);
  expect(movedDays(march, { to: "before", align_weekdays: true })).toEqual([
    "2026-01-25T05:00:00Z",
    "2026-02-25T05:00:00Z",
  ]);
  expect(movedDays(march, { to: "last_year" })).toEqual(["2025-03-01T05:00:00Z", "2025-04-01T04:00:00Z"]);
  expect(movedDays(march, { to: "last_year", align_weekdays: true })).toEqual([
    "2025-03-02T05:00:00Z",
    "2025-04-02T04:00:00Z",
  ]);
  const week = windowOf(
    "this_week",
    Temporal.Instant.from("2026-03-09T03:30:00Z"),
    zonesOf("America/New_York"),
  );
  expect(movedDays(week, { to: "before" })).toEqual(["2026-02-23T05:00:00Z", "2026-03-02T05:00:00Z"]);
  const hours = { start_ms: ms("2026-03-08T06:30Z"), end_ms: ms("2026-03-08T08:30Z") };
  expect(movedDays(hours, { to: "before" })).toEqual(["2026-03-08T04:30:00Z", "2026-03-08T06:30:00Z"]);
});

test("a range that ends on the day before, by the clock on the wall, is compared with the week before", () => {
  // Newfoundland set its clocks back at a minute past midnight.
  const edges = [ms("2006-10-29T02:30:59Z"), ms("2006-10-29T02:31:59Z")];
  const moved = moveEdges(edges, { to: "before", align_weekdays: true }, "America/St_Johns");
  expect(moved.map((at) => iso(at).slice(0, 10))).toEqual(["2006-10-22", "2006-10-22"]);
});

test("moved edges ascend, whatever the clock does there", () => {
  fc.assert(
    fc.property(
      instant,
      fc.integer({ min: 1, max: 400 }),
      fc.constantFrom(...INTERVALS),
      fc.constantFrom(...ZONES),
      fc.record({ to: fc.constantFrom("before", "last_year"), align_weekdays: fc.boolean() }),
      (start_ms, count, interval, zone, compare) => {
        const { edges } = bucketsOf(
          { start_ms, end_ms: start_ms + count * LENGTH[interval] },
          interval,
          zonesOf(zone),
        );
        const moved = moveEdges(edges, compare, zone);
        expect(moved).toEqual(moved.toSorted((a, b) => a - b));
        expect(moved.at(-1)).toBeLessThanOrEqual(edges.at(-1) ?? 0);
        // Where the clock was set back past a midnight a range may end on the day before it began.
        const clock = (at: number) => local(at, zone).toPlainDateTime();
        const ascends = edges.every(
          (edge) => Temporal.PlainDateTime.compare(clock(start_ms), clock(edge)) <= 0,
        );
        if (compare.align_weekdays && ascends)
          expect(local(moved[0] ?? 0, zone).dayOfWeek).toBe(local(start_ms, zone).dayOfWeek);
      },
    ),
    propertyCases(150),
  );
});
