import { dayAt } from "../working_days.ts";
import { iso } from "../../core/time.ts";
import type { Tx } from "../../store/store.ts";
import { findConfig } from "../merchant_config/queries.ts";
import { recordEvents } from "../../webhooks/events/queries.ts";
import { type NewFlag, raiseFlags, resolveAnswered } from "../flags/queries.ts";
import {
  listOrders,
  listOrdersOfPayments,
  type MandateOrder,
  type OrderChange,
  type OrderMove,
  updateOrders,
} from "../orders/queries.ts";
import { transitionMandate } from "../mandates/transition.ts";
import { findStoredMandate } from "../mandates/queries.ts";
import { isInForce } from "../mandates/rules.ts";
import type { SchemeResult } from "../scheme/connector.ts";
import {
  classifyPaymentResult,
  hasFailedBy,
  nextCounted,
  type ResultTrigger,
  type PaymentDecision,
  withFailure,
} from "./classify_payment_result.ts";
import * as queries from "../payments/queries.ts";
import {
  dueAt,
  FAILED_STATUSES,
  failuresInARow,
  PAYMENT_TRANSITIONS,
  type PaymentOutcome,
  paymentEvent,
  type RetryTerms,
  retryDay,
} from "../payments/rules.ts";
import { debitPeriod } from "../schedule.ts";

/** An order with its result. */
export interface OrderResult {
  readonly order: MandateOrder;
  readonly result: SchemeResult;
}

/** The outcome of applying results, as the ids of their orders; one may be in both. */
export interface Applied {
  /** Orders that changed. */
  readonly changed: ReadonlySet<number>;
  /** Orders that have a new flag. */
  readonly flagged: ReadonlySet<number>;
}

/**
 * Applies results to the payments of debits, one result for each order: a payment is paid, failed, scheduled for a
 * retry or charged back, with its event. However often and in whichever order results come, each has its effect once;
 * one that contradicts an earlier one corrects it, or is flagged. A payment that failed for good counts towards the
 * suspension of its mandate, in the same transaction. Decisions 0097, 0135.
 */
export async function applyPaymentResults(tx: Tx, results: readonly OrderResult[]): Promise<Applied> {
  const news = results.filter(
    ({ order, result }) => order.payment_id !== null && result.status !== "pending",
  );
  const terms = news.some(({ result }) => result.status !== "ok") ? await findConfig(tx) : null;
  const changed = new Set<number>();
  const flagged = new Set<number>();
  for (const pass of onePerMandate(news)) {
    const done = await applyPass(tx, pass, terms);
    for (const id of done.changed) changed.add(id);
    for (const id of done.flagged) flagged.add(id);
  }
  return { changed, flagged };
}

/** Partitions results so that each pass has at most one per mandate: earlier ones count for later ones. */
function onePerMandate(results: readonly OrderResult[]): OrderResult[][] {
  const passes: OrderResult[][] = [];
  const counts = new Map<number, number>();
  for (const one of results) {
    const earlier = counts.get(one.order.mandate_id) ?? 0;
    counts.set(one.order.mandate_id, earlier + 1);
    (passes[earlier] ??= []).push(one);
  }
  return passes;
}

/** The transition of a payment that a result causes. */
interface Transition extends queries.PaymentMove {
  readonly payment: queries.PaymentWithMandate;
  readonly trigger: ResultTrigger;
  readonly result: SchemeResult;
  /** The change of the attempt's order. */
  readonly attempt: OrderMove & { readonly order: MandateOrder };
}

/** The results with their orders as they are now: another answer may have come since they were read. */
async function withOrdersOfNow(tx: Tx, results: readonly OrderResult[]): Promise<OrderResult[]> {
  const orders = await listOrders(
    tx,
    results.map(({ order }) => order.id),
  );
  const of_now = new Map(orders.map((order) => [order.id, order]));
  return results.map(({ order, result }) => ({ order: of_now.get(order.id) ?? order, result }));
}

/** Keeps the codes of further failures of orders that have failed: nothing else comes of them. */
async function noteFailures(tx: Tx, results: readonly OrderResult[]): Promise<void> {
  const notes = results.flatMap(({ order, result: { status, code } }): OrderMove[] =>
    status !== "failed" ||
    order.status !== "failed" ||
    code === order.response_code ||
    hasFailedBy(order, code)
      ? []
      : [{ order, change: { corrected_code: withFailure(order, code) } }],
  );
  await updateOrders(tx, notes);
}

/** Applies one pass of results, each of another mandate. */
async function applyPass(
  tx: Tx,
  received: readonly OrderResult[],
  terms: RetryTerms | null,
): Promise<Applied> {
  const results = await withOrdersOfNow(tx, received);
  const ids = results.flatMap(({ order }) => order.payment_id ?? []);
  const payments = new Map((await queries.listWithMandates(tx, ids)).map((one) => [one.id, one]));
  const others = await listOthers(tx, results, payments);
  const alone: OrderMove[] = [];
  const transitions: Transition[] = [];
  const flags: NewFlag[] = [];
  await noteFailures(tx, results);
  for (const { order, result } of results) {
    const payment = payments.get(order.payment_id ?? 0);
    if (!payment) continue;
    const other = others.get(order.id);
    const { trigger, order: becomes, flag } = classifyPaymentResult(payment, order, result, other);
    if (becomes !== null) alone.push({ order, change: orderChange(becomes, order, result) });
    if (trigger !== null)
      transitions.push(...transitionOf(trigger, { order, result, other }, payment, tx.now, terms));
    if (flag !== null) flags.push({ order, reason: flag, response: result });
  }
  const moved = await queries.movePayments(tx, transitions);
  const has_moved = new Set(moved.map(({ id }) => id));
  const done = transitions.filter(({ payment }) => has_moved.has(payment.id));
  const changed = await updateOrders(tx, [...alone, ...done.map(({ attempt }) => attempt)]);
  const same = new Set(
    done.flatMap(({ payment, change }) => (payment.status === change.status ? payment.id : [])),
  );
  await recordEvents(tx, moved.filter(({ id }) => !same.has(id)).map(paymentEvent));
  await suspendFailing(tx, done, terms);
  flags.push(...(await beyondLimit(tx, done)));
  await resolveAnswered(tx, [...changed]);
  return { changed, flagged: await raiseFlags(tx, flags) };
}

/** For each order whose payment has other attempts, the one that counts where this one fails. */
async function listOthers(
  tx: Tx,
  results: readonly OrderResult[],
  payments: ReadonlyMap<number, queries.PaymentWithMandate>,
): Promise<Map<number, MandateOrder>> {
  // Only a payment that an earlier attempt paid can have another that has not failed.
  const several = results.filter(({ order, result }) => {
    const payment = payments.get(order.payment_id ?? 0);
    return result.status === "failed" && payment?.status === "paid" && payment.attempt_count > 1;
  });
  const attempts = Map.groupBy(
    await listOrdersOfPayments(
      tx,
      several.map(({ order }) => order.payment_id ?? 0),
    ),
    ({ payment_id }) => payment_id,
  );
  return new Map(
    several.flatMap(({ order: { id, payment_id } }) => {
      const other = nextCounted((attempts.get(payment_id) ?? []).filter((one) => one.id !== id));
      return other ? [[id, other]] : [];
    }),
  );
}

/** The change of an order whose payment does not follow it. */
function orderChange(
  becomes: NonNullable<PaymentDecision["order"]>,
  order: MandateOrder,
  result: SchemeResult,
): OrderChange {
  if (becomes === "settled") return { awaits: null };
  const { code: response_code, message: response_message, scheme_txn_id } = result;
  const response = { response_code, response_message, ...(scheme_txn_id === null ? {} : { scheme_txn_id }) };
  return becomes === "paid"
    ? { ...response, ...correction(order), status: "succeeded", awaits: "settlement" }
    : { ...response, status: "failed", awaits: null };
}

/** What an order that had failed keeps of that when another answer takes its place. */
function correction(order: MandateOrder): OrderChange {
  return order.status === "failed" ? { corrected_code: withFailure(order, order.response_code) } : {};
}

/** Flags for late payments that bring a period above what the mandate allows, since others were made meanwhile. */
async function beyondLimit(tx: Tx, transitions: readonly Transition[]): Promise<NewFlag[]> {
  const flags: NewFlag[] = [];
  for (const { payment, trigger, attempt, result } of transitions) {
    if (trigger !== "pay" || payment.status === "submitted") continue;
    const { id, max_no_debit } = payment.mandate;
    const { frequency } = payment;
    const period = { ...debitPeriod(frequency, Temporal.PlainDate.from(payment.debit_date)), frequency };
    const debits = await queries.countDebits(tx, [id], period);
    if ((debits.get(id) ?? 0) <= Number(max_no_debit)) continue;
    flags.push({ order: attempt.order, reason: "paid_beyond_limit", response: result });
  }
  return flags;
}

/** The transition of a payment by a result; none where its state does not allow it any more. */
function transitionOf(
  result_trigger: ResultTrigger,
  { order, result, other }: OrderResult & { other: MandateOrder | undefined },
  payment: queries.PaymentWithMandate,
  now: Temporal.Instant,
  terms: RetryTerms | null,
): Transition[] {
  const { trigger, next_attempt_at } = retried(result_trigger, payment, now, terms);
  const status = PAYMENT_TRANSITIONS[payment.status][trigger];
  if (status === undefined) return [];
  const { code: response_code, message: response_message } = result;
  const response = {
    response_code,
    response_message,
    scheme_txn_id: result.scheme_txn_id ?? payment.scheme_txn_id,
  };
  const attempt = { order, change: { ...response, ...correction(order), ...ORDER_CHANGES[trigger] } };
  if (other && (trigger === "keep_other" || trigger === "await_other")) {
    const change = { status, ...countedInstead(other, payment.paid_at) };
    return [{ payment, trigger, change, attempt, result }];
  }
  // A later failure counts anew, whatever was forgiven before.
  const paid = trigger === "pay" ? { paid_at: iso(now), forgiven_at: null } : {};
  const is_ours = trigger === "fail" && result.is_about_message === true;
  const forgiven = is_ours ? { forgiven_at: iso(now) } : {};
  // From now on this attempt is the one that counts.
  const change = { status, next_attempt_at, order_no: order.order_no, ...response, ...paid, ...forgiven };
  return [{ payment, trigger, change, attempt, result }];
}

/** What a payment takes over from another attempt of it that counts from now on. */
function countedInstead(
  { order_no, response_code, response_message, scheme_txn_id, status }: MandateOrder,
  paid_at: string | null,
) {
  const paid = { paid_at: status === "succeeded" ? paid_at : null };
  return { order_no, response_code, response_message, scheme_txn_id, ...paid };
}

/** Turns a failure for now into the next attempt, or into a final one where no attempt is left. */
function retried(
  trigger: ResultTrigger,
  payment: queries.PaymentWithMandate,
  now: Temporal.Instant,
  terms: RetryTerms | null,
): { trigger: ResultTrigger; next_attempt_at: string | null } {
  if (trigger !== "fail_for_now" || terms === null) return { trigger, next_attempt_at: null };
  const { mandate } = payment;
  const day = isInForce(mandate.status) ? retryDay(mandate, payment, dayAt(now), terms) : null;
  return day === null ? { trigger: "fail", next_attempt_at: null } : { trigger, next_attempt_at: dueAt(day) };
}

/** The change of an attempt's order, by the trigger. */
const ORDER_CHANGES: Record<ResultTrigger, OrderChange> = {
  pay: { status: "succeeded", awaits: "settlement" },
  fail: { status: "failed", awaits: null },
  fail_for_now: { status: "failed", awaits: null },
  await_other: { status: "failed", awaits: null },
  keep_other: { status: "failed", awaits: null },
  charge_back: { status: "failed", awaits: null },
};

/** Suspends mandates of which too many payments in a row have failed for good. */
async function suspendFailing(
  tx: Tx,
  transitions: readonly Transition[],
  terms: RetryTerms | null,
): Promise<void> {
  // A payment that had failed is counted already, and our own mistakes are not the customer's.
  const lost = transitions.flatMap(({ payment, change }) =>
    FAILED_STATUSES.some((one) => one === change.status) && payment.status !== "failed" && !change.forgiven_at
      ? payment
      : [],
  );
  if (terms === null || lost.length === 0) return;
  const most = terms.suspend_after_failures;
  const mandate_ids = lost.map(({ mandate_id }) => mandate_id);
  const outcomes =
    most === 1
      ? new Map<number, PaymentOutcome[]>()
      : Map.groupBy(await queries.listOutcomes(tx, mandate_ids), (one) => one.mandate_id);
  for (const { id, mandate_id } of lost.toSorted((a, b) => a.mandate_id - b.mandate_id)) {
    const failed = most === 1 ? 1 : failuresInARow(outcomes.get(mandate_id) ?? [], id);
    if (failed < most) continue;
    const mandate = await findStoredMandate(tx, mandate_id);
    if (mandate?.status !== "active") continue;
    const reason = failed === 1 ? "A payment failed for good" : `${failed} payments in a row failed for good`;
    await transitionMandate(tx, mandate, "suspend", { reason });
  }
}
