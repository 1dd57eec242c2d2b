import { dayAt } from "../working_days.ts";
import { iso } from "../../core/time.ts";
import type { Tx } from "../../store/store.ts";
import { findConfig } from "../merchant_config/queries.ts";
import { recordEvents } from "../../webhooks/events/queries.ts";
import { type NewFlag, raiseFlags, resolveAnswered } from "../flags/queries.ts";
import { type MandateOrder, type OrderChange, type OrderMove, updateOrders } from "../orders/queries.ts";
import { transitionMandate } from "../mandates/transition.ts";
import { findStoredMandate } from "../mandates/queries.ts";
import { isInForce } from "../mandates/rules.ts";
import type { SchemeResult } from "../scheme/connector.ts";
import {
  classifyPaymentResult,
  type ResultTrigger,
  type PaymentDecision,
} from "./classify_payment_result.ts";
import * as queries from "../payments/queries.ts";
import {
  dueAt,
  failuresInARow,
  PAYMENT_TRANSITIONS,
  type PaymentOutcome,
  paymentEvent,
  type RetryTerms,
  retryDay,
} from "../payments/rules.ts";
import { debitPeriod } from "../schedule.ts";

/** An order and what the scheme said of it. */
export interface OrderResult {
  readonly order: MandateOrder;
  readonly result: SchemeResult;
}

/** What answers came to, by the ids of the orders; one may be in both. */
export interface Applied {
  /** Of these something changed. */
  readonly changed: ReadonlySet<number>;
  /** These were put on the list of what a person must decide. */
  readonly flagged: ReadonlySet<number>;
}

/**
 * What the scheme's answers do to the payments that orders debit, each order answered once: a payment is paid, failed,
 * to be tried again, or charged back, and told of. However often and in whichever order answers come, each has its
 * effect once; one that contradicts what was told before corrects it, or is flagged. A payment that failed for good
 * counts towards the suspension of its mandate, in this transaction. Decisions 0097, 0135.
 */
export async function applyPaymentResults(tx: Tx, results: readonly OrderResult[]): Promise<Applied> {
  const news = results.filter(
    ({ order, result }) => order.payment_id !== null && result.status !== "pending",
  );
  const terms = news.some(({ result }) => result.status !== "ok") ? await findConfig(tx) : null;
  const changed = new Set<number>();
  const flagged = new Set<number>();
  for (const round of onePerMandate(news)) {
    const done = await applyPass(tx, round, terms);
    for (const id of done.changed) changed.add(id);
    for (const id of done.flagged) flagged.add(id);
  }
  return { changed, flagged };
}

/** Parts the answers so that in each part every mandate has one: what came before counts for what comes after. */
function onePerMandate(results: readonly OrderResult[]): OrderResult[][] {
  const parts: OrderResult[][] = [];
  const seen = new Map<number, number>();
  for (const one of results) {
    const round = seen.get(one.order.mandate_id) ?? 0;
    seen.set(one.order.mandate_id, round + 1);
    (parts[round] ??= []).push(one);
  }
  return parts;
}

/** A payment that an answer moves. */
interface Move extends queries.PaymentMove {
  readonly payment: queries.PaymentWithMandate;
  readonly trigger: ResultTrigger;
  readonly result: SchemeResult;
  /** What becomes of the order of the attempt that was answered. */
  readonly attempt: OrderMove & { readonly order: MandateOrder };
}

/** Applies answers about payments of as many mandates. */
async function applyPass(
  tx: Tx,
  results: readonly OrderResult[],
  terms: RetryTerms | null,
): Promise<Applied> {
  const ids = results.flatMap(({ order }) => order.payment_id ?? []);
  const payments = new Map((await queries.listWithMandates(tx, ids)).map((one) => [one.id, one]));
  const alone: OrderMove[] = [];
  const moves: Move[] = [];
  const flags: NewFlag[] = [];
  for (const { order, result } of results) {
    const payment = payments.get(order.payment_id ?? 0);
    if (!payment) continue;
    const { trigger, order: becomes, flag } = classifyPaymentResult(payment, order, result);
    if (becomes !== null) alone.push({ order, change: orderChange(becomes, result) });
    if (trigger !== null) moves.push(...paymentMove(trigger, { order, result }, payment, tx.now, terms));
    if (flag !== null) flags.push({ order, reason: flag, response: result });
  }
  const moved = await queries.movePayments(tx, moves);
  const has_moved = new Set(moved.map(({ id }) => id));
  const done = moves.filter(({ payment }) => has_moved.has(payment.id));
  const changed = await updateOrders(tx, [...alone, ...done.map(({ attempt }) => attempt)]);
  await recordEvents(tx, moved.map(paymentEvent));
  await countOutcomes(tx, done, terms);
  flags.push(...(await beyondLimit(tx, done)));
  await resolveAnswered(tx, [...changed]);
  return { changed, flagged: await raiseFlags(tx, flags) };
}

/** What becomes of an order that its payment does not follow. */
function orderChange(becomes: NonNullable<PaymentDecision["order"]>, result: SchemeResult): OrderChange {
  if (becomes === "settled") return { awaits: null };
  const { code: response_code, message: response_message, scheme_txn_id } = result;
  const response = { response_code, response_message, ...(scheme_txn_id === null ? {} : { scheme_txn_id }) };
  return becomes === "paid"
    ? { ...response, status: "succeeded", awaits: "settlement" }
    : { ...response, status: "failed", awaits: null };
}

/** Debits that were paid after all in a period for which others were made meanwhile, more than the mandate allows. */
async function beyondLimit(tx: Tx, moves: readonly Move[]): Promise<NewFlag[]> {
  const flags: NewFlag[] = [];
  for (const { payment, trigger, attempt, result } of moves) {
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

/** What an answer does to a payment; nothing where it comes too late to. */
function paymentMove(
  result_trigger: ResultTrigger,
  { order, result }: OrderResult,
  payment: queries.PaymentWithMandate,
  now: Temporal.Instant,
  terms: RetryTerms | null,
): Move[] {
  const { trigger, next_attempt_at } = retried(result_trigger, payment, now, terms);
  const status = PAYMENT_TRANSITIONS[payment.status][trigger];
  if (status === undefined) return [];
  const { code: response_code, message: response_message } = result;
  const response = {
    response_code,
    response_message,
    scheme_txn_id: result.scheme_txn_id ?? payment.scheme_txn_id,
  };
  // Should it fail again, that is another failure than one that was forgiven.
  const paid = trigger === "pay" ? { paid_at: iso(now), forgiven_at: null } : {};
  const is_ours = trigger === "fail" && result.is_about_message === true;
  const forgiven = is_ours ? { forgiven_at: iso(now) } : {};
  // From now on the attempt counts that was answered.
  const change = { status, next_attempt_at, order_no: order.order_no, ...response, ...paid, ...forgiven };
  const is_correction = trigger === "pay" && order.status === "failed";
  const corrected = is_correction ? { corrected_code: order.response_code } : {};
  const attempt = { order, change: { ...response, ...corrected, ...ORDER_CHANGES[trigger] } };
  return [{ payment, trigger, change, attempt, result }];
}

/** What a failure comes to: another attempt where there is one left under a mandate in force, else the end. */
function retried(
  trigger: ResultTrigger,
  payment: queries.PaymentWithMandate,
  now: Temporal.Instant,
  terms: RetryTerms | null,
): { trigger: ResultTrigger; next_attempt_at: string | null } {
  if (trigger !== "fail_for_now" || terms === null) return { trigger: trigger, next_attempt_at: null };
  const { mandate } = payment;
  const day = isInForce(mandate.status) ? retryDay(mandate, payment, dayAt(now), terms) : null;
  return day === null
    ? { trigger: "fail", next_attempt_at: null }
    : { trigger: trigger, next_attempt_at: dueAt(day) };
}

/** What each outcome does to the attempt's order. */
const ORDER_CHANGES: Record<ResultTrigger, OrderChange> = {
  pay: { status: "succeeded", awaits: "settlement" },
  fail: { status: "failed", awaits: null },
  fail_for_now: { status: "failed", awaits: null },
  charge_back: { status: "failed", awaits: null },
};

/** What outcomes mean to the mandates: after so many payments in a row that failed for good one is suspended. */
async function countOutcomes(tx: Tx, moves: readonly Move[], terms: RetryTerms | null): Promise<void> {
  // One that had failed is counted already; a mistake of ours is not the customer's.
  const lost = moves.flatMap(({ trigger, payment, change }) =>
    trigger === "pay" || trigger === "fail_for_now" || payment.status === "failed" || change.forgiven_at
      ? []
      : payment,
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
