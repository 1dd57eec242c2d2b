import { expect, test } from "bun:test";
import { LIMITS } from "../../../src/billing/limits.ts";
import type { Booking } from "../../../src/billing/subscription_add_ons/model.ts";
import { hasRoom } from "../../../src/billing/subscription_add_ons/rules.ts";
import { instant, iso } from "../../../src/core/time.ts";

const START = instant("2026-01-01T00:00:00.000Z");
const day = (days: number) => iso(START.add({ hours: 24 * days }));
const booked = (from: number, until: number | null): Booking => ({
  add_on_id: 1,
  quantity: "1",
  from: day(from),
  until: until === null ? null : day(until),
});
const many = (count: number, from: number, until: number | null) =>
  Array.from({ length: count }, () => booked(from, until));

const MOST = LIMITS.subscription_add_ons;

test.each<[string, Booking, Booking[], boolean]>([
  ["one fewer than the most", booked(0, null), many(MOST - 1, 0, null), true],
  ["as many as the most", booked(0, null), many(MOST, 0, null), false],
  ["as many, which ended long ago", booked(100, null), many(MOST, 0, 10), true],
  ["as many, which ended in the same period", booked(20, null), many(MOST, 0, 10), false],
  ["as many, which begin later", booked(0, 10), many(MOST, 100, null), true],
  ["as many, which begin later while it lasts", booked(0, null), many(MOST, 100, null), false],
  ["as many a quarter for years", booked(0, null), [...many(600, 0, 9), ...many(600, 90, 99)], true],
  ["as many that were taken back", booked(0, null), many(MOST, 0, 0), false],
])("room beside %s", (_, booking, others, expected) => {
  expect(hasRoom(booking, others)).toBe(expected);
});
