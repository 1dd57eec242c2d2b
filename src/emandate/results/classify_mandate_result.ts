import { LIMITS } from "../limits.ts";
import { instant } from "../../core/time.ts";
import type { OrderStatus } from "../orders/model.ts";
import { FIRST_AWAITED, nextQueryAt } from "../orders/rules.ts";
import type { ConnectorName, OrderAwaits, OrderKind, SchemeResult } from "../scheme/connector.ts";

/** What of an order its answers are judged by. */
export interface OrderState {
  readonly kind: OrderKind;
  readonly status: OrderStatus;
  readonly awaits: OrderAwaits | null;
  readonly awaits_since: string;
}

/** Whether a customer has not authorized within 24 hours, and so will not. See docs/emandate.md#states. */
function isUnanswered({ awaits, awaits_since }: OrderState, now: Temporal.Instant): boolean {
  const until = instant(awaits_since).add({ hours: LIMITS.mandate_authorization_hours });
  return awaits === "authorization" && Temporal.Instant.compare(now, until) >= 0;
}

/** In which order the scheme answers what an order awaits. */
const ORDER_OF_ANSWERS: readonly OrderAwaits[] = [
  "authorization",
  "approval",
  "confirmation",
  "payment",
  "settlement",
];

/**
 * What a result answers. That a mandate was ended answers an order to end it; null where the order awaits nothing and
 * the result does not say.
 */
export function answeredBy(
  { kind, awaits }: Pick<OrderState, "kind" | "awaits">,
  { answers }: Pick<SchemeResult, "answers">,
): OrderAwaits | "end" | null {
  if (answers === "end" && kind === "termination") return "confirmation";
  return answers === "first" ? FIRST_AWAITED[kind] : (answers ?? awaits);
}

/**
 * What an answer does to an order: `next` answers what it awaits; `ahead` answers what comes after, so that what
 * it awaits is answered as well; `end` tells that the mandate has ended; null where it changes nothing, since it
 * says nothing or was heard before.
 */
export function classifyResult(
  order: OrderState,
  result: SchemeResult,
): "next" | "out_of_order" | "end" | null {
  const answered = answeredBy(order, result);
  if (answered === "end") return result.status === "ok" ? "end" : null;
  if (result.status === "pending" || order.awaits === null || answered === null) return null;
  const difference = ORDER_OF_ANSWERS.indexOf(answered) - ORDER_OF_ANSWERS.indexOf(order.awaits);
  if (difference === 0) return "next";
  return difference > 0 ? "out_of_order" : null;
}

/** What is taken for the answer where there was none. */
const silence = (message: string): SchemeResult => ({
  status: "failed",
  answers: null,
  code: null,
  message,
  is_retriable: false,
  scheme_txn_id: null,
});
const AUTHORIZATION_TIMED_OUT = silence(`Not authorized within ${LIMITS.mandate_authorization_hours} hours`);
const CONFIRMATION_TIMED_OUT = silence(`Not confirmed within ${LIMITS.mandate_order_hours} hours`);

/**
 * What an answer comes to at its time: a customer who has not come within a day will not, and a change or an end
 * that nobody confirms while it is asked for is given up. A bank that says it is at it may take its time, and while
 * the scheme can't be asked nothing is known. Decision 0136.
 */
export function answerInTime(
  order: OrderState & { connector: ConnectorName },
  result: SchemeResult,
  now: Temporal.Instant,
): SchemeResult {
  if (result.status !== "pending" && result.is_about_message !== true) return result;
  if (result.is_idle === true && isUnanswered(order, now)) return AUTHORIZATION_TIMED_OUT;
  const is_over = nextQueryAt(order.connector, instant(order.awaits_since), now) === null;
  return order.awaits === "confirmation" && is_over ? CONFIRMATION_TIMED_OUT : result;
}
