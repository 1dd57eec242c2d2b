import type { Decimal } from "../../core/money.ts";
import type { FrequencyMode } from "../products/model.ts";

/** Who speaks with the banks. */
export const CONNECTORS = ["sandbox", "fpx"] as const;
export type ConnectorName = (typeof CONNECTORS)[number];

/** What the scheme is asked to do; each order has a number of its own, by which the scheme tells of it. */
export const ORDER_KINDS = ["enrolment", "amendment", "termination", "debit"] as const;
export type OrderKind = (typeof ORDER_KINDS)[number];

/**
 * What the scheme still has to say of an order: that the customer authorized it, that the bank approved it, that
 * a change or an end is confirmed, that money moved, or that it came back.
 */
export const ORDER_AWAITS = ["authorization", "approval", "confirmation", "payment", "settlement"] as const;
export type OrderAwaits = (typeof ORDER_AWAITS)[number];

/**
 * What a result is about: something that an order awaits; `first`, what it awaited at first; or `end`, that the
 * customer or the bank ended a mandate that was in force, told by the number of an order of its without being asked.
 */
export type SchemeAnswer = OrderAwaits | "first" | "end";

/**
 * What the scheme says of an order now. `ok` is the good answer to what it `answers`; `pending` says nothing new,
 * also after a call of which nobody knows whether it was heard: it is asked again later, never sent again. `failed`
 * where the order awaits settlement is a late failure; `charged_back` is said of money that had moved.
 */
export interface SchemeResult {
  status: "ok" | "pending" | "failed" | "charged_back";
  /** The scheme's own code and words. */
  code: string | null;
  message: string | null;
  /** Whether the same may be tried again on a later day: only where `status` is failed. */
  is_retriable: boolean;
  scheme_txn_id: string | null;
  /**
   * Which question it answers; null where that is what the order awaits. FPX confirms, as often as it likes, that
   * the customer authorized, and that is no approval by the bank; an approval may come before it.
   */
  answers: SchemeAnswer | null;
  /** Whether the scheme complains about the message that it was sent, which says nothing of a mandate. */
  is_about_message?: boolean;
  /** Whether nothing goes on at the bank as far as the scheme knows: the customer has not come, or not got through. */
  is_idle?: boolean;
}

/** An order as a connector needs it. Amounts are "100.00", in MYR. */
export interface SchemeOrder {
  order_no: string;
  kind: OrderKind;
  awaits: OrderAwaits | null;
  amount: Decimal;
  submitted_at: Temporal.Instant;
  mandate: {
    reference: string;
    scheme_reference: string | null;
    customer_name: string;
    customer_email: string;
    customer_ic_number: string | null;
    bank_code: string | null;
    max_amount: Decimal;
    max_no_debit: string;
    frequency_mode: FrequencyMode;
    effective_date: string | null;
    expiry_date: string | null;
  };
  description: string | null;
}

export interface SchemeBank {
  bank_code: string;
  bank_name: string;
  display_name: string;
  type: "B2C" | "B2B1";
  status: "online" | "offline";
}

/** What the customer's browser posts to the scheme, to authorize an order. Holds personal data. */
export interface AuthorizationForm {
  action: string;
  fields: Record<string, string>;
}

/** What a callback says, once its signature was found good. */
export interface SchemeCallback {
  order_no: string;
  amount: Decimal;
  result: SchemeResult;
}

/**
 * Speaks with the banks' scheme for one company. It never throws for what the scheme does: a call that failed on
 * the way is `pending`. Errors: conflict where the company's configuration is not complete, before anything is sent.
 */
export interface SchemeConnector {
  readonly name: ConnectorName;
  /** Which banks take part and are online; null where the scheme gave no answer that can be used. */
  listBanks(now: Temporal.Instant): Promise<SchemeBank[] | null>;
  /**
   * Asks for an enrolment, a change or an end of a mandate. FPX is asked by the customer's browser, with the form
   * below: until that came back, the result is pending.
   */
  startEnrolment(order: SchemeOrder): Promise<SchemeResult>;
  amend(order: SchemeOrder): Promise<SchemeResult>;
  terminate(order: SchemeOrder): Promise<SchemeResult>;
  /** The form for such an order, always the same one; null where the scheme needs none from the customer. */
  authorizationForm(order: SchemeOrder): AuthorizationForm | null;
  /** Debits; the result of an order that is not in the answer is pending. FPX takes them by file. */
  collect(orders: readonly SchemeOrder[]): Promise<Map<string, SchemeResult>>;
  /**
   * Asks how orders stand, for a bounded time: one that is not in the answer was not asked for, one whose question
   * got no answer is pending.
   */
  queryStatus(orders: readonly SchemeOrder[], now: Temporal.Instant): Promise<Map<string, SchemeResult>>;
  /** Reads a callback's raw body. Errors: malformed for a bad signature or an unreadable body. */
  parseCallback(raw_body: string, now: Temporal.Instant): SchemeCallback;
}
