import { expect, test } from "bun:test";
import * as fc from "fast-check";
import { cutsOf } from "../../../src/usage_store/duckdb/query/aggregate.ts";
import { coverByDays, coverByHours, type Window } from "../../../src/usage_store/duckdb/query/sums_cover.ts";
import { propertyCases } from "../../support/properties.ts";

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;
const SHARE = 1 / 8;

/** The midnights of a zone from one day to another. */
function midnights(time_zone: string, from: string, days: number): number[] {
  const first = Temporal.PlainDate.from(from).toZonedDateTime(time_zone);
  return Array.from({ length: days }, (_, i) => first.add({ days: i }).epochMilliseconds);
}

const startsOf = (edges: readonly number[]) => [...new Set(edges.map((edge) => edge % DAY_MS))];

test("a year of days in a zone with summer time is two changes and whole days", () => {
  const edges = midnights("Europe/Berlin", "2026-01-01", 366);
  const cover = coverByDays(edges, startsOf(edges), SHARE);
  const at = (text: string) => Temporal.Instant.from(text).epochMilliseconds;
  expect(cover).toEqual({
    whole: [
      { start_ms: edges[0], end_ms: at("2026-03-28T23:00Z"), day_start_ms: 23 * HOUR_MS },
      { start_ms: at("2026-03-29T22:00Z"), end_ms: at("2026-10-24T22:00Z"), day_start_ms: 22 * HOUR_MS },
      { start_ms: at("2026-10-24T23:00Z"), end_ms: edges.at(-1), day_start_ms: 23 * HOUR_MS },
    ],
    rests: [
      { start_ms: at("2026-03-28T23:00Z"), end_ms: at("2026-03-29T22:00Z") },
      { start_ms: at("2026-10-24T22:00Z"), end_ms: at("2026-10-24T23:00Z") },
    ],
  });
});

test("without an end of time days have none either", () => {
  const [first = 0, ...others] = midnights("Asia/Kathmandu", "2026-01-01", 10);
  const edges = [Number.NEGATIVE_INFINITY, first, ...others, Number.POSITIVE_INFINITY];
  expect(coverByDays(edges, [first % DAY_MS], SHARE)).toEqual({
    whole: [{ day_start_ms: first % DAY_MS, start_ms: undefined, end_ms: undefined }],
    rests: [],
  });
});

test("days that leave much are none", () => {
  const edges = midnights("Asia/Kuala_Lumpur", "2026-01-01", 30);
  expect(coverByDays(edges, [0], SHARE)).toBeUndefined();
  expect(coverByDays(edges, [], SHARE)).toBeUndefined();
  expect(coverByDays([0, HOUR_MS], [0], SHARE)).toBeUndefined();
  // A rest in each of many weeks.
  expect(
    coverByDays(
      Array.from({ length: 60 }, (_, i) => i * 30 * DAY_MS + (i % 2) * HOUR_MS),
      [0],
      SHARE,
    ),
  ).toBeUndefined();
  // Half an hour of ten days.
  const cut = [0, 10 * DAY_MS + HOUR_MS / 2];
  expect(coverByDays(cut, [0], 1 / 100)).toBeDefined();
  expect(coverByDays(cut, [0], 1 / 1_000)).toBeUndefined();
});

const spans = fc.array(
  fc.tuple(fc.constantFrom(0, 1, 23, 24, 24, 25, 7 * 24, 30 * 24), fc.constantFrom(0, 0, 0, 1, HOUR_MS / 4)),
  { minLength: 1, maxLength: 40 },
);

test("whole spans and rests are all of the time, nothing twice, and no day lies in two buckets", () => {
  fc.assert(
    fc.property(
      fc.integer({ min: 0, max: 1e12 }),
      spans,
      fc.uniqueArray(
        fc.integer({ min: 0, max: 95 }).map((quarter) => (quarter * HOUR_MS) / 4),
        { maxLength: 3 },
      ),
      (start, widths, starts) => {
        const edges = [start];
        for (const [hours, more] of widths) edges.push((edges.at(-1) ?? 0) + hours * HOUR_MS + more);
        const end = edges.at(-1) ?? 0;
        fc.pre(start < end);
        const cover = coverByDays(edges, [start % DAY_MS, ...starts], SHARE);
        const hours = coverByHours({ start_ms: start, end_ms: end });
        for (const { whole, rests } of [hours, ...(cover === undefined ? [] : [cover])]) {
          const parts: Window[] = [...whole, ...rests];
          parts.sort((a, b) => (a.start_ms ?? 0) - (b.start_ms ?? 0) || (a.end_ms ?? 0) - (b.end_ms ?? 0));
          const bounds = parts.flatMap(({ start_ms, end_ms }) => [start_ms, end_ms]);
          const inner = bounds.slice(1, -1);
          expect([bounds[0], bounds.at(-1)]).toEqual([start, end]);
          expect(inner.filter((_, i) => i % 2 === 0)).toEqual(inner.filter((_, i) => i % 2 === 1));
        }
        for (const { start_ms = 0, end_ms = 0, day_start_ms } of cover?.whole ?? []) {
          expect([start_ms % DAY_MS, end_ms % DAY_MS]).toEqual([day_start_ms ?? -1, day_start_ms ?? -1]);
          const inside = edges.filter((edge) => edge > start_ms && edge < end_ms);
          expect(inside.filter((edge) => edge % DAY_MS !== day_start_ms)).toEqual([]);
        }
      },
    ),
    propertyCases(500),
  );
});

test("a query by day is cut at every midnight from the first event to the last, also on days of 25 hours", () => {
  const zones = ["Europe/Berlin", "America/Sao_Paulo", "Asia/Kathmandu", "Pacific/Apia", "America/St_Johns"];
  const changes = [
    "2026-10-25T01:00Z",
    "2018-11-04T03:00Z",
    "2018-02-18T02:00Z",
    "2011-12-30T10:00Z",
    "2006-10-29T02:31Z",
  ];
  const day_of = (at: number, time_zone: string) =>
    Temporal.Instant.fromEpochMilliseconds(at).toZonedDateTimeISO(time_zone).toPlainDate().toString();
  fc.assert(
    fc.property(
      fc.constantFrom(...zones),
      fc.constantFrom(...changes).map((text) => Temporal.Instant.from(text).epochMilliseconds),
      fc.integer({ min: -40, max: 10 }),
      fc.integer({ min: 1, max: 80 }),
      (time_zone, change, from, hours) => {
        const min_timestamp = change + from * HOUR_MS + 7;
        const max_timestamp = min_timestamp + hours * HOUR_MS;
        const wanted = {
          company_id: 1,
          group_by: ["day" as const],
          time_zone,
          max_groups: 10,
          max_key_length: 10,
        };
        const { edges = [] } = cutsOf(wanted, { min_timestamp, max_timestamp });
        if (edges.length === 0) return;
        for (let at = min_timestamp; at <= max_timestamp; at += HOUR_MS / 4) {
          const bucket = edges.findLastIndex((edge) => edge <= at);
          expect([bucket >= 0, at < (edges[bucket + 1] ?? 0)]).toEqual([true, true]);
          // An hour that comes twice may bring a day back: then its parts are buckets of their own.
          const ends = [edges[bucket] ?? 0, (edges[bucket + 1] ?? 0) - 1];
          if (
            ends.every((end) => end >= min_timestamp && end <= max_timestamp) &&
            (ends[1] ?? 0) - (ends[0] ?? 0) >= DAY_MS - 1
          )
            expect(ends.map((end) => day_of(end, time_zone))).toEqual(ends.map(() => day_of(at, time_zone)));
        }
      },
    ),
    propertyCases(300),
  );
});
