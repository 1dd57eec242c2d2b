import type { FlagReason } from "../flags/model.ts";
import type { OrderStatus } from "../orders/model.ts";
import type { SchemeResult } from "../scheme/connector.ts";
import type { MandatePayment } from "../payments/model.ts";
import { PAYMENT_TRANSITIONS, type PaymentTrigger } from "../payments/rules.ts";

// What the scheme's answers mean to a payment, whenever they come. Decision 0135.

/** The order of a payment's attempt, as far as answers go. */
export interface AttemptOrder {
  readonly order_no: string;
  readonly status: OrderStatus;
  readonly awaits: string | null;
  /** The code of a failure that the bank took back. */
  readonly corrected_code: string | null;
}

/** A payment, as far as answers go: `order_no` is the attempt that counts, the one that paid or else the last. */
export type AnsweredPayment = Pick<MandatePayment, "status" | "order_no" | "paid_at">;

/** What an answer says. */
export type SchemeResponse = Pick<SchemeResult, "status" | "code" | "is_retriable" | "answers">;

/** What an answer can do to a payment. */
export type ResultTrigger = Exclude<PaymentTrigger, "submit" | "cancel" | "skip">;

/** What an answer does: to the payment, to its order alone, and whether a person must look. */
export interface PaymentDecision {
  readonly trigger: ResultTrigger | null;
  /** `settled` where the money stays; `paid` and `failed` where the payment does not follow the order. */
  readonly order: "settled" | "paid" | "failed" | null;
  readonly flag: FlagReason | null;
}

const NOTHING: PaymentDecision = { trigger: null, order: null, flag: null };
const pull = (trigger: ResultTrigger): PaymentDecision => ({ ...NOTHING, trigger });
const flagged = (flag: FlagReason): PaymentDecision => ({ ...NOTHING, flag });

/**
 * What an answer does. One that agrees with the records on where the money is does nothing; one that does not is
 * applied, or flagged where it can't be: it is never passed over.
 */
export function classifyPaymentResult(
  payment: AnsweredPayment,
  order: AttemptOrder,
  response: SchemeResponse,
): PaymentDecision {
  if (response.status === "pending") return NOTHING;
  return payment.order_no === order.order_no
    ? classifyCounted(payment, order, response)
    : classifyUncounted(payment, order, response);
}

/** Whether the money was there and came back. */
function hasReturned({ status, paid_at }: AnsweredPayment): boolean {
  return status === "charged_back" || (status === "failed" && paid_at !== null);
}

/** An answer about the attempt that counts. */
function classifyCounted(
  payment: AnsweredPayment,
  order: AttemptOrder,
  response: SchemeResponse,
): PaymentDecision {
  const { status } = payment;
  if (response.status === "charged_back") {
    return hasReturned(payment) || !PAYMENT_TRANSITIONS[status].charge_back ? NOTHING : pull("charge_back");
  }
  if (response.status === "failed") {
    if (status === "submitted") return pull(response.is_retriable ? "fail_for_now" : "fail");
    // The failure that was taken back: an old message, or the bank changed its mind again.
    if (status === "paid" && order.corrected_code === response.code)
      return flagged("failed_after_correction");
    const is_final = status === "retry_scheduled" && !response.is_retriable;
    return status === "paid" || is_final ? pull("fail") : NOTHING;
  }
  if (status === "paid") return settles(order, response);
  return hasReturned(payment) ? flagged("paid_after_return") : pull("pay");
}

/** An answer about another attempt: one before that counted as failed, or one that was sent while it was paid. */
function classifyUncounted(
  payment: AnsweredPayment,
  order: AttemptOrder,
  response: SchemeResponse,
): PaymentDecision {
  const has_failed = order.status === "failed";
  const may_move = ["retry_scheduled", "failed", "cancelled", "skipped"].includes(payment.status);
  if (response.status === "failed") return has_failed ? NOTHING : { ...NOTHING, order: "failed" };
  if (response.status === "charged_back") {
    if (!has_failed) return { ...NOTHING, order: "failed" };
    if (hasReturned(payment)) return NOTHING;
    return may_move ? pull("charge_back") : flagged("earlier_attempt_returned");
  }
  if (order.status === "succeeded") return settles(order, response);
  if (payment.status === "paid") return { ...flagged("paid_twice"), order: "paid" };
  if (hasReturned(payment)) return { ...flagged("paid_after_return"), order: "paid" };
  // Another attempt is on its way by now, and may be paid too.
  return may_move ? pull("pay") : { ...flagged("retry_was_sent"), trigger: "pay" };
}

/** Of money that moved: that it stays, unless it only says again that it moved, which a debit awaited first. */
function settles({ awaits }: AttemptOrder, { answers }: SchemeResponse): PaymentDecision {
  const is_again = answers === "payment" || answers === "first";
  return awaits === "settlement" && !is_again ? { ...NOTHING, order: "settled" } : NOTHING;
}
