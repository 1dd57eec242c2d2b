import { describe, expect, test } from "bun:test";
import * as fc from "fast-check";
import {
  dayOf,
  daysOf,
  MAX_PERIODS,
  type Period,
  periodContaining,
  periodStartingIn,
  periodsBetween,
  type ZoneTimeline,
} from "../../src/core/periods.ts";
import { instant, iso } from "../../src/core/time.ts";
import { propertyCases } from "../support/properties.ts";

const ZONES = ["UTC", "Europe/Berlin", "Asia/Kathmandu", "Pacific/Apia", "America/Sao_Paulo"] as const;
const always = (timezone: string): ZoneTimeline => [{ timezone, from: null }];
const bounds = ({ from, to }: Period) => [iso(from), iso(to)];

const someAnchor = fc.integer({ min: 1, max: 31 });
const someZone = fc.constantFrom(...ZONES, "Pacific/Kiritimati", "Pacific/Pago_Pago");
const someInstant = fc
  .integer({ min: instant("2008-01-01T00:00:00Z").epochMilliseconds, max: 1_900_000_000_000 })
  .map((ms) => Temporal.Instant.fromEpochMilliseconds(ms));

/** A first zone and up to four changes, oldest first. */
const someTimeline = fc
  .tuple(someZone, fc.array(fc.tuple(someZone, someInstant), { maxLength: 4 }))
  .map(
    ([first, changes]): ZoneTimeline => [
      { timezone: first, from: null },
      ...changes
        .map(([timezone, from]) => ({ timezone, from }))
        .toSorted((a, b) => Temporal.Instant.compare(a.from, b.from)),
    ],
  );

function startsBetween(from: string, until: string): string[] {
  const periods = [...periodsBetween(instant(from), instant(until), 1, always("UTC"))];
  return periods.map(({ start_date }) => start_date.toString());
}

function aprilAndMay(zones: ZoneTimeline): string[] {
  const periods = ["2024-04", "2024-05"].map((month) => periodStartingIn(month, 1, zones));
  return periods.map((period) => [period.time_zone, ...bounds(period)].join(" "));
}

/** Throws unless each period begins where the one before ended, in instants and in dates. */
function expectTiles(periods: readonly Period[]): void {
  for (const [index, period] of periods.entries()) {
    expect(Temporal.Instant.compare(period.from, period.to)).toBe(-1);
    const before = periods[index - 1];
    if (!before) continue;
    expect(iso(period.from)).toBe(iso(before.to));
    expect(period.start_date.equals(before.end_date)).toBe(true);
  }
}

describe("periods", () => {
  test("are computed from the anchor, never from the boundary before: 31 January 2024", () => {
    const periods = [
      ...periodsBetween(instant("2024-01-31T00:00:00Z"), instant("2024-05-01T00:00:00Z"), 31, always("UTC")),
    ];
    expect(periods.map(({ start_date }) => start_date.toString())).toEqual([
      "2024-01-31",
      "2024-02-29",
      "2024-03-31",
      "2024-04-30",
    ]);
    expect(periodStartingIn("2023-02", 31, always("UTC")).start_date.toString()).toBe("2023-02-28");
  });

  test.each(ZONES)("tile ten years for every anchor in %s, each from its day's first instant", (timezone) => {
    const from = instant("2008-06-15T12:00:00Z");
    const until = instant("2018-06-15T12:00:00Z");
    for (let anchor = 1; anchor <= 31; anchor += 1) {
      const periods = [...periodsBetween(from, until, anchor, always(timezone))];
      expect(periods.length).toBeGreaterThanOrEqual(120);
      expectTiles(periods);
      for (const { from: start, start_date } of periods) {
        const dates = [start, start.subtract({ nanoseconds: 1 })].map((at) =>
          at.toZonedDateTimeISO(timezone).toPlainDate(),
        );
        expect(dates.map((date) => Temporal.PlainDate.compare(date, start_date) >= 0)).toEqual([true, false]);
        const shorter = start_date.day < anchor;
        expect(start_date.day).toBe(shorter ? start_date.daysInMonth : anchor);
      }
    }
  });

  const midnights = [
    ["Asia/Kathmandu", 1, "2024-03", "2024-02-29T18:15:00.000Z", "2024-03-31T18:15:00.000Z", 31],
    ["Europe/Berlin", 1, "2024-03", "2024-02-29T23:00:00.000Z", "2024-03-31T22:00:00.000Z", 31],
    // Summer time began at midnight: 15 October 2017 has no 00:00, its first instant is 01:00 (-02:00).
    ["America/Sao_Paulo", 15, "2017-10", "2017-10-15T03:00:00.000Z", "2017-11-15T02:00:00.000Z", 31],
    // 30 December 2011 did not happen: the period begins as the 31st does. The calendar's days still count.
    ["Pacific/Apia", 30, "2011-12", "2011-12-30T10:00:00.000Z", "2012-01-29T10:00:00.000Z", 31],
    ["Pacific/Apia", 1, "2011-12", "2011-12-01T10:00:00.000Z", "2011-12-31T10:00:00.000Z", 31],
  ] as const;
  test.each(midnights)("in %s from day %d of %s run from %s to %s", (zone, anchor, month, from, to, days) => {
    const period = periodStartingIn(month, anchor, always(zone));
    expect(bounds(period)).toEqual([from, to]);
    expect(daysOf(period)).toBe(days);
  });

  test("contain the instants of [from, to) and no other", () => {
    fc.assert(
      fc.property(someInstant, someAnchor, someTimeline, (at, anchor, zones) => {
        const period = periodContaining(at, anchor, zones);
        expect(Temporal.Instant.compare(period.from, at)).not.toBe(1);
        expect(Temporal.Instant.compare(at, period.to)).toBe(-1);
        expect(bounds(periodContaining(period.from, anchor, zones))).toEqual(bounds(period));
        expect(iso(periodContaining(period.to, anchor, zones).from)).toBe(iso(period.to));
        const named = period.start_date.toPlainYearMonth().toString();
        expect(bounds(periodStartingIn(named, anchor, zones))).toEqual(bounds(period));
      }),
      propertyCases(300),
    );
  });
});

describe("a change of zone", () => {
  test("counts from the next period: the running one keeps the zone it began in", () => {
    const zones: ZoneTimeline = [
      { timezone: "UTC", from: null },
      { timezone: "Asia/Kathmandu", from: instant("2024-03-10T08:00:00Z") },
    ];
    const [march, april, may] = ["2024-03", "2024-04", "2024-05"].map((month) =>
      periodStartingIn(month, 1, zones),
    );
    expect(march && [...bounds(march), march.time_zone]).toEqual([
      "2024-03-01T00:00:00.000Z",
      "2024-04-01T00:00:00.000Z",
      "UTC",
    ]);
    expect(april && [...bounds(april), april.time_zone]).toEqual([
      "2024-04-01T00:00:00.000Z",
      "2024-04-30T18:15:00.000Z",
      "Asia/Kathmandu",
    ]);
    expect(may && bounds(may)[0]).toBe("2024-04-30T18:15:00.000Z");
  });

  test("at the very start of a period counts from that period", () => {
    const zones: ZoneTimeline = [
      { timezone: "UTC", from: null },
      { timezone: "Europe/Berlin", from: instant("2024-03-01T00:00:00Z") },
    ];
    const march = periodStartingIn("2024-03", 1, zones);
    expect([...bounds(march), march.time_zone]).toEqual([
      "2024-03-01T00:00:00.000Z",
      "2024-03-31T22:00:00.000Z",
      "Europe/Berlin",
    ]);
  });

  test("set again before it counts never counts, up to the instant at which it would begin", () => {
    const kathmandu = [
      "Asia/Kathmandu 2024-04-01T00:00:00.000Z 2024-04-30T18:15:00.000Z",
      "Asia/Kathmandu 2024-04-30T18:15:00.000Z 2024-05-31T18:15:00.000Z",
    ];
    for (const set_again of ["2024-03-20T00:00:00Z", "2024-04-01T00:00:00Z"]) {
      const zones: ZoneTimeline = [
        { timezone: "UTC", from: null },
        { timezone: "America/Sao_Paulo", from: instant("2024-03-10T00:00:00Z") },
        { timezone: "Asia/Kathmandu", from: instant(set_again) },
      ];
      expect(aprilAndMay(zones)).toEqual(kathmandu);
    }
  });

  test("set in the hours between the old zone's midnight and the new one's waits for the next period", () => {
    const zones: ZoneTimeline = [
      { timezone: "Pacific/Kiritimati", from: null },
      { timezone: "Pacific/Pago_Pago", from: instant("2024-03-10T00:00:00Z") },
      { timezone: "Europe/Berlin", from: instant("2024-03-31T20:00:00Z") },
    ];
    expect(aprilAndMay(zones)).toEqual([
      "Pacific/Pago_Pago 2024-03-31T10:00:00.000Z 2024-05-01T11:00:00.000Z",
      "Europe/Berlin 2024-05-01T11:00:00.000Z 2024-05-31T22:00:00.000Z",
    ]);
  });

  test("tiles time, whatever zones follow each other", () => {
    fc.assert(
      fc.property(someAnchor, someTimeline, someInstant, (anchor, zones, from) => {
        const periods = [...periodsBetween(from, from.add({ hours: 24 * 800 }), anchor, zones)];
        expect(periods.length).toBeGreaterThan(25);
        expectTiles(periods);
        for (const [index, period] of periods.entries()) {
          const { to, time_zone } = period;
          expect(dayOf(period.from, period).equals(period.start_date)).toBe(true);
          // Ends at its own zone's midnight, and the next one has the zone in force at its start.
          const end = periods[index]?.end_date.toZonedDateTime(time_zone).toInstant();
          expect(end && iso(end)).toBe(iso(to));
          const in_force = zones.findLast(
            (zone) => !zone.from || Temporal.Instant.compare(zone.from, to) <= 0,
          );
          const next = periods[index + 1];
          if (next) expect(next.time_zone).toBe(in_force?.timezone ?? "");
        }
      }),
      propertyCases(60),
    );
  });

  test("leaves the period in which it is set, and all before, as they were", () => {
    fc.assert(
      fc.property(someAnchor, someTimeline, (anchor, zones) => {
        const change = zones.at(-1);
        if (!change?.from) return;
        const before = zones.slice(0, -1);
        const running = periodContaining(change.from, anchor, before);
        if (running.from.equals(change.from)) return;
        const still = periodContaining(change.from, anchor, zones);
        expect([...bounds(still), still.time_zone]).toEqual([...bounds(running), running.time_zone]);
        expect(periodContaining(running.to, anchor, zones).time_zone).toBe(change.timezone);
      }),
      propertyCases(300),
    );
  });

  test("leaves every instant of a period on one of its days", () => {
    const zones: ZoneTimeline = [
      { timezone: "Pacific/Kiritimati", from: null },
      { timezone: "Pacific/Pago_Pago", from: instant("2024-03-10T00:00:00Z") },
    ];
    const april = periodStartingIn("2024-04", 1, zones);
    // 31 March 10:00 UTC: already 1 April where the period before was cut, still 30 March in the new zone.
    expect(iso(april.from)).toBe("2024-03-31T10:00:00.000Z");
    expect(dayOf(april.from, april).toString()).toBe("2024-04-01");
    expect(dayOf(april.to.subtract({ nanoseconds: 1 }), april).toString()).toBe("2024-04-30");
    expect(dayOf(april.to, april).toString()).toBe("2024-04-30");
  });
});

test("a period begins on its first day, also where the zone skipped that day", () => {
  const period = periodStartingIn("2011-12", 30, always("Pacific/Apia"));
  expect(dayOf(period.from, period).toString()).toBe("2011-12-30");
  expect(dayOf(period.from.add({ milliseconds: 1 }), period).toString()).toBe("2011-12-31");
});

describe("periodsBetween()", () => {
  test("begins with the period that contains `from` and ends before `until`", () => {
    expect(startsBetween("2024-01-15T00:00:00Z", "2024-03-01T00:00:00Z")).toEqual([
      "2024-01-01",
      "2024-02-01",
    ]);
    expect(startsBetween("2024-01-15T00:00:00Z", "2024-03-01T00:00:00.001Z")).toHaveLength(3);
    expect(startsBetween("2024-01-15T00:00:00Z", "2024-01-01T00:00:00Z")).toEqual([]);
  });

  test("stops with an error after its bound", () => {
    const centuries = periodsBetween(
      instant("1900-01-01T00:00:00Z"),
      instant("2024-01-01T00:00:00Z"),
      1,
      always("UTC"),
    );
    let count = 0;
    const drain = () => {
      for (const _ of centuries) count += 1;
    };
    expect(drain).toThrow(`more than ${MAX_PERIODS}`);
    expect(count).toBe(MAX_PERIODS);
  });
});

describe("what can't be cut is refused", () => {
  test.each([0, 32, 1.5, Number.NaN])("anchor day %p", (anchor) => {
    expect(() => periodStartingIn("2024-01", anchor, always("UTC"))).toThrow("is not from 1 to 31");
  });

  test.each(["2024-13", "2024-00", "2024-1", "24-01", "2024-01-01", ""])("month %p", (month) => {
    expect(() => periodStartingIn(month, 1, always("UTC"))).toThrow();
  });

  test("no zone, or a later one without a beginning", () => {
    expect(() => periodStartingIn("2024-01", 1, [])).toThrow("no time zone");
    const zones = [...always("UTC"), ...always("Europe/Berlin")];
    expect(() => periodStartingIn("2024-01", 1, zones)).toThrow("Europe/Berlin has no beginning");
  });
});
