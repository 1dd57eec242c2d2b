import { listMandatePayments } from "../emandate/payments/service.ts";
import type { MandatePayment } from "../emandate/payments/model.ts";
import { runScenario } from "../emandate/results/service.ts";
import type { Habit } from "./cast/payers.ts";
import { noise } from "./dice.ts";
import type { Call } from "./world.ts";

/** Debits that are answered at once. */
const AT_ONCE = 100;

/** What the sandbox's banks say of the debits of the demo's cast: the same of the same debit. */
export class Bank {
  readonly #habits: ReadonlyMap<number, Habit>;
  readonly #call: Call;

  /** `habits`: of accounts, by the id of their mandate. */
  constructor(habits: ReadonlyMap<number, Habit>, call: Call) {
    this.#habits = habits;
    this.#call = call;
  }

  /** Answers the debits that were sent before an instant. Returns those that it reports to have been paid. */
  async answer(before: Temporal.Instant): Promise<MandatePayment[]> {
    const { data } = await this.#call(listMandatePayments, { status: "submitted", limit: AT_ONCE });
    const paid: MandatePayment[] = [];
    for (const payment of data) {
      const habit = this.#habits.get(payment.mandate_id);
      const is_young = Temporal.Instant.compare(payment.updated_at, before) > 0;
      if (habit === undefined || habit === "silent" || is_young) continue;
      const name = saidOf(habit, payment);
      await this.#call(runScenario, { name, payment_id: payment.id });
      if (name === "payment_paid") paid.push(payment);
    }
    return paid;
  }

  /** What becomes of a debit after it was paid, if anything. */
  laterOf({ id, mandate_id }: MandatePayment): "payment_charged_back" | "payment_late_failure" | null {
    const habit = this.#habits.get(mandate_id);
    if (habit === "returns" && noise(id, 3) < 0.3) return "payment_charged_back";
    return habit === "late" && noise(id, 4) < 0.3 ? "payment_late_failure" : null;
  }
}

function saidOf(habit: Habit, { id, attempt_count }: MandatePayment): string {
  const dice = noise(id, attempt_count);
  if ((habit === "short" && dice < 0.3) || (habit === "poor" && dice < 0.75))
    return "payment_insufficient_funds";
  return habit === "closed" && dice < 0.15 ? "payment_account_closed" : "payment_paid";
}
