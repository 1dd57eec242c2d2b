import type { Tx } from "../../store/store.ts";
import type { MandatePayment } from "./model.ts";
import { movePayments, type PaymentWithMandate } from "./queries.ts";
import type { DebitProblem } from "./rules.ts";

/** A payment that can't be made, and why. */
export interface Refusal {
  readonly payment: PaymentWithMandate;
  readonly problem: DebitProblem;
}

export const MISSED: DebitProblem = { rule: "missed", message: "has entered another period" };

/** Cancels payments that can't be made any more; compare-and-set on their states. Missed ones are skipped. */
export async function cancelUnpayable(tx: Tx, refusals: readonly Refusal[]): Promise<MandatePayment[]> {
  const moves = refusals.map(({ payment, problem }) => {
    const was_tried = payment.attempt_count > (payment.status === "submitted" ? 1 : 0);
    const is_skipped = problem.rule === "missed" && !was_tried;
    const change = {
      status: is_skipped ? ("skipped" as const) : ("cancelled" as const),
      next_attempt_at: null,
      response_message: `Not made: the mandate ${problem.message}`,
    };
    return { payment, change };
  });
  return movePayments(tx, moves);
}
