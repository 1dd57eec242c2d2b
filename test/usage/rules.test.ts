import { describe, expect, test } from "bun:test";
import * as fc from "fast-check";
import { toBig } from "../../src/core/money.ts";
import { externalIdOf, readMoment, roundUsage, windowOf } from "../../src/usage/rules.ts";

describe("roundUsage()", () => {
  test.each<[number | string, string | undefined]>([
    [1, "1"],
    [-0, "0"],
    [0.5, "0.5"],
    [1e-7, "0"],
    [-1e-7, "0"],
    [5e-7, "0.000001"],
    [-5e-7, "-0.000001"],
    [1.2345675, "1.234568"],
    [999_999_999_999.9999, "999999999999.9999"],
    [1e12, undefined],
    [Number.NaN, undefined],
    [Number.POSITIVE_INFINITY, undefined],
    ["12.50", "12.5"],
    ["1e3", "1000"],
    ["-.5", "-0.5"],
    ["5.", "5"],
    ["0.12345649999999999999999999", "0.123456"],
    ["999999999999.9999994", "999999999999.999999"],
    ["999999999999.9999995", undefined],
    ["1e999", undefined],
    ["abc", undefined],
    ["", undefined],
    ["1,5", undefined],
    ["0x10", undefined],
    ["Infinity", undefined],
  ])("%p → %p", (usage, rounded) => {
    expect(roundUsage(usage)).toBe(rounded);
  });

  test("is within half a millionth, has at most six decimals, and rounds nothing twice", () => {
    fc.assert(
      fc.property(fc.double({ min: -1e11, max: 1e11, noNaN: true }), (usage) => {
        const rounded = roundUsage(usage) ?? "";
        expect(rounded).toMatch(/^-?\d+(\.\d{1,6})?$/);
        expect(toBig(rounded).minus(toBig(usage)).abs().lte("0.0000005")).toBe(true);
        expect(roundUsage(rounded)).toBe(rounded);
      }),
    );
  });
});

test.each([
  ["1700000000000", 1_700_000_000_000],
  ["1700000000000.0", 1_700_000_000_000],
  ["2023-11-16 18:17:03.9799600", 1_700_158_623_979],
  ["2023-11-16T18:17:03Z", 1_700_158_623_000],
  ["2023-11-16T18:17:03+08:00", 1_700_129_823_000],
  ["2023-11-16", 1_700_092_800_000],
  ["2023-02-30", undefined],
  ["16/11/2023", undefined],
  ["-5", undefined],
  ["", undefined],
])("readMoment(%p) → %p", (text, moment) => {
  expect(readMoment(text)).toBe(moment);
});

test.each([
  ["this_month", "UTC", "2026-03-31T23:30Z", "2026-03-01T00:00Z", "2026-04-01T00:00Z"],
  ["this_month", "Asia/Tokyo", "2026-03-31T23:30Z", "2026-03-31T15:00Z", "2026-04-30T15:00Z"],
  ["last_month", "Asia/Tokyo", "2026-03-31T23:30Z", "2026-02-28T15:00Z", "2026-03-31T15:00Z"],
  ["last_month", "America/New_York", "2026-01-15T00:00Z", "2025-12-01T05:00Z", "2026-01-01T05:00Z"],
  ["this_month", "America/New_York", "2026-03-15T00:00Z", "2026-03-01T05:00Z", "2026-04-01T04:00Z"],
  ["last_24h", "America/New_York", "2026-03-08T12:00Z", "2026-03-07T12:00Z", "2026-03-08T12:00:00.001Z"],
  ["last_7d", "UTC", "2026-03-08T12:00Z", "2026-03-01T12:00Z", "2026-03-08T12:00:00.001Z"],
] as const)("%s in %s at %s is [%s, %s)", (relative, zone, now, start, end) => {
  const [start_ms, end_ms] = [start, end].map((text) => Temporal.Instant.from(text).epochMilliseconds);
  expect(windowOf(relative, Temporal.Instant.from(now), zone)).toEqual({ start_ms, end_ms });
});

test("a composite key holds the external id, colons and all, of its own company only", () => {
  expect(externalIdOf(7, "7:a:b")).toBe("a:b");
  for (const key of ["8:a", "77:a", "a", "", ":a"]) expect(externalIdOf(7, key)).toBeUndefined();
});
