import { AppError, invalid } from "../../core/errors.ts";
import { dayAt } from "../working_days.ts";
import { compare, type Decimal } from "../../core/money.ts";
import { instant, iso } from "../../core/time.ts";
import type { EventType } from "../../webhooks/events/model.ts";
import type { FrequencyMode } from "../products/model.ts";
import { modeOf } from "../products/rules.ts";
import { FINAL_STATUSES, type MandateStatus, type MandateTrigger } from "./model.ts";
import type { Amendment } from "../orders/model.ts";
import type { Frequency } from "../schedule.ts";

/** Target state of a transition; `before` returns to the state prior to the termination request. */
type TargetStatus = MandateStatus | "before";

/**
 * The transitions of a mandate: for each trigger the states that allow it, and the state to which it leads. All others
 * are impossible. See docs/emandate.md#states.
 */
export const MANDATE_TRANSITIONS: Record<MandateTrigger, Partial<Record<MandateStatus, TargetStatus>>> = {
  authorize: { pending: "pending_authorization", failed: "pending_authorization" },
  // From failed: the customer was late, or succeeded at the second try.
  authorized: { pending_authorization: "pending_approval", failed: "pending_approval" },
  not_authorized: { pending_authorization: "failed" },
  approved: { pending_approval: "active" },
  refused: { pending_approval: "rejected" },
  cancel: { pending: "cancelled", pending_authorization: "cancelled" },
  suspend: { active: "suspended" },
  resume: { suspended: "active" },
  terminate: { active: "pending_termination", suspended: "pending_termination" },
  termination_confirmed: { pending_termination: "terminated" },
  termination_refused: { pending_termination: "before" },
  withdraw: { pending_termination: "before" },
  ended_by_bank: { active: "terminated", suspended: "terminated", pending_termination: "terminated" },
  expire: { active: "expired", suspended: "expired" },
};

/** The domain event of each trigger. See docs/webhooks.md. */
export const MANDATE_EVENTS = {
  authorize: "emandate.mandate.pending_authorization",
  authorized: "emandate.mandate.authorized",
  not_authorized: "emandate.mandate.failed",
  approved: "emandate.mandate.activated",
  refused: "emandate.mandate.rejected",
  cancel: "emandate.mandate.cancelled",
  suspend: "emandate.mandate.suspended",
  resume: "emandate.mandate.resumed",
  terminate: "emandate.mandate.pending_termination",
  termination_confirmed: "emandate.mandate.terminated",
  termination_refused: "emandate.mandate.termination_refused",
  withdraw: "emandate.mandate.termination_withdrawn",
  ended_by_bank: "emandate.mandate.terminated",
  expire: "emandate.mandate.expired",
} as const satisfies Record<MandateTrigger, EventType>;

/** The part of a mandate that decides its transitions. */
export interface MandateState {
  readonly status: MandateStatus;
  readonly status_before: MandateStatus | null;
}

/** Target state of a trigger, or null where the state does not allow it. */
export function nextStatus(mandate: MandateState, trigger: MandateTrigger): MandateStatus | null {
  const target = MANDATE_TRANSITIONS[trigger][mandate.status] ?? null;
  return target === "before" ? (mandate.status_before ?? "active") : target;
}

/** Target state of a trigger. Errors: conflict where the state does not allow it. */
export function requireTransition(
  mandate: MandateState & { id: number },
  trigger: MandateTrigger,
): MandateStatus {
  const target = nextStatus(mandate, trigger);
  if (target !== null) return target;
  throw new AppError("conflict", `Cannot ${trigger} mandate ${mandate.id}: it is ${mandate.status}`);
}

/** The fields that a transition changes beside the state. */
export interface MandateChange {
  application_type?: "01" | "02" | "03";
  status_before?: MandateStatus | null;
  bank_code?: string | null;
  scheme_reference?: string | null;
  effective_date?: string;
  authorization_url?: string | null;
  amendment?: Amendment | null;
  anchor_date?: string | null;
  next_collection_at?: string | null;
  authorized_at?: string;
  activated_at?: string;
  terminated_at?: string;
}

/** The fields that a trigger itself changes: a mandate that has ended awaits and collects nothing. */
export function transitionFields(
  { status }: MandateState,
  trigger: MandateTrigger,
  now: Temporal.Instant,
): MandateChange {
  const at = iso(now);
  const ended = { next_collection_at: null, amendment: null, status_before: null, authorization_url: null };
  const changes: Partial<Record<MandateTrigger, MandateChange>> = {
    authorize: { application_type: "01", effective_date: dayAt(now).toString() },
    authorized: { authorized_at: at, authorization_url: null },
    not_authorized: { authorization_url: null },
    approved: { activated_at: at },
    refused: ended,
    cancel: ended,
    terminate: { application_type: "03", status_before: status },
    termination_confirmed: { ...ended, terminated_at: at },
    termination_refused: { status_before: null, authorization_url: null },
    withdraw: { status_before: null, authorization_url: null },
    ended_by_bank: { ...ended, terminated_at: at },
    expire: ended,
  };
  return changes[trigger] ?? {};
}

/** Whether a mandate never leaves its state. */
export function isFinal(status: MandateStatus): boolean {
  return FINAL.has(status);
}

const FINAL: ReadonlySet<MandateStatus> = new Set(FINAL_STATUSES);

/** Whether a mandate allows payments, now or after it is resumed. */
export function isInForce(status: MandateStatus): boolean {
  return status === "active" || status === "suspended";
}

/** The limits of a new mandate: its product's terms, or the scheme's own without one. */
export interface Terms {
  readonly max_amount: Decimal;
  readonly max_no_debit: string;
  readonly frequency: Frequency | null;
}

/** The terms that a caller asks for; the others follow from the product. */
export interface RequestedTerms {
  readonly bankscheme_txn_amount?: Decimal | undefined;
  readonly frequency?: Frequency | undefined;
  readonly frequency_mode?: FrequencyMode | undefined;
}

const FREQUENCY_OF: Record<FrequencyMode, Frequency> = {
  DL: "Daily",
  WK: "Weekly",
  MT: "Monthly",
  YR: "Yearly",
};

/**
 * The frequency of a new mandate: the one requested, which must be the product's, else the product's, else Monthly.
 * Errors: invalid.
 */
export function frequencyOf({ frequency, frequency_mode }: RequestedTerms, terms: Terms): Frequency {
  const requested = frequency ?? (frequency_mode && FREQUENCY_OF[frequency_mode]);
  if (frequency !== undefined && frequency_mode !== undefined && modeOf(frequency) !== frequency_mode) {
    throw invalid("/frequency_mode", `must be ${modeOf(frequency)}, as frequency is ${frequency}`);
  }
  if (terms.frequency === null) return requested ?? "Monthly";
  if (requested !== undefined && requested !== terms.frequency) {
    const field = frequency === undefined ? "frequency_mode" : "frequency";
    const of_product = frequency === undefined ? modeOf(terms.frequency) : terms.frequency;
    throw invalid(`/${field}`, `must be ${of_product}, as the product has it`);
  }
  return terms.frequency;
}

/**
 * The amount of each debit: the one requested, else the product's max_amount; null, for debits by hand only, without
 * either. Errors: invalid for more than the terms allow.
 */
export function debitAmount(
  { bankscheme_txn_amount }: RequestedTerms,
  terms: Terms,
  has_product: boolean,
): Decimal | null {
  if (bankscheme_txn_amount === undefined) return has_product ? terms.max_amount : null;
  if (compare(bankscheme_txn_amount, terms.max_amount) > 0) {
    throw invalid("/bankscheme_txn_amount", `must be at most ${terms.max_amount}`);
  }
  return bankscheme_txn_amount;
}

/** The fields of a mandate that an amendment may change. */
export interface Amendable {
  readonly bankscheme_txn_amount: Decimal | null;
  readonly max_amount: Decimal;
  readonly frequency: Frequency;
  readonly expiry_date: string | null;
  readonly anchor_date: string | null;
  readonly next_collection_at: string | null;
}

/**
 * The terms of a mandate after an amendment. The limit grows with the amount and never shrinks; a new frequency counts
 * from the next collection on. Decision 0094.
 */
export function amendedTerms(
  mandate: Amendable,
  { amount, frequency, expiry_date }: Amendment,
): Omit<Amendable, "next_collection_at"> {
  const { next_collection_at: next } = mandate;
  const is_other = frequency !== undefined && frequency !== mandate.frequency;
  const anchor = is_other && next !== null ? dayAt(instant(next)).toString() : null;
  return {
    bankscheme_txn_amount: amount ?? mandate.bankscheme_txn_amount,
    max_amount: amount !== undefined && compare(amount, mandate.max_amount) > 0 ? amount : mandate.max_amount,
    frequency: frequency ?? mandate.frequency,
    expiry_date: expiry_date ?? mandate.expiry_date,
    anchor_date: anchor ?? mandate.anchor_date,
  };
}

/** The most mandates that a company can create in a day. */
const MANDATES_A_DAY = 999_999;

/**
 * The reference after the last one of that day, `EM-20261121-000001` where there is none yet.
 * Errors: conflict after 999,999.
 */
export function nextReference(last: string | undefined, prefix: string): string {
  const number = last === undefined ? 1 : Number(last.slice(prefix.length)) + 1;
  if (number > MANDATES_A_DAY) {
    throw new AppError("conflict", `Cannot create a mandate: today has ${MANDATES_A_DAY} already`);
  }
  return `${prefix}${String(number).padStart(6, "0")}`;
}

/** The prefix of a day's references: `EM-20261121-`. */
export function referencePrefix(today: Temporal.PlainDate): string {
  return `EM-${today.toString().replaceAll("-", "")}-`;
}
