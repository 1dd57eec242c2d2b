import type { Decimal } from "../../core/money.ts";
import type { FrequencyMode } from "../products/model.ts";

/** The connectors to the scheme. */
export const CONNECTORS = ["sandbox", "fpx"] as const;
export type ConnectorName = (typeof CONNECTORS)[number];

/** The amount in MYR with which a mandate is authorized. See docs/emandate_fpx.md#what-is-known-and-what-is-not. */
export const AUTHORIZATION_AMOUNT = "1.00";

/** The kinds of instructions to the scheme. */
export const ORDER_KINDS = ["enrolment", "amendment", "termination", "debit"] as const;
export type OrderKind = (typeof ORDER_KINDS)[number];

/**
 * The steps that an order can await: the customer's authorization, the bank's approval, the confirmation of an
 * amendment or a termination, the payment, and its settlement.
 */
export const ORDER_AWAITS = ["authorization", "approval", "confirmation", "payment", "settlement"] as const;
export type OrderAwaits = (typeof ORDER_AWAITS)[number];

/**
 * The step that a result answers; `first` is the one that its order awaited first, and `end` says unasked that the
 * customer or the bank ended a mandate in force.
 */
export type SchemeAnswer = OrderAwaits | "first" | "end";

/**
 * The scheme's result of an order. `ok` is the good answer to the step that it `answers`; `pending` is no news, also
 * after a call with an unknown outcome: the order is polled, never sent again. `failed` at settlement is a late
 * failure; `charged_back` is about money that had moved.
 */
export interface SchemeResult {
  status: "ok" | "pending" | "failed" | "charged_back";
  /** The scheme's own code and words. */
  code: string | null;
  message: string | null;
  /** Whether a failed debit may be tried again on a later day. */
  is_retriable: boolean;
  scheme_txn_id: string | null;
  /**
   * Null for the step that the order awaits. FPX confirms the customer's authorization any number of times, which is
   * no approval by the bank; an approval may come before it.
   */
  answers: SchemeAnswer | null;
  /** A complaint: the scheme rejects our message, which says nothing of the mandate. */
  is_about_message?: boolean;
  /** Whether nothing is in progress at the bank: the customer has not come, or did not get through. */
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

/** The form that the customer's browser posts to the scheme, to authorize an order. Holds personal data. */
export interface AuthorizationForm {
  action: string;
  fields: Record<string, string>;
}

/** A callback whose signature is verified. */
export interface SchemeCallback {
  order_no: string;
  amount: Decimal;
  result: SchemeResult;
}

/**
 * The port to the banks' scheme, for one company. It never throws for what the scheme does: a call that failed on
 * the way is `pending`. Errors: conflict where the company's configuration is incomplete, before anything is sent.
 */
export interface SchemeConnector {
  readonly name: ConnectorName;
  /** The banks that take part, with their status; null without a usable answer. */
  listBanks(now: Temporal.Instant): Promise<SchemeBank[] | null>;
  /**
   * Enrols, amends or terminates a mandate. FPX takes these from the customer's browser, by the form below: until it
   * comes back, the result is pending.
   */
  startEnrolment(order: SchemeOrder): Promise<SchemeResult>;
  amend(order: SchemeOrder): Promise<SchemeResult>;
  terminate(order: SchemeOrder): Promise<SchemeResult>;
  /** The form for such an order, always the same; null where the customer need not authorize it. */
  authorizationForm(order: SchemeOrder): AuthorizationForm | null;
  /** Submits debits; an order without a result is pending. FPX takes them by file. */
  collect(orders: readonly SchemeOrder[]): Promise<Map<string, SchemeResult>>;
  /**
   * Queries the status of orders for a bounded time: an order without a result was not queried, one whose query
   * failed is pending.
   */
  queryStatus(orders: readonly SchemeOrder[], now: Temporal.Instant): Promise<Map<string, SchemeResult>>;
  /** Verifies and reads a callback's raw body. Errors: malformed for a bad signature or an unreadable body. */
  parseCallback(raw_body: string, now: Temporal.Instant): SchemeCallback;
}
