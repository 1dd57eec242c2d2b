import type { Decimal } from "../../../core/money.ts";
import type { FrequencyMode } from "../../emandate_products/model.ts";
import type { OrderAwaits, OrderKind } from "../../mandate_orders/model.ts";
import type { ConnectorName } from "../model.ts";

/**
 * What the scheme says of an order now. `ok` answers what the order awaited; `pending` says nothing new, also
 * after a call of which nobody knows whether it was heard: it is asked again later, never sent again.
 */
export interface SchemeResult {
  status: "ok" | "pending" | "failed";
  /** The scheme's own code and words. */
  code: string | null;
  message: string | null;
  /** Whether the same may be tried again on a later day: only where `status` is failed. */
  is_retriable: boolean;
  scheme_txn_id: string | null;
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
  listBanks(now: Temporal.Instant): Promise<SchemeBank[]>;
  /** Asks for the customer's authorization: where the customer goes to give it. */
  startEnrolment(
    order: SchemeOrder,
    now: Temporal.Instant,
  ): Promise<SchemeResult & { authorization_url: string | null }>;
  amend(order: SchemeOrder, now: Temporal.Instant): Promise<SchemeResult>;
  terminate(order: SchemeOrder, now: Temporal.Instant): Promise<SchemeResult>;
  /** Debits; the result of an order that is not in the answer is pending. */
  collect(orders: readonly SchemeOrder[], now: Temporal.Instant): Promise<Map<string, SchemeResult>>;
  queryStatus(orders: readonly SchemeOrder[], now: Temporal.Instant): Promise<Map<string, SchemeResult>>;
  /** Reads a callback's raw body. Errors: malformed for a bad signature or an unreadable body. */
  parseCallback(raw_body: string, now: Temporal.Instant): SchemeCallback;
}
