import { dayAt, startOfDay } from "../working_days.ts";
import { LIMITS } from "../limits.ts";
import { instant, iso } from "../../core/time.ts";
import { collectionDays, firstCollection, hasExpired, nextCollection, planCollection } from "../schedule.ts";
import { planPayments } from "../payments/plan_payments.ts";
import type { NewPayment } from "../payments/queries.ts";
import type { AmendedTerms } from "./model.ts";
import type { StoredMandate } from "./queries.ts";
import { amended, type MandateChange } from "./rules.ts";
import type { Amendment } from "../orders/model.ts";

/** What decides when a mandate is collected first. */
export interface FirstTerms {
  readonly first_collection_lead_days: number;
  readonly holidays: readonly string[];
}

/** When a mandate that is active from `today` on is collected first; never where debits are made by hand only. */
export function collectionStart(
  mandate: Pick<StoredMandate, "effective_date" | "expiry_date" | "bankscheme_txn_amount">,
  today: Temporal.PlainDate,
  terms: FirstTerms,
): Pick<MandateChange, "anchor_date" | "next_collection_at"> {
  const first = firstCollection(mandate, today, terms);
  if (first === null || mandate.bankscheme_txn_amount === null) return {};
  return { anchor_date: first.toString(), next_collection_at: iso(startOfDay(first)) };
}

/**
 * What a change comes to that the bank takes `today`: what the mandate says from then on, and the payments that are
 * due until then by the frequency that it had. One that was not collected any more is again: it was debited by hand
 * and now has an amount, or its last day was put off. Decisions 0094, 0141.
 */
export function applyAmendment(
  mandate: StoredMandate,
  amendment: Amendment,
  today: Temporal.PlainDate,
  first: FirstTerms,
): { terms: MandateChange; due: NewPayment[] } {
  const { due, next } = dueBefore(mandate, amendment, today);
  const terms = amended({ ...mandate, next_collection_at: next }, amendment);
  if (next !== null) {
    const is_over = hasExpired(terms.expiry_date, dayAt(instant(next)));
    return { terms: { ...terms, next_collection_at: is_over ? null : next }, due };
  }
  const then = { ...mandate, ...terms };
  if (then.anchor_date === null) return { terms: { ...terms, ...collectionStart(then, today, first) }, due };
  // Of today there is a debit already.
  const from = due.length > 0 ? today.add({ days: 1 }) : today;
  const day = nextCollection(then, from);
  return { terms: { ...terms, next_collection_at: day && iso(startOfDay(day)) }, due };
}

/** What of a mandate is due by the frequency that a change takes from it, and its next collection after that. */
function dueBefore(
  mandate: StoredMandate,
  { amount: changed, frequency }: Amendment,
  today: Temporal.PlainDate,
): { due: NewPayment[]; next: string | null } {
  const { status, bankscheme_txn_amount } = mandate;
  const amount = changed ?? bankscheme_txn_amount;
  let next = mandate.next_collection_at;
  const due: NewPayment[] = [];
  const is_collected = status === "active" && bankscheme_txn_amount !== null && amount !== null;
  if (!is_collected || frequency === undefined || frequency === mandate.frequency) return { due, next };
  while (next !== null && Temporal.PlainDate.compare(dayAt(instant(next)), today) <= 0) {
    const collected = { ...mandate, amount, next_collection_at: next };
    const planned = planPayments(collected, { until: today, today });
    due.push(...planned.payments);
    next = planned.next;
  }
  return { due, next };
}

/** Collections that are told of before a change is asked for. */
const SHOWN = 3;

/** What a mandate says, and on which days it is collected next, as things stand `today`: what is due is first. */
export function termsOf(mandate: StoredMandate, today: Temporal.PlainDate): AmendedTerms {
  const { bankscheme_txn_amount, max_amount, frequency, expiry_date, anchor_date } = mandate;
  const terms = { bankscheme_txn_amount, max_amount, frequency, expiry_date };
  if (mandate.next_collection_at === null) return { ...terms, next_collections: [] };
  const next_day = dayAt(instant(mandate.next_collection_at));
  const collected = { frequency, anchor_date, expiry_date, next_day };
  const days = { until: today, today };
  const { due, next } = planCollection(collected, days, LIMITS.collection_missed_periods);
  const anchor = anchor_date === null ? next_day : Temporal.PlainDate.from(anchor_date);
  const later = next === null ? [] : collectionDays(frequency, anchor, next).take(SHOWN);
  const found = [...(due === null ? [] : [due]), ...later].filter((day) => !hasExpired(expiry_date, day));
  return { ...terms, next_collections: found.slice(0, SHOWN).map(String) };
}
