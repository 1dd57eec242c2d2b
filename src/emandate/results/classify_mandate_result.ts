import { LIMITS } from "../limits.ts";
import { instant } from "../../core/time.ts";
import type { OrderStatus } from "../orders/model.ts";
import { FIRST_AWAITED, nextQueryAt } from "../orders/rules.ts";
import { resultWithoutCode } from "../scheme/response_codes.ts";
import type { ConnectorName, OrderAwaits, OrderKind, SchemeResult } from "../scheme/connector.ts";

/** The part of an order that classifies its results. */
export interface OrderState {
  readonly kind: OrderKind;
  readonly status: OrderStatus;
  readonly awaits: OrderAwaits | null;
  readonly awaits_since: string;
}

/** Whether a customer has not authorized within 24 hours. See docs/emandate.md#states. */
function isAuthorizationOver({ awaits, awaits_since }: OrderState, now: Temporal.Instant): boolean {
  const until = instant(awaits_since).add({ hours: LIMITS.mandate_authorization_hours });
  return awaits === "authorization" && Temporal.Instant.compare(now, until) >= 0;
}

/** The steps of orders, in the order in which the scheme answers them. */
const STEPS: readonly OrderAwaits[] = ["authorization", "approval", "confirmation", "payment", "settlement"];

/**
 * The step that a result answers. That a mandate was ended confirms an order to end it; null where the order awaits
 * nothing and the result names no step.
 */
export function answeredBy(
  { kind, awaits }: Pick<OrderState, "kind" | "awaits">,
  { answers }: Pick<SchemeResult, "answers">,
): OrderAwaits | "end" | null {
  if (answers === "end" && kind === "termination") return "confirmation";
  return answers === "first" ? FIRST_AWAITED[kind] : (answers ?? awaits);
}

/**
 * Classifies a result against the step that its order awaits: `next` answers it; `out_of_order` answers a later step,
 * and so this one too; `end` says that the mandate has ended; null changes nothing, being no news.
 */
export function classifyResult(
  order: OrderState,
  result: SchemeResult,
): "next" | "out_of_order" | "end" | null {
  const answered = answeredBy(order, result);
  if (answered === "end") return result.status === "ok" ? "end" : null;
  if (result.status === "pending" || order.awaits === null || answered === null) return null;
  const difference = STEPS.indexOf(answered) - STEPS.indexOf(order.awaits);
  if (difference === 0) return "next";
  return difference > 0 ? "out_of_order" : null;
}

const AUTHORIZATION_TIMED_OUT = resultWithoutCode(
  "failed",
  `Not authorized within ${LIMITS.mandate_authorization_hours} hours`,
);
const CONFIRMATION_TIMED_OUT = resultWithoutCode(
  "failed",
  `Not confirmed within ${LIMITS.mandate_order_hours} hours`,
);

/**
 * A result, or the timeout that takes its place: a customer must authorize within a day, and an amendment or a
 * termination must be confirmed while it is polled. A bank that says it is working on it may take its time, and
 * while the scheme cannot be reached nothing is known. Decision 0136.
 */
export function resultInTime(
  order: OrderState & { connector: ConnectorName },
  result: SchemeResult,
  now: Temporal.Instant,
): SchemeResult {
  if (result.status !== "pending" && result.is_about_message !== true) return result;
  if (result.is_idle === true && isAuthorizationOver(order, now)) return AUTHORIZATION_TIMED_OUT;
  const is_over = nextQueryAt(order.connector, instant(order.awaits_since), now) === null;
  return order.awaits === "confirmation" && is_over ? CONFIRMATION_TIMED_OUT : result;
}
