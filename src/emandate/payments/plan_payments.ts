import { dayAt } from "../working_days.ts";
import { LIMITS } from "../limits.ts";
import type { Decimal } from "../../core/money.ts";
import { type IsoInstant, instant } from "../../core/time.ts";
import type { NewPayment } from "./queries.ts";
import { dueAt } from "./rules.ts";
import { type CollectedMandate, debitPeriod, type Frequency, planCollection } from "../schedule.ts";

/** A mandate whose collection is due. */
export interface DueMandate extends Omit<CollectedMandate, "next_day"> {
  readonly id: number;
  readonly next_collection_at: IsoInstant;
  readonly amount: Decimal;
}

/** The payments to make of a mandate, and its next collection after them. */
export interface PaymentPlan<P = NewPayment> {
  readonly payments: P[];
  readonly next: IsoInstant | null;
}

type DatedPayment = Omit<NewPayment, "mandate_id" | "amount">;

/**
 * Plans the payments of mandates that are due by the end of the day `until`. Many mandates of a batch have the same
 * dates: those are planned once.
 */
export function paymentPlanner(days: {
  until: Temporal.PlainDate;
  today: Temporal.PlainDate;
}): (mandate: DueMandate) => PaymentPlan {
  const plans = new Map<string, PaymentPlan<DatedPayment>>();
  return (mandate) => {
    const { id: mandate_id, amount, frequency, anchor_date, expiry_date, next_collection_at } = mandate;
    const key = JSON.stringify([frequency, anchor_date, expiry_date, next_collection_at]);
    const plan = plans.get(key) ?? planDates(mandate, days);
    plans.set(key, plan);
    return { ...plan, payments: plan.payments.map((payment) => ({ ...payment, mandate_id, amount })) };
  };
}

function planDates(
  { frequency, anchor_date, expiry_date, next_collection_at }: Omit<DueMandate, "id" | "amount">,
  days: { until: Temporal.PlainDate; today: Temporal.PlainDate },
): PaymentPlan<DatedPayment> {
  const terms = { frequency, anchor_date, expiry_date, next_day: dayAt(instant(next_collection_at)) };
  const { missed, due, next } = planCollection(terms, days, LIMITS.collection_missed_periods);
  const payments = missed.map((day) => paymentOn(frequency, day, "skipped"));
  if (due !== null) payments.push(paymentOn(frequency, due, "scheduled"));
  return { payments, next: next && dueAt(next) };
}

function paymentOn(
  frequency: Frequency,
  day: Temporal.PlainDate,
  status: NewPayment["status"],
): DatedPayment {
  return {
    period_key: debitPeriod(frequency, day).key,
    due_date: day.toString(),
    debit_date: day.toString(),
    frequency,
    description: null,
    status,
    next_attempt_at: status === "scheduled" ? dueAt(day) : null,
  };
}
