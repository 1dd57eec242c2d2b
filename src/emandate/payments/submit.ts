import type { Context } from "../../app/context.ts";
import type { Scope } from "../../core/access.ts";
import { checkNotHeld } from "../holds/queries.ts";
import type { Tx } from "../../store/store.ts";
import { recordEvents } from "../../webhooks/events/queries.ts";
import { isFinal } from "../mandates/rules.ts";
import { insertOrders, type MandateOrder } from "../orders/queries.ts";
import { applyPaymentResults, type OrderResult } from "../results/apply_to_payment.ts";
import type { ConnectorName, SchemeConnector } from "../scheme/connector.ts";
import { cancelUnpayable, MISSED, type Refusal } from "./cancel_unpayable.ts";
import type { MandatePayment, PaymentStatus } from "./model.ts";
import { submitOpenPayments } from "./open_queries.ts";
import { countDebits, listWithMandates, type PaymentWithMandate } from "./queries.ts";
import { debitOrderNo, debitProblem, isMissed, OPEN_STATUSES, paymentEvent } from "./rules.ts";
import { debitPeriod } from "../schedule.ts";
import { listSchemeOrders } from "../orders/scheme_order_queries.ts";

// Debit submission, write-ahead: one transaction checks the payment again and persists it as submitted, with its
// order; then the scheme is called once; then its result is recorded. After a crash in between the outcome is polled,
// and the order never sent again. Decision 0096.

/** What submitting a batch of payments came to. */
export interface Submitted {
  readonly orders: readonly MandateOrder[];
  /** Payments that can't be made any more: cancelled or skipped. */
  readonly refused: readonly MandatePayment[];
}

/** The debit date, the run if one submits, and the states to submit from. */
export interface SubmitOptions {
  readonly today: Temporal.PlainDate;
  readonly collection_run_id: number | null;
  readonly from?: readonly PaymentStatus[];
}

/**
 * Submits the payments that are still open, as debits of the day. Those of suspended mandates stay open; those whose
 * period is over, or that the mandate does not allow, are cancelled. Errors: conflict while debits are held.
 */
export async function submitPayments(
  tx: Tx,
  ids: readonly number[],
  { today, collection_run_id, from = OPEN_STATUSES }: SubmitOptions,
): Promise<Submitted> {
  await checkNotHeld(tx, "send debits");
  // Another run may have submitted some since they were listed.
  const listed = await listWithMandates(tx, ids);
  const payments = listed.filter(({ status }) => from.some((open) => open === status));
  // Skipped ones are here on request: their own period is long over.
  const skipped = new Set(payments.flatMap(({ id, status }) => (status === "skipped" ? id : [])));
  const { payable, unpayable } = await partitionPayable(tx, payments, today, skipped);
  const submitted = await submitOpenPayments(
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
 * Partitions payments into those that may be debited and those that may never be; each payable one counts for those
 * after it. All checks go by the frequency under which a payment was made. The period of those in `any_period` is
 * not checked.
 */
export async function partitionPayable(
  tx: Tx,
  payments: readonly PaymentWithMandate[],
  today: Temporal.PlainDate,
  any_period: ReadonlySet<number>,
): Promise<{ payable: PaymentWithMandate[]; unpayable: Refusal[] }> {
  const payable: PaymentWithMandate[] = [];
  const unpayable: Refusal[] = [];
  for (const [frequency, batch] of Map.groupBy(payments, (payment) => payment.frequency)) {
    const mandate_ids = [...new Set(batch.map(({ mandate_id }) => mandate_id))];
    const period = { ...debitPeriod(frequency, today), frequency };
    const except = batch.map(({ id }) => id);
    const debit_counts = await countDebits(tx, mandate_ids, period, { except });
    for (const payment of batch) {
      const { id, mandate, mandate_id } = payment;
      const debits = debit_counts.get(mandate_id) ?? 0;
      const problem =
        !any_period.has(id) && isMissed(payment, today)
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

/** The open connectors by name: a mandate is debited by the one that it began with. */
export type Connectors = ReadonlyMap<ConnectorName, SchemeConnector>;

/** Calls the scheme for orders that were just persisted, and records its immediate results. Never throws. */
export async function sendDebits(
  { store, now, log, request_id }: Pick<Context, "store" | "log" | "now" | "request_id">,
  scope: Scope,
  connectors: Connectors,
  orders: readonly MandateOrder[],
): Promise<void> {
  try {
    const ids = orders.map(({ id }) => id);
    const scheme_orders = await listSchemeOrders({ q: store.read, scope, now }, ids);
    const received: OrderResult[] = [];
    for (const [name, batch] of Map.groupBy(scheme_orders, ({ order }) => order.connector)) {
      const results = await connectors.get(name)?.collect(batch.map(({ request }) => request));
      for (const { order } of batch) {
        const result = results?.get(order.order_no);
        if (result && result.status !== "pending") received.push({ order, result });
      }
    }
    if (received.length === 0) return;
    await store.tx((q) => applyPaymentResults({ q, scope, now }, received));
  } catch (error) {
    // The outcome is polled later.
    log.error({ err: error, request_id, company_id: scope.company_id }, "debits sent without an answer");
  }
}
