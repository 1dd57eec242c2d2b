import { expect, test } from "bun:test";
import * as fc from "fast-check";
import { FIRST_AWAITED, nextQueryAt } from "../../../src/emandate/orders/rules.ts";
import { ORDER_KINDS, type SchemeResult } from "../../../src/emandate/scheme/connector.ts";
import { propertyCases } from "../../support/properties.ts";
import {
  answeredBy,
  resultInTime,
  classifyResult,
} from "../../../src/emandate/results/classify_mandate_result.ts";

const began = Temporal.Instant.from("2026-03-10T04:00:00Z");
const after = (ms: number) => began.add({ milliseconds: ms });

/** All times at which an order is asked for that never gets an answer, in minutes. */
function times(connector: "fpx" | "sandbox"): number[] {
  const found: number[] = [];
  for (let next = nextQueryAt(connector, began, began); next !== null; ) {
    found.push(began.until(next).total("minutes"));
    next = nextQueryAt(connector, began, next);
  }
  return found;
}

test("asked after 5, 15 and 60 minutes, then each hour up to the 48th", () => {
  const hours = Array.from({ length: 48 }, (_, i) => (i + 1) * 60);
  expect(times("fpx")).toEqual([5, 15, ...hours]);
  expect(times("sandbox")).toEqual([2 / 60, 5, 15, ...hours]);
});

test("the next time is always ahead, whenever somebody last looked, also before the beginning", () => {
  fc.assert(
    fc.property(fc.integer({ min: -1e9, max: 3e8 }), (ms) => {
      const next = nextQueryAt("fpx", began, after(ms));
      if (next === null) expect(ms).toBeGreaterThanOrEqual(48 * 3_600_000);
      else {
        expect(Temporal.Instant.compare(next, after(ms))).toBe(1);
        expect(times("fpx")).toContain(began.until(next).total("minutes"));
      }
    }),
    propertyCases(300),
  );
});

const result = (more: Partial<SchemeResult>): SchemeResult => ({
  status: "ok",
  answers: null,
  code: "00",
  message: null,
  is_retriable: false,
  scheme_txn_id: null,
  ...more,
});

const DAY = 86_400_000;
test.each([
  // A customer who has not come within a day will not.
  ["authorization", { is_idle: true }, DAY - 1, "pending"],
  ["authorization", { is_idle: true }, DAY, "Not authorized within 24 hours"],
  // The bank is at it, nobody could be asked, or the enquiry was wrong: nothing is known.
  ["authorization", { code: "99" }, 2 * DAY, "pending"],
  ["authorization", {}, 2 * DAY, "pending"],
  ["authorization", { status: "failed", is_about_message: true }, 2 * DAY, "failed"],
  ["approval", { is_idle: true }, 2 * DAY, "pending"],
  ["payment", { is_idle: true }, 2 * DAY, "pending"],
  ["confirmation", {}, 2 * DAY - 1, "pending"],
  ["confirmation", {}, 2 * DAY, "Not confirmed within 48 hours"],
  ["confirmation", { status: "failed", is_about_message: true }, 2 * DAY, "Not confirmed within 48 hours"],
  ["confirmation", { status: "ok" }, 3 * DAY, "ok"],
] as const)("of an order that awaits %s: %p is after %i ms: %s", (awaits, said, ms, expected) => {
  const order = { kind: "enrolment", status: "pending", awaits, awaits_since: began.toString() } as const;
  const told = result({ status: "pending", code: null, ...said });
  const { status, message } = resultInTime({ ...order, connector: "fpx" }, told, after(ms));
  expect(message ?? status).toBe(expected);
});

/** Of an enrolment: what it awaits, what is answered, what that means. */
test.each([
  ["authorization", null, "ok", "next"],
  ["authorization", "first", "ok", "next"],
  ["authorization", "approval", "ok", "out_of_order"],
  ["authorization", "approval", "failed", "out_of_order"],
  ["authorization", "first", "pending", null],
  ["approval", null, "failed", "next"],
  ["approval", "approval", "ok", "next"],
  // Said once more, or late.
  ["approval", "first", "ok", null],
  ["approval", "authorization", "failed", null],
  [null, "first", "ok", null],
  [null, null, "failed", null],
  [null, "approval", "ok", null],
  [null, "end", "ok", "end"],
  [null, "end", "failed", null],
] as const)("an enrolment that awaits %p and hears of %p: %s is %p", (awaits, answers, status, meaning) => {
  const order = { kind: "enrolment", status: "pending", awaits, awaits_since: began.toString() } as const;
  expect(classifyResult(order, result({ answers, status }))).toBe(meaning);
});

test("what is first depends on the order", () => {
  for (const kind of ORDER_KINDS) {
    expect(answeredBy({ kind, awaits: null }, { answers: "first" })).toBe(FIRST_AWAITED[kind]);
    expect(answeredBy({ kind, awaits: "settlement" }, { answers: null })).toBe("settlement");
  }
});
