import type { Context } from "../../app/context.ts";
import type { Scope } from "../../core/access.ts";
import type { Tx } from "../../store/store.ts";
import { recordEvents } from "../../webhooks/events/queries.ts";
import { insertOrders, listSchemeOrders, type MandateOrder } from "../orders/queries.ts";
import { isFinal } from "../mandates/rules.ts";
import type { ConnectorName, SchemeConnector } from "../scheme/connector.ts";
import { cancelUnpayable, MISSED, type Refusal } from "./cancel_unpayable.ts";
import type { MandatePayment, PaymentStatus } from "./model.ts";
import { applyPaymentResults, type OrderResult } from "../results/apply_to_payment.ts";
import * as queries from "./queries.ts";
import { debitOrderNo, debitProblem, isMissed, OPEN_STATUSES, paymentEvent } from "./rules.ts";
import { debitPeriod } from "../schedule.ts";

/**
 * How a debit leaves the house: one transaction checks it again and writes down that it is submitted, with the
 * number of its order; then the scheme is called, once; then its answers are written down. A crash in between
 * leaves an order of which the scheme is asked what became of it, and that is never sent again. Decision 0096.
 */

/** What submitting some payments came to. */
export interface Submitted {
  readonly orders: readonly MandateOrder[];
  /** Those that may not be made any more. */
  readonly refused: readonly MandatePayment[];
}

/** How payments are submitted: on which day, by which run if by one, and from which states. */
export interface SubmitOptions {
  readonly today: Temporal.PlainDate;
  readonly collection_run_id: number | null;
  readonly from?: readonly PaymentStatus[];
}

/**
 * Submits the payments that still wait, as debits of the day. Those whose mandate rests go on waiting; those
 * whose period is over, or that the mandate does not allow, are given up.
 */
export async function submitPayments(
  tx: Tx,
  ids: readonly number[],
  { today, collection_run_id, from = OPEN_STATUSES }: SubmitOptions,
): Promise<Submitted> {
  // Those that another run submitted since they were listed are none of ours.
  const listed = await queries.listWithMandates(tx, ids);
  const payments = listed.filter(({ status }) => from.some((open) => open === status));
  // What was skipped is collected again because somebody asks for it: its own period is long over.
  const skipped = new Set(payments.flatMap(({ id, status }) => (status === "skipped" ? id : [])));
  const { payable, unpayable } = await partitionPayable(tx, payments, today, skipped);
  const submitted = await queries.submitWaitingPayments(
    tx,
    payable.map(({ id }) => id),
    { debit_date: today.toString(), from },
  );
  const connectors = new Map(payable.map(({ id, mandate }) => [id, mandate.connector]));
  const orders = await insertOrders(
    tx,
    submitted.map(({ id: payment_id, mandate_id, amount, attempt_count: attempt_no }) => ({
      kind: "debit",
      mandate_id,
      payment_id,
      attempt_no,
      collection_run_id,
      order_no: debitOrderNo(payment_id, attempt_no),
      connector: connectors.get(payment_id) ?? "sandbox",
      amount,
    })),
  );
  const refused = await cancelUnpayable(tx, unpayable);
  await recordEvents(tx, [...submitted, ...refused].map(paymentEvent));
  return { orders, refused };
}

/**
 * Parts those that may go from those that may not, in order: each that goes counts for those after it. Everything
 * about a payment goes by the frequency under which it was made. Of those in `request` the period is not asked for.
 */
export async function partitionPayable(
  tx: Tx,
  payments: readonly queries.PaymentWithMandate[],
  today: Temporal.PlainDate,
  asked: ReadonlySet<number> = new Set(),
): Promise<{ payable: queries.PaymentWithMandate[]; unpayable: Refusal[] }> {
  const payable: queries.PaymentWithMandate[] = [];
  const unpayable: Refusal[] = [];
  for (const [frequency, batch] of Map.groupBy(payments, (payment) => payment.frequency)) {
    const mandate_ids = [...new Set(batch.map(({ mandate_id }) => mandate_id))];
    const period = { ...debitPeriod(frequency, today), frequency };
    const except = batch.map(({ id }) => id);
    const debit_counts = await queries.countDebits(tx, mandate_ids, period, { except });
    for (const payment of batch) {
      const { id, mandate, mandate_id } = payment;
      const debits = debit_counts.get(mandate_id) ?? 0;
      const problem =
        !asked.has(id) && isMissed(payment, today)
          ? MISSED
          : debitProblem({ ...mandate, frequency }, payment.amount, today, debits);
      if (problem === null) {
        payable.push(payment);
        debit_counts.set(mandate_id, debits + 1);
      } else if (problem.rule !== "status" || isFinal(mandate.status)) unpayable.push({ payment, problem });
    }
  }
  return { payable, unpayable };
}

/** The ways to the scheme that are open: each mandate is debited by the one that it began with. */
export type Connectors = ReadonlyMap<ConnectorName, SchemeConnector>;

/** Calls the scheme for orders that were just written down, and writes down what it answers at once. Never throws. */
export async function sendDebits(
  ctx: Pick<Context, "store" | "log" | "now" | "request_id">,
  scope: Scope,
  connectors: Connectors,
  orders: readonly MandateOrder[],
): Promise<void> {
  const { store, now, log, request_id } = ctx;
  try {
    const ids = orders.map(({ id }) => id);
    const orders_sent = await listSchemeOrders({ q: store.read, scope, now }, ids);
    const answered: OrderResult[] = [];
    for (const [name, batch] of Map.groupBy(orders_sent, ({ order }) => order.connector)) {
      const results = await connectors.get(name)?.collect(batch.map((one) => one.request));
      for (const { order } of batch) {
        const result = results?.get(order.order_no);
        if (result && result.status !== "pending") answered.push({ order, result });
      }
    }
    if (answered.length === 0) return;
    await store.tx((q) => applyPaymentResults({ q, scope, now }, answered));
  } catch (error) {
    // The scheme is asked later what became of them.
    log.error({ err: error, request_id, company_id: scope.company_id }, "debits sent without an answer");
  }
}
