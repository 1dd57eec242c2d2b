import { expect, test } from "bun:test";
import * as fc from "fast-check";
import { AppError } from "../../src/core/errors.ts";
import { RateLimiter } from "../../src/core/rate_limiter.ts";
import { networkOf, readAddress } from "../../src/core/network.ts";

const at = (ms: number) => Temporal.Instant.fromEpochMilliseconds(1_773_144_000_000 + ms);

/** Whether a place was taken; else in how many seconds one is free. */
function take(limiter: RateLimiter, key: string, ms: number): true | number {
  try {
    limiter.consume(key, at(ms));
    return true;
  } catch (error) {
    if (error instanceof AppError && error.retry_after_s !== undefined) return error.retry_after_s;
    throw error;
  }
}

test("no minute, wherever it begins, holds more than the limit, and who comes back as advised is let in", () => {
  const waits = fc.array(fc.integer({ min: 0, max: 30_000 }), { minLength: 1, maxLength: 200 });
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 8 }), waits, (limit, gaps) => {
      const limiter = new RateLimiter(limit);
      const taken: number[] = [];
      let ms = 0;
      for (const gap of gaps) {
        ms += gap;
        const answer = take(limiter, "key", ms);
        if (answer !== true) {
          expect(answer).toBeWithin(1, 61);
          ms += answer * 1_000;
          expect(take(limiter, "key", ms)).toBe(true);
        }
        taken.push(ms);
        expect(taken.filter((earlier) => earlier > ms - 60_000).length).toBeLessThanOrEqual(limit);
      }
    }),
  );
});

test("a caller with an older time sees and counts what came later", () => {
  const limiter = new RateLimiter(3);
  for (const ms of [60_000, 59_000, 61_000]) expect(take(limiter, "key", ms)).toBe(true);
  expect(take(limiter, "key", 59_000)).toBeNumber();
  expect(take(limiter, "key", 61_000)).toBeNumber();
});

test("a clock that is set back a day locks nobody out for a day", () => {
  const limiter = new RateLimiter(1);
  const day_ms = 86_400_000;
  expect(take(limiter, "key", day_ms)).toBe(true);
  expect(take(limiter, "key", 0)).toBe(60);
  expect(take(limiter, "key", 60_000)).toBe(true);
});

test("keys are apart", () => {
  const limiter = new RateLimiter(1);
  expect([take(limiter, "a", 0), take(limiter, "b", 0), take(limiter, "a", 0)]).toEqual([true, true, 60]);
});

test.each([
  ["192.0.2.7", "192.0.2.7"],
  ["192.0.2.7:8080", "192.0.2.7"],
  ["::ffff:192.0.2.7", "192.0.2.7"],
  ["2001:DB8::0:7", "2001:db8::/64"],
  ["2001:db8:1:2:3:4:5:6", "2001:db8:1:2::/64"],
  ["[2001:db8:1:2::9]:443", "2001:db8:1:2::/64"],
  ["fe80::1%eth0", "fe80::/64"],
  ["::1", "::/64"],
  [null, "unknown"],
])("the network of %p is %p", (address, network) => {
  expect(networkOf(address)).toBe(network);
});

test.each([
  "",
  "localhost",
  "1",
  "192.0.2.256",
  "0x7f.1",
  "192.0.2.7, 192.0.2.8",
  "[::1",
  "::1:2:3:4:5:6:7:8",
])("%p is no address", (text) => {
  expect(readAddress(text)).toBeNull();
});
