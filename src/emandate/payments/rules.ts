import { startOfDay, workingDayFrom } from "../working_days.ts";
import { compare, type Decimal } from "../../core/money.ts";
import { type IsoInstant, iso } from "../../core/time.ts";
import type { NewEvent } from "../../webhooks/events/model.ts";
import type { MandateStatus } from "../mandates/model.ts";
import { type CollectedMandate, debitPeriod, type Frequency, hasExpired } from "../schedule.ts";
import type { MandatePayment, PaymentStatus } from "./model.ts";

/** What changes the state of a payment. */
export const PAYMENT_TRIGGERS = [
  "submit",
  "pay",
  "fail",
  "fail_for_now",
  // The paid attempt failed after all, and another one counts from now on: one that is under way, or was paid too.
  "await_other",
  "keep_other",
  "charge_back",
  "cancel",
  "skip",
] as const;
export type PaymentTrigger = (typeof PAYMENT_TRIGGERS)[number];

/**
 * The target state of each trigger in each state; transitions not listed are impossible. Money may come back before
 * it was reported paid, and banks correct themselves: a reported failure was paid after all. Decision 0135.
 */
export const PAYMENT_TRANSITIONS: Record<PaymentStatus, Partial<Record<PaymentTrigger, PaymentStatus>>> = {
  scheduled: { submit: "submitted", cancel: "cancelled", skip: "skipped" },
  submitted: { pay: "paid", fail: "failed", fail_for_now: "retry_scheduled", charge_back: "charged_back" },
  retry_scheduled: {
    submit: "submitted",
    cancel: "cancelled",
    pay: "paid",
    fail: "failed",
    charge_back: "charged_back",
  },
  paid: { fail: "failed", await_other: "submitted", keep_other: "paid", charge_back: "charged_back" },
  failed: { pay: "paid", charge_back: "charged_back" },
  charged_back: {},
  cancelled: { pay: "paid", charge_back: "charged_back" },
  // An order that left in no file, as far as is known, may have been skipped with its payment.
  skipped: { submit: "submitted", pay: "paid", charge_back: "charged_back" },
};

/** The states of payments that wait for their time or their next attempt. */
export const OPEN_STATUSES = ["scheduled", "retry_scheduled"] as const satisfies PaymentStatus[];

/**
 * The states that count towards max_no_debit: money moved, or may be moving. To the bank a debit that was charged
 * back was a debit all the same.
 */
export const COUNTED_STATUSES = ["submitted", "paid", "charged_back"] as const satisfies PaymentStatus[];

/** The states of payments that failed for good. */
export const FAILED_STATUSES = ["failed", "charged_back"] as const satisfies PaymentStatus[];

/** A company's settings for failed debits. */
export interface RetryTerms {
  readonly max_retries: number;
  readonly retry_interval_days: number;
  readonly suspend_after_failures: number;
  readonly holidays: readonly string[];
}

/**
 * The day of the next attempt of a debit that failed `today`: the first working day after the pause. Null without
 * attempts left, or where the mandate or the period of the debit ends before.
 */
export function retryDay(
  { expiry_date }: Pick<CollectedMandate, "expiry_date">,
  {
    frequency,
    debit_date,
    attempt_count,
  }: Pick<PlannedPayment, "frequency" | "debit_date"> & Pick<MandatePayment, "attempt_count">,
  today: Temporal.PlainDate,
  { max_retries, retry_interval_days, holidays }: RetryTerms,
): Temporal.PlainDate | null {
  if (attempt_count > max_retries) return null;
  const debited = Temporal.PlainDate.from(debit_date);
  // A clock that went back must not make the next attempt one of an earlier day.
  const from = Temporal.PlainDate.compare(debited, today) > 0 ? debited : today;
  const day = workingDayFrom(from.add({ days: retry_interval_days }), new Set(holidays));
  const ends = debitPeriod(frequency, debited).to;
  return Temporal.PlainDate.compare(day, ends) >= 0 || hasExpired(expiry_date, day) ? null : day;
}

/** The mandate's state and terms that limit its debits. */
export interface DebitedMandate {
  readonly status: MandateStatus;
  readonly frequency: Frequency;
  readonly max_amount: Decimal;
  readonly max_no_debit: string;
  readonly effective_date: string | null;
  readonly expiry_date: string | null;
}

/** The rule that forbids a debit; `message` reads after "the mandate". */
export interface DebitProblem {
  readonly rule: "status" | "amount" | "day" | "count" | "missed";
  readonly message: string;
}

/**
 * The reason why a mandate can't be debited on a day, or null; `debits` of its period are made or under way. Checked
 * when a payment is created and again before it is submitted. See docs/emandate.md#collection.
 */
export function debitProblem(
  mandate: DebitedMandate,
  amount: Decimal,
  day: Temporal.PlainDate,
  debits: number,
): DebitProblem | null {
  const { status, max_amount, max_no_debit, effective_date, expiry_date, frequency } = mandate;
  if (status !== "active") return { rule: "status", message: `is ${status}` };
  if (hasExpired(expiry_date, day)) return { rule: "day", message: `ends on ${expiry_date}` };
  if (effective_date !== null && day.toString() < effective_date) {
    return { rule: "day", message: `begins on ${effective_date}` };
  }
  if (compare(amount, max_amount) > 0) {
    return { rule: "amount", message: `allows at most ${max_amount}` };
  }
  if (debits < Number(max_no_debit)) return null;
  const { key } = debitPeriod(frequency, day);
  return { rule: "count", message: `allows ${max_no_debit} in a period, and ${key} has ${debits}` };
}

/** A payment with its due date, debit date and frequency. */
export interface PlannedPayment extends Pick<MandatePayment, "status" | "period_key" | "due_date"> {
  /** The day of the debit: first as planned, then as it happened. */
  readonly debit_date: string;
  /** The frequency of its mandate when it was created. */
  readonly frequency: Frequency;
}

/** Whether a payment missed its period; it is not made in another one. */
export function isMissed(payment: PlannedPayment, today: Temporal.PlainDate): boolean {
  // A debit by hand stays due until it is tried.
  const is_waiting = payment.status === "scheduled" && payment.period_key === null;
  return !is_waiting && isPeriodOver(payment, today);
}

/** Whether the period of a payment has passed. */
export function isPeriodOver(
  { status, due_date, debit_date, frequency }: PlannedPayment,
  today: Temporal.PlainDate,
): boolean {
  const day = Temporal.PlainDate.from(status === "scheduled" ? due_date : debit_date);
  return Temporal.PlainDate.compare(today, debitPeriod(frequency, day).to) >= 0;
}

/** The order number of an attempt: deterministic, so that the scheme would recognise a repeat after a crash. */
export function debitOrderNo(payment_id: number, attempt_no: number): string {
  return `D${payment_id}-${attempt_no}`;
}

/** The outcome of a payment that was paid, or failed for good. */
export interface PaymentOutcome extends Pick<MandatePayment, "id" | "mandate_id" | "status"> {
  readonly debit_date: string;
}

/**
 * The number of consecutive payments that failed for good, this one among them, in the order of debit dates, whenever
 * each was reported. A paid one ends the row, until it is charged back. 0 for a payment that is forgiven.
 */
export function failuresInARow(outcomes: readonly PaymentOutcome[], id: number): number {
  const row = outcomes.toSorted((a, b) => a.debit_date.localeCompare(b.debit_date) || a.id - b.id);
  const at = row.findIndex((one) => one.id === id);
  if (at === -1) return 0;
  const before = row.slice(0, at).findLastIndex(({ status }) => status === "paid");
  const after = row.findIndex(({ status }, i) => i > at && status === "paid");
  return (after === -1 ? row.length : after) - before - 1;
}

/** The instant at which a payment of a day is due: the start of the day. */
export function dueAt(day: Temporal.PlainDate): IsoInstant {
  return iso(startOfDay(day));
}

/** The domain event of a payment that reached its state. */
export function paymentEvent({
  id,
  mandate_id,
  status,
  period_key,
  attempt_count,
}: Pick<MandatePayment, "id" | "mandate_id" | "status" | "period_key" | "attempt_count">): NewEvent {
  return { type: `emandate.payment.${status}`, data: { id, mandate_id, status, period_key, attempt_count } };
}
