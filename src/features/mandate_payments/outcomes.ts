import type { Scope } from "../../core/access.ts";
import { dayAt } from "../../core/kuala_lumpur.ts";
import { iso } from "../../core/time.ts";
import type { Queries } from "../../store/store.ts";
import { findConfig } from "../emandate_config/queries.ts";
import { recordEvents } from "../events/queries.ts";
import { type MandateOrder, type OrderChange, updateOrder } from "../mandate_orders/queries.ts";
import { moveMandate } from "../mandates/moves.ts";
import { findStoredMandate } from "../mandates/queries.ts";
import { isInForce } from "../mandates/rules.ts";
import type { SchemeResult } from "../mandates/schemes/scheme.ts";
import * as queries from "./queries.ts";
import {
  dueAt,
  PAYMENT_MOVES,
  type PaymentTrigger,
  paymentEvent,
  type RetryTerms,
  retryDay,
  triggerOf,
} from "./rules.ts";

/**
 * What the scheme's answer does to the payment that an order debits: it is paid, failed, to be tried again, or
 * charged back, and told of. However often and in whichever order answers come, each has its effect once, and only
 * those of the last attempt have one. A payment that failed for good counts towards the suspension of its mandate,
 * in this transaction. Returns whether anything changed: never for a pending answer. Decision 0097.
 */
export async function applyPaymentResult(
  q: Queries,
  scope: Scope,
  now: Temporal.Instant,
  order: MandateOrder,
  result: SchemeResult,
): Promise<boolean> {
  const { payment_id } = order;
  if (payment_id === null || result.status === "pending") return false;
  const [payment] = await queries.listWithMandates(q, scope, [payment_id]);
  const asked = payment && triggerOf(payment, order, result);
  if (!payment || !asked) return false;
  if (asked === "settle") return updateOrder(q, scope, now, order, { awaits: null });

  const terms = asked === "pay" ? null : await findConfig(q, scope);
  const { trigger, next_attempt_at } = retried(asked, payment, now, terms);
  const status = PAYMENT_MOVES[payment.status][trigger];
  if (status === undefined) return false;
  const { code: response_code, message: response_message } = result;
  const scheme_txn_id = result.scheme_txn_id ?? payment.scheme_txn_id;
  const said = { response_code, response_message, scheme_txn_id };
  const paid = trigger === "pay" ? { paid_at: iso(now) } : {};
  const moved = await queries.movePayment(q, scope, now, payment, {
    status,
    next_attempt_at,
    ...said,
    ...paid,
  });
  if (!moved) return false;
  await updateOrder(q, scope, now, order, { ...said, ...ORDER_CHANGES[trigger] });
  await recordEvents(q, scope, now, [paymentEvent(moved)]);
  await countOutcome(q, scope, now, payment.mandate, trigger, terms);
  return true;
}

type ResultTrigger = Exclude<PaymentTrigger, "submit" | "cancel" | "skip">;

/** What a failure comes to: another attempt where there is one left under a mandate in force, else the end. */
function retried(
  asked: ResultTrigger,
  payment: queries.PaymentWithMandate,
  now: Temporal.Instant,
  terms: RetryTerms | null,
): { trigger: ResultTrigger; next_attempt_at: string | null } {
  if (asked !== "fail_for_now" || terms === null) return { trigger: asked, next_attempt_at: null };
  const { mandate } = payment;
  const day = isInForce(mandate.status) ? retryDay(mandate, payment, dayAt(now), terms) : null;
  return day === null
    ? { trigger: "fail", next_attempt_at: null }
    : { trigger: asked, next_attempt_at: dueAt(day) };
}

/** What each outcome does to the attempt's order. */
const ORDER_CHANGES: Record<ResultTrigger, OrderChange> = {
  pay: { status: "succeeded", awaits: "settlement" },
  fail: { status: "failed", awaits: null },
  fail_for_now: { status: "failed", awaits: null },
  charge_back: { status: "failed", awaits: null },
};

/** What an outcome means to the mandate: paid, without terms, forgives what failed before; after so many payments in a row that failed for good it is suspended. */
async function countOutcome(
  q: Queries,
  scope: Scope,
  now: Temporal.Instant,
  { id, failed_payments }: queries.PaymentWithMandate["mandate"],
  trigger: ResultTrigger,
  terms: RetryTerms | null,
): Promise<void> {
  if (trigger === "fail_for_now") return;
  if (terms === null) {
    if (failed_payments > 0) await queries.forgetFailedPayments(q, scope, now, id);
    return;
  }
  const failed = await queries.countFailedPayment(q, scope, now, id);
  const mandate = await findStoredMandate(q, scope, id);
  if (mandate?.status !== "active" || failed < terms.suspend_after_failures) return;
  const reason = failed === 1 ? "A payment failed for good" : `${failed} payments in a row failed for good`;
  await moveMandate(q, scope, now, mandate, "suspend", { reason });
}
