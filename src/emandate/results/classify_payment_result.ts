import type { FlagReason } from "../flags/model.ts";
import type { OrderStatus } from "../orders/model.ts";
import type { SchemeResult } from "../scheme/connector.ts";
import type { MandatePayment } from "../payments/model.ts";
import { PAYMENT_TRANSITIONS, type PaymentTrigger } from "../payments/rules.ts";

// Results of debits, in whichever order they come. Decision 0135.

/** The part of an attempt's order that classifies a result. */
export interface AttemptOrder {
  readonly order_no: string;
  readonly status: OrderStatus;
  readonly awaits: string | null;
  /** The codes of its earlier failures, apart by spaces. */
  readonly corrected_code: string | null;
}

/** The part of a payment that classifies a result; `order_no` names the paid attempt, else the last. */
export type ClassifiedPayment = Pick<MandatePayment, "status" | "order_no" | "paid_at">;

/** The part of a result that is classified. */
export type SchemeResponse = Pick<SchemeResult, "status" | "code" | "is_retriable" | "answers">;

/** The transitions of a payment that a result can cause. */
export type ResultTrigger = Exclude<PaymentTrigger, "submit" | "cancel" | "skip">;

/** The effect of a result: on the payment, on its order alone, and as a flag. */
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
 * Classifies a result; `other` is the attempt that counts should this one fail. One that agrees with the records on
 * where the money is does nothing; any other is applied, or flagged where it cannot be: none is ignored.
 */
export function classifyPaymentResult(
  payment: ClassifiedPayment,
  order: AttemptOrder,
  response: SchemeResponse,
  other?: Pick<AttemptOrder, "status">,
): PaymentDecision {
  if (response.status === "pending") return NOTHING;
  return payment.order_no === order.order_no
    ? classifyCounted(payment, order, response, other)
    : classifyUncounted(payment, order, response);
}

/** Of the other attempts of a payment the one that counts where the paid one fails: money moved, or may yet move. */
export function nextCounted<T extends Pick<AttemptOrder, "status">>(others: readonly T[]): T | undefined {
  return (
    others.find(({ status }) => status === "succeeded") ?? others.find(({ status }) => status !== "failed")
  );
}

/** Stands for the code of a failure that came without one. */
const NO_CODE = "-";

/** Whether an order has had such a failure before its last answer. */
export function hasFailedBy(
  { corrected_code }: Pick<AttemptOrder, "corrected_code">,
  code: string | null,
): boolean {
  return corrected_code?.split(" ").includes(code ?? NO_CODE) === true;
}

/** The codes of an order's earlier failures, with one more: any of them may come again, in an old file. */
export function withFailure(order: Pick<AttemptOrder, "corrected_code">, code: string | null): string {
  const codes = order.corrected_code?.split(" ") ?? [];
  return [...new Set([...codes, code ?? NO_CODE])].join(" ");
}

/** Whether the money had moved and came back. */
function hasReturned({ status, paid_at }: ClassifiedPayment): boolean {
  return status === "charged_back" || (status === "failed" && paid_at !== null);
}

/** A result of the attempt that counts. */
function classifyCounted(
  payment: ClassifiedPayment,
  order: AttemptOrder,
  response: SchemeResponse,
  other: Pick<AttemptOrder, "status"> | undefined,
): PaymentDecision {
  const { status } = payment;
  if (response.status === "charged_back") {
    // Also of one that failed late: it counts towards max_no_debit, as a failed one does not.
    return PAYMENT_TRANSITIONS[status].charge_back ? pull("charge_back") : NOTHING;
  }
  if (response.status === "failed") {
    if (status === "submitted") return pull(response.is_retriable ? "fail_for_now" : "fail");
    // A failure that was corrected: an old message, or the bank changed its mind again.
    if (status === "paid" && hasFailedBy(order, response.code)) return flagged("failed_after_correction");
    if (status === "paid" && other) return pull(other.status === "succeeded" ? "keep_other" : "await_other");
    const is_final = status === "retry_scheduled" && !response.is_retriable;
    return status === "paid" || is_final ? pull("fail") : NOTHING;
  }
  if (status === "paid") return settles(order, response);
  return hasReturned(payment) ? flagged("paid_after_return") : pull("pay");
}

/** A result of another attempt: an earlier one that had failed, or one sent although an earlier one was paid. */
function classifyUncounted(
  payment: ClassifiedPayment,
  order: AttemptOrder,
  response: SchemeResponse,
): PaymentDecision {
  const has_failed = order.status === "failed";
  const may_move = ["retry_scheduled", "failed", "cancelled", "skipped"].includes(payment.status);
  if (response.status === "failed") return has_failed ? NOTHING : { ...NOTHING, order: "failed" };
  if (response.status === "charged_back") {
    if (!has_failed) return { ...flagged("earlier_attempt_returned"), order: "failed" };
    return may_move ? pull("charge_back") : flagged("earlier_attempt_returned");
  }
  if (order.status === "succeeded") return settles(order, response);
  if (payment.status === "paid") return { ...flagged("paid_twice"), order: "paid" };
  // One that failed late is paid by this attempt: a failed one would let the period be debited again.
  if (hasReturned(payment) && payment.status === "failed")
    return { ...flagged("paid_after_return"), trigger: "pay" };
  if (hasReturned(payment)) return { ...flagged("paid_after_return"), order: "paid" };
  // Another attempt is on its way by now, and may be paid too.
  return may_move ? pull("pay") : { ...flagged("retry_was_sent"), trigger: "pay" };
}

/** Settlement of money that moved; a result that only repeats the payment settles nothing. */
function settles({ awaits }: AttemptOrder, { answers }: SchemeResponse): PaymentDecision {
  const is_again = answers === "payment" || answers === "first";
  return awaits === "settlement" && !is_again ? { ...NOTHING, order: "settled" } : NOTHING;
}
