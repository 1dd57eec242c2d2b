import { dayAt } from "../working_days.ts";
import type { Tx } from "../../store/store.ts";
import { recordEvents } from "../../webhooks/events/queries.ts";
import { listOpenPayments } from "./due_queries.ts";
import type { MandatePayment } from "./model.ts";
import * as queries from "./queries.ts";
import { type DebitProblem, isPeriodOver, paymentEvent } from "./rules.ts";

/** A payment that may not go, and why. */
export interface Refusal {
  readonly payment: queries.PaymentWithMandate;
  readonly problem: DebitProblem;
}

export const MISSED: DebitProblem = { rule: "missed", message: "is in another period by now" };

/** Gives up payments that may not be made any more, where they still stand as they were read. */
export async function cancelUnpayable(tx: Tx, refusals: readonly Refusal[]): Promise<MandatePayment[]> {
  const given_up: MandatePayment[] = [];
  for (const { payment, problem } of refusals) {
    const was_tried = payment.attempt_count > (payment.status === "submitted" ? 1 : 0);
    const is_skipped = problem.rule === "missed" && !was_tried;
    const moved = await queries.movePayment(tx, payment, {
      status: is_skipped ? "skipped" : "cancelled",
      next_attempt_at: null,
      response_message: `Not made: the mandate ${problem.message}`,
    });
    if (moved) given_up.push(moved);
  }
  return given_up;
}

/**
 * What a mandate's resumption means to its payments: what failed before is forgiven, and what was for a period that
 * is over by now is not made on another day, debits by hand neither. Decision 0142.
 */
export async function resumePayments(tx: Tx, mandate_id: number): Promise<void> {
  await queries.forgiveFailures(tx, mandate_id);
  const ids = await listOpenPayments(tx, mandate_id);
  const payments = await queries.listWithMandates(tx, ids);
  const over = payments.filter((payment) => isPeriodOver(payment, dayAt(tx.now)));
  const given_up = await cancelUnpayable(
    tx,
    over.map((payment) => ({ payment, problem: MISSED })),
  );
  await recordEvents(tx, given_up.map(paymentEvent));
}
