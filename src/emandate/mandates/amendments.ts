import { dayAt, startOfDay } from "../working_days.ts";
import { LIMITS } from "../limits.ts";
import { instant, iso } from "../../core/time.ts";
import { collectionDays, firstCollection, hasExpired, nextCollection, planCollection } from "../schedule.ts";
import { paymentPlanner } from "../payments/plan_payments.ts";
import type { NewPayment } from "../payments/queries.ts";
import type { AmendedTerms } from "./model.ts";
import type { StoredMandate } from "./queries.ts";
import { amendedTerms, type MandateChange } from "./rules.ts";
import type { Amendment } from "../orders/model.ts";

/** The company's settings for first collections. */
export interface FirstCollectionTerms {
  readonly first_collection_lead_days: number;
  readonly holidays: readonly string[];
}

/** The first collection of a mandate that is active from `today`; none where debits are made by hand only. */
export function collectionStart(
  mandate: Pick<StoredMandate, "effective_date" | "expiry_date" | "bankscheme_txn_amount">,
  today: Temporal.PlainDate,
  terms: FirstCollectionTerms,
): Pick<MandateChange, "anchor_date" | "next_collection_at"> {
  const first = firstCollection(mandate, today, terms);
  if (first === null || mandate.bankscheme_txn_amount === null) return {};
  return { anchor_date: first.toString(), next_collection_at: iso(startOfDay(first)) };
}

/**
 * Applies an amendment as of `today`: the mandate's new terms, and the payments due until then by its old frequency.
 * A mandate that was not collected is collected again where it gets an amount, or a later last day.
 * Decisions 0094, 0141.
 */
export function applyAmendment(
  mandate: StoredMandate,
  amendment: Amendment,
  today: Temporal.PlainDate,
  first: FirstCollectionTerms,
): { terms: MandateChange; due: NewPayment[] } {
  const { due, next } = dueBefore(mandate, amendment, today);
  const terms = amendedTerms({ ...mandate, next_collection_at: next }, amendment);
  if (next !== null) {
    const is_over = hasExpired(terms.expiry_date, dayAt(instant(next)));
    return { terms: { ...terms, next_collection_at: is_over ? null : next }, due };
  }
  const then = { ...mandate, ...terms };
  if (then.anchor_date === null) return { terms: { ...terms, ...collectionStart(then, today, first) }, due };
  // Today has a debit already.
  const from = due.length > 0 ? today.add({ days: 1 }) : today;
  const day = nextCollection(then, from);
  return { terms: { ...terms, next_collection_at: day && iso(startOfDay(day)) }, due };
}

/** The payments due until `today` by the frequency before an amendment, and the collection after them. */
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
  const plan = paymentPlanner({ until: today, today });
  while (next !== null && Temporal.PlainDate.compare(dayAt(instant(next)), today) <= 0) {
    const collected = { ...mandate, amount, next_collection_at: next };
    const planned = plan(collected);
    due.push(...planned.payments);
    next = planned.next;
  }
  return { due, next };
}

/** How many collection days a preview shows. */
const SHOWN = 3;

/** The terms of a mandate and its next collection days as of `today`, a day that is due first. */
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
