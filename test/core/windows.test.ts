import { expect, test } from "bun:test";
import { windowOf } from "../../src/core/windows.ts";

test.each([
  ["this_month", "UTC", "2026-03-31T23:30Z", "2026-03-01T00:00Z", "2026-04-01T00:00Z"],
  ["this_month", "Asia/Tokyo", "2026-03-31T23:30Z", "2026-03-31T15:00Z", "2026-04-30T15:00Z"],
  ["last_month", "Asia/Tokyo", "2026-03-31T23:30Z", "2026-02-28T15:00Z", "2026-03-31T15:00Z"],
  ["last_month", "America/New_York", "2026-01-15T00:00Z", "2025-12-01T05:00Z", "2026-01-01T05:00Z"],
  ["this_month", "America/New_York", "2026-03-15T00:00Z", "2026-03-01T05:00Z", "2026-04-01T04:00Z"],
  ["last_24h", "America/New_York", "2026-03-08T12:00Z", "2026-03-07T12:00Z", "2026-03-08T12:00:00.001Z"],
  ["last_7d", "UTC", "2026-03-08T12:00Z", "2026-03-01T12:00Z", "2026-03-08T12:00:00.001Z"],
] as const)("%s in %s at %s is [%s, %s)", (relative, zone, now, start, end) => {
  const [start_ms = 0, end_ms = 0] = [start, end].map(
    (text) => Temporal.Instant.from(text).epochMilliseconds,
  );
  const zones = [{ timezone: zone, from: null }];
  expect(windowOf(relative, Temporal.Instant.from(now), zones)).toEqual({ start_ms, end_ms });
});
