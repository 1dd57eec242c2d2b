import { expect, test } from "bun:test";
import { FIRST_AWAITED } from "../../../src/emandate/orders/rules.ts";
import {
  answeredBy,
  classifyResult,
  resultInTime,
} from "../../../src/emandate/results/classify_mandate_result.ts";
import { ORDER_KINDS, type SchemeResult } from "../../../src/emandate/scheme/connector.ts";

const began = Temporal.Instant.from("2026-03-10T04:00:00Z");
const after = (ms: number) => began.add({ milliseconds: ms });

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
  // The bank is working on it, the scheme is out of reach, or the query was wrong: nothing is known.
  ["authorization", { code: "99" }, 2 * DAY, "pending"],
  ["authorization", {}, 2 * DAY, "pending"],
  ["authorization", { status: "failed", is_about_message: true }, 2 * DAY, "failed"],
  ["approval", { is_idle: true }, 2 * DAY, "pending"],
  ["payment", { is_idle: true }, 2 * DAY, "pending"],
  ["confirmation", {}, 2 * DAY - 1, "pending"],
  ["confirmation", {}, 2 * DAY, "Not confirmed within 48 hours"],
  ["confirmation", { status: "failed", is_about_message: true }, 2 * DAY, "Not confirmed within 48 hours"],
  ["confirmation", { status: "ok" }, 3 * DAY, "ok"],
] as const)("of an order that awaits %s: %p is after %i ms: %s", (awaits, fields, ms, expected) => {
  const order = { kind: "enrolment", status: "pending", awaits, awaits_since: began.toString() } as const;
  const received = result({ status: "pending", code: null, ...fields });
  const { status, message } = resultInTime({ ...order, connector: "fpx" }, received, after(ms));
  expect(message ?? status).toBe(expected);
});

/** Of an enrolment: the awaited step, the answered step, the status, and the class of the result. */
test.each([
  ["authorization", null, "ok", "next"],
  ["authorization", "first", "ok", "next"],
  ["authorization", "approval", "ok", "out_of_order"],
  ["authorization", "approval", "failed", "out_of_order"],
  ["authorization", "first", "pending", null],
  ["approval", null, "failed", "next"],
  ["approval", "approval", "ok", "next"],
  // Repeated or late.
  ["approval", "first", "ok", null],
  ["approval", "authorization", "failed", null],
  [null, "first", "ok", null],
  [null, null, "failed", null],
  [null, "approval", "ok", null],
  [null, "end", "ok", "end"],
  [null, "end", "failed", null],
] as const)(
  "an enrolment that awaits %p and has a result of %p: %s is %p",
  (awaits, answers, status, meaning) => {
    const order = { kind: "enrolment", status: "pending", awaits, awaits_since: began.toString() } as const;
    expect(classifyResult(order, result({ answers, status }))).toBe(meaning);
  },
);

test("what is first depends on the order", () => {
  for (const kind of ORDER_KINDS) {
    expect(answeredBy({ kind, awaits: null }, { answers: "first" })).toBe(FIRST_AWAITED[kind]);
    expect(answeredBy({ kind, awaits: "settlement" }, { answers: null })).toBe("settlement");
  }
});
