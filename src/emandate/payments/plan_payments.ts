import { dayAt } from "../working_days.ts";
import { LIMITS } from "../limits.ts";
import type { Decimal } from "../../core/money.ts";
import { type IsoInstant, instant } from "../../core/time.ts";
import type { NewPayment } from "./queries.ts";
import { dueAt } from "./rules.ts";
import { type CollectedMandate, debitPeriod, planCollection } from "../schedule.ts";

/** A mandate whose collection is due. */
export interface DueMandate extends Omit<CollectedMandate, "next_day"> {
  readonly id: number;
  readonly next_collection_at: IsoInstant;
  readonly amount: Decimal;
}

/** Plans the payments of a mandate that are due by the end of the day `until`, and its next collection after them. */
export function planPayments(
  mandate: DueMandate,
  days: { until: Temporal.PlainDate; today: Temporal.PlainDate },
): { payments: NewPayment[]; next: IsoInstant | null } {
  const terms = { ...mandate, next_day: dayAt(instant(mandate.next_collection_at)) };
  const { missed, due, next } = planCollection(terms, days, LIMITS.collection_missed_periods);
  const payments = missed.map((day) => paymentOn(mandate, day, "skipped"));
  if (due !== null) payments.push(paymentOn(mandate, due, "scheduled"));
  return { payments, next: next && dueAt(next) };
}

function paymentOn(
  { id, frequency, amount }: DueMandate,
  day: Temporal.PlainDate,
  status: NewPayment["status"],
): NewPayment {
  return {
    mandate_id: id,
    period_key: debitPeriod(frequency, day).key,
    due_date: day.toString(),
    debit_date: day.toString(),
    frequency,
    amount,
    description: null,
    status,
    next_attempt_at: status === "scheduled" ? dueAt(day) : null,
  };
}
