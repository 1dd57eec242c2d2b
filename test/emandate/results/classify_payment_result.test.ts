import { describe, expect, test } from "bun:test";
import * as fc from "fast-check";
import type { OrderStatus } from "../../../src/emandate/orders/model.ts";
import {
  type AttemptOrder,
  classifyPaymentResult,
  nextCounted,
} from "../../../src/emandate/results/classify_payment_result.ts";
import { PAYMENT_STATUSES, type PaymentStatus } from "../../../src/emandate/payments/model.ts";
import { PAYMENT_TRANSITIONS } from "../../../src/emandate/payments/rules.ts";
import { propertyCases } from "../../support/properties.ts";

const OK = { status: "ok", code: "00", is_retriable: false, answers: null } as const;
const FAILED = { ...OK, status: "failed", code: "53" } as const;
const NO_FUNDS = { ...FAILED, code: "51", is_retriable: true } as const;
const CHARGED_BACK = { ...OK, status: "charged_back" } as const;
const PENDING = { ...OK, status: "pending", code: "09" } as const;
const PAID_AGAIN = { ...OK, answers: "payment" } as const;
const SAID = { OK, FAILED, NO_FUNDS, CHARGED_BACK, PENDING, PAID_AGAIN };
const PAID_AT = "2026-03-10T00:00:00.000Z";

/** What a verdict comes to, in a word or two. */
function verdict(
  payment: { status: PaymentStatus; paid_at?: string },
  order: Partial<AttemptOrder>,
  said: (typeof SAID)[keyof typeof SAID],
): string {
  const of = { order_no: "D1-2", status: "failed" as OrderStatus, awaits: null, corrected_code: null };
  const judged = classifyPaymentResult(
    { order_no: "D1-2", paid_at: null, ...payment },
    { ...of, ...order },
    said,
  );
  return [judged.trigger, judged.order && `order ${judged.order}`, judged.flag].filter(Boolean).join(", ");
}

describe("an answer about the attempt that counts", () => {
  test.each([
    ["submitted", { status: "pending", awaits: "payment" }, OK, "pay"],
    ["submitted", { status: "pending", awaits: "payment" }, PENDING, ""],
    ["submitted", { status: "pending", awaits: "payment" }, FAILED, "fail"],
    ["submitted", { status: "pending", awaits: "payment" }, NO_FUNDS, "fail_for_now"],
    ["submitted", { status: "pending", awaits: "payment" }, CHARGED_BACK, "charge_back"],
    ["paid", { status: "succeeded", awaits: "settlement" }, OK, "order settled"],
    ["paid", { status: "succeeded", awaits: "settlement" }, PAID_AGAIN, ""],
    ["paid", { status: "succeeded", awaits: null }, OK, ""],
    ["paid", { status: "succeeded", awaits: "settlement" }, FAILED, "fail"],
    ["paid", { status: "succeeded", awaits: "settlement" }, NO_FUNDS, "fail"],
    ["paid", { status: "succeeded", corrected_code: "51" }, NO_FUNDS, "failed_after_correction"],
    ["paid", { status: "succeeded", corrected_code: "51" }, FAILED, "fail"],
    ["paid", { status: "succeeded", corrected_code: "51 53" }, FAILED, "failed_after_correction"],
    ["paid", { status: "succeeded", corrected_code: "OF 14" }, FAILED, "fail"],
    ["paid", { status: "succeeded", awaits: null }, CHARGED_BACK, "charge_back"],
    ["retry_scheduled", {}, OK, "pay"],
    ["retry_scheduled", {}, PAID_AGAIN, "pay"],
    ["retry_scheduled", {}, NO_FUNDS, ""],
    ["retry_scheduled", {}, FAILED, "fail"],
    ["retry_scheduled", {}, CHARGED_BACK, "charge_back"],
    ["failed", {}, OK, "pay"],
    ["failed", {}, FAILED, ""],
    ["failed", {}, CHARGED_BACK, "charge_back"],
    ["cancelled", {}, OK, "pay"],
    ["skipped", {}, OK, "pay"],
    ["skipped", {}, FAILED, ""],
    ["skipped", {}, CHARGED_BACK, "charge_back"],
    ["charged_back", {}, OK, "paid_after_return"],
    ["charged_back", {}, FAILED, ""],
    ["charged_back", {}, CHARGED_BACK, ""],
  ] as const)("of a payment that is %s: %p, %p", (status, order, said, expected) => {
    expect(verdict({ status }, order, said)).toBe(expected);
  });

  test("of money that was there and came back late flags a success, and no failure", () => {
    const late = { status: "failed", paid_at: PAID_AT } as const;
    expect(verdict(late, {}, OK)).toBe("paid_after_return");
    expect(verdict(late, {}, FAILED)).toBe("");
  });

  test("of money that failed late is a charge-back as any other: it counts as a debit from then on", () => {
    const late = { status: "failed", paid_at: PAID_AT } as const;
    expect(verdict(late, {}, CHARGED_BACK)).toBe("charge_back");
    expect(verdict(late, { order_no: "D1-1" }, CHARGED_BACK)).toBe("charge_back");
  });
});

test.each([
  [[], "fail"],
  [["failed"], "fail"],
  [["failed", "pending"], "await_other"],
  [["submitted"], "await_other"],
  [["pending", "succeeded"], "keep_other"],
] as const)(
  "a failure of the paid attempt leaves the payment to what else may move money: %p",
  (others, expected) => {
    const paid = { status: "paid", order_no: "D1-2", paid_at: PAID_AT } as const;
    const order = { order_no: "D1-2", status: "succeeded", awaits: null, corrected_code: null } as const;
    const other = nextCounted(others.map((status) => ({ status })));
    expect(classifyPaymentResult(paid, order, FAILED, other).trigger).toBe(expected);
  },
);

describe("an answer about another attempt", () => {
  test.each([
    ["retry_scheduled", "failed", OK, "pay"],
    ["failed", "failed", OK, "pay"],
    ["cancelled", "failed", OK, "pay"],
    ["submitted", "failed", OK, "pay, retry_was_sent"],
    ["paid", "failed", OK, "order paid, paid_twice"],
    ["paid", "pending", OK, "order paid, paid_twice"],
    ["paid", "succeeded", PAID_AGAIN, ""],
    ["charged_back", "failed", OK, "order paid, paid_after_return"],
    ["submitted", "failed", FAILED, ""],
    ["paid", "pending", NO_FUNDS, "order failed"],
    ["paid", "succeeded", FAILED, "order failed"],
    ["paid", "succeeded", CHARGED_BACK, "order failed, earlier_attempt_returned"],
    ["retry_scheduled", "failed", CHARGED_BACK, "charge_back"],
    ["submitted", "failed", CHARGED_BACK, "earlier_attempt_returned"],
    ["paid", "failed", CHARGED_BACK, "earlier_attempt_returned"],
    ["charged_back", "failed", CHARGED_BACK, "earlier_attempt_returned"],
  ] as const)("of a payment that is %s, the attempt %s: %p", (status, attempt, said, expected) => {
    expect(verdict({ status }, { order_no: "D1-1", status: attempt }, said)).toBe(expected);
  });
});

test("a success of another attempt than the one that failed late pays, and is flagged", () => {
  const late = { status: "failed", paid_at: PAID_AT } as const;
  expect(verdict(late, { order_no: "D1-1", status: "failed" }, OK)).toBe("pay, paid_after_return");
});

test("a success is never passed over but where the money is known to be there, and moves are possible ones", () => {
  fc.assert(
    fc.property(
      fc.constantFrom(...PAYMENT_STATUSES.filter((one) => one !== "scheduled")),
      fc.constantFrom<OrderStatus>("submitted", "pending", "succeeded", "failed"),
      fc.boolean(),
      fc.boolean(),
      fc.constantFrom(...Object.values(SAID)),
      (status, attempt, is_other, was_paid, said) => {
        const order = {
          order_no: is_other ? "D1-1" : "D1-2",
          status: attempt,
          awaits: null,
          corrected_code: null,
        };
        const payment = { status, order_no: "D1-2", paid_at: was_paid ? PAID_AT : null };
        const judged = classifyPaymentResult(payment, order, said);
        if (judged.trigger !== null) expect(PAYMENT_TRANSITIONS[status][judged.trigger]).toBeDefined();
        if (said.status !== "ok") return;
        const is_known = is_other ? attempt === "succeeded" : status === "paid";
        const is_heard = judged.trigger === "pay" || judged.flag !== null;
        expect(is_heard).toBe(!is_known);
      },
    ),
    propertyCases(300),
  );
});
