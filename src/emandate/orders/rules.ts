import { LIMITS } from "../../core/limits.ts";
import { instant } from "../../core/time.ts";
import type { ConnectorName } from "../mandates/model.ts";
import type { SchemeResult } from "../scheme/connector.ts";
import type { OrderAwaits, OrderKind, OrderStatus } from "./model.ts";

/** What an order awaits first. */
export const FIRST_AWAITED: Record<OrderKind, OrderAwaits> = {
  enrolment: "authorization",
  amendment: "confirmation",
  termination: "confirmation",
  debit: "payment",
};

/** When the scheme is asked, counted from when something is awaited: 5, 15 and 60 minutes, then each hour. */
const FIRST_MINUTES = [5, 15];
const HOUR_MS = 3_600_000;
/** The sandbox acts within five seconds of each step, where the customer's name drives it. */
const SANDBOX_MS = 2_000;

/**
 * When the scheme is next asked of an order, or null when nobody asks any more, after 48 hours.
 * See docs/emandate.md#collection.
 */
export function nextQueryAt(
  connector: ConnectorName,
  awaits_since: Temporal.Instant,
  now: Temporal.Instant,
): Temporal.Instant | null {
  const passed = now.epochMilliseconds - awaits_since.epochMilliseconds;
  const early = [
    ...(connector === "sandbox" ? [SANDBOX_MS] : []),
    ...FIRST_MINUTES.map((minutes) => minutes * 60_000),
  ];
  const next = early.find((ms) => ms > passed) ?? Math.max(1, Math.floor(passed / HOUR_MS) + 1) * HOUR_MS;
  if (next > LIMITS.mandate_order_hours * HOUR_MS) return null;
  return awaits_since.add({ milliseconds: next });
}

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
