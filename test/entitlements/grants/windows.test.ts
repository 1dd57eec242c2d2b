import { describe, expect, test } from "bun:test";
import { calendarOf, nameOf } from "../../../src/entitlements/grants/windows.ts";
import { iso } from "../../../src/core/time.ts";

const ms = (text: string) => Temporal.Instant.from(text).epochMilliseconds;
const at = (time: number) => iso(Temporal.Instant.fromEpochMilliseconds(time));
const place = (timezone: string) => ({
  zones: [{ timezone, from: null }],
  billing_anchor_day: 31,
  since_ms: ms("2026-01-05T00:00:00Z"),
  recorded: [],
});

describe("windows", () => {
  test.each([
    [
      "hour",
      "Asia/Kathmandu",
      "2026-03-10T12:00:00Z",
      "2026-03-10T11:15:00.000Z",
      "2026-03-10T12:15:00.000Z",
    ],
    ["day", "Europe/Berlin", "2026-03-29T12:00:00Z", "2026-03-28T23:00:00.000Z", "2026-03-29T22:00:00.000Z"],
    ["week", "UTC", "2026-03-15T23:59:59Z", "2026-03-09T00:00:00.000Z", "2026-03-16T00:00:00.000Z"],
    ["month", "UTC", "2026-03-01T00:00:00Z", "2026-02-28T00:00:00.000Z", "2026-03-31T00:00:00.000Z"],
    ["life", "UTC", "2026-03-01T00:00:00Z", "2026-01-05T00:00:00.000Z", "+010000-01-01T00:00:00.000Z"],
  ] as const)("a %s in %s at %s is from %s to %s", (window, zone, instant, from, to) => {
    const found = calendarOf(window, place(zone)).at(ms(instant));
    expect([at(found.start_ms), at(found.end_ms)]).toEqual([from, to]);
    expect(found.whole_ms).toBe(found.end_ms - found.start_ms);
  });

  test.each([
    ["hour", "Australia/Lord_Howe", "2026-04-04T12:00:00Z"],
    ["hour", "Europe/Berlin", "2026-03-29T00:10:00Z"],
    ["hour", "Europe/Berlin", "2026-10-24T22:10:00Z"],
    ["day", "America/Sao_Paulo", "2018-11-01T00:00:00Z"],
    ["week", "Europe/Berlin", "2026-03-20T00:00:00Z"],
    ["month", "Asia/Kuala_Lumpur", "2026-01-20T00:00:00Z"],
  ] as const)("%ss in %s follow one another without a gap", (window, zone, instant) => {
    const calendar = calendarOf(window, place(zone));
    let current = calendar.at(ms(instant));
    for (let i = 0; i < 10; i++) {
      expect(calendar.at(current.end_ms - 1)).toEqual(current);
      const next = calendar.at(current.end_ms);
      expect(next.start_ms).toBe(current.end_ms);
      current = next;
    }
  });

  test("of months on record are those, under a name of their own; a usual month has the usual one", () => {
    const usual = place("UTC");
    const bounds = (from: string, to: string) => ({
      from: Temporal.Instant.from(from),
      to: Temporal.Instant.from(to),
    });
    const february = bounds("2026-01-31T00:00:00Z", "2026-02-28T00:00:00Z");
    expect(nameOf("month", { ...usual, recorded: [february] })).toBe(nameOf("month", usual));
    const moved = { ...usual, recorded: [bounds("2026-01-31T00:00:00Z", "2026-02-28T01:00:00Z")] };
    expect(nameOf("month", moved)).not.toBe(nameOf("month", usual));
    expect(nameOf("week", moved)).toBe(nameOf("week", usual));
    const { start_ms, end_ms } = calendarOf("month", moved).at(ms("2026-03-10T00:00:00Z"));
    expect([at(start_ms), at(end_ms)]).toEqual(["2026-02-28T01:00:00.000Z", "2026-03-31T00:00:00.000Z"]);
  });

  test("have the name of what cuts them", () => {
    expect(nameOf("day", place("UTC"))).not.toBe(nameOf("day", place("Europe/Berlin")));
    expect(nameOf("month", place("UTC"))).not.toBe(
      nameOf("month", { ...place("UTC"), billing_anchor_day: 1 }),
    );
  });
});
