import { type Static, Type } from "@sinclair/typebox";
import { LIMITS } from "../limits.ts";
import {
  At,
  Day,
  Id,
  nullable,
  oneOf,
  pageFieldsUpTo,
  strict,
  trimmedText,
  sumsField,
  sortedBy,
} from "../../core/schema.ts";
import { Amount, AmountAnswer } from "../products/model.ts";

/** The states of a payment. See docs/emandate.md#states. */
export const PAYMENT_STATUSES = [
  "scheduled",
  "submitted",
  "paid",
  "failed",
  "retry_scheduled",
  "charged_back",
  "cancelled",
  "skipped",
] as const;
export type PaymentStatus = (typeof PAYMENT_STATUSES)[number];

/** One debit of a mandate, for a period or by hand. */
export const MandatePayment = Type.Object(
  {
    id: Id,
    mandate_id: Id,
    period_key: nullable(
      Type.String({ description: "the period that it collects, such as 2026-11; null for a debit by hand" }),
    ),
    due_date: Type.String({ description: "a day in Kuala Lumpur" }),
    amount: AmountAnswer,
    currency: Type.Literal("MYR"),
    description: nullable(Type.String()),
    status: oneOf(PAYMENT_STATUSES),
    attempt_count: Type.Integer(),
    next_attempt_at: nullable(At),
    order_no: nullable(
      Type.String({
        description: "the scheme's order number of the last attempt, or of the one that was paid",
      }),
    ),
    scheme_txn_id: nullable(Type.String()),
    response_code: nullable(Type.String()),
    response_message: nullable(Type.String()),
    paid_at: nullable(At),
    created_at: At,
    updated_at: At,
  },
  { title: "MandatePayment" },
);
export type MandatePayment = Static<typeof MandatePayment>;

/** One attempt to debit: an order sent to the scheme. */
export const PaymentAttempt = Type.Object(
  {
    attempt_no: Type.Integer(),
    order_no: Type.String(),
    submitted_at: At,
    response_code: nullable(Type.String()),
    response_message: nullable(Type.String()),
    completed_at: nullable(At),
    flagged_at: nullable(
      Type.String({ description: "when polling the scheme for the outcome was given up" }),
    ),
  },
  { title: "PaymentAttempt" },
);
export type PaymentAttempt = Static<typeof PaymentAttempt>;

export const MandatePaymentDetail = Type.Object(
  { ...MandatePayment.properties, attempts: Type.Array(PaymentAttempt) },
  { title: "MandatePaymentDetail" },
);
export type MandatePaymentDetail = Static<typeof MandatePaymentDetail>;

/** `from` and `to` are due dates, both included. */
export const ListMandatePayments = strict({
  status: Type.Optional(oneOf(PAYMENT_STATUSES)),
  mandate_id: Type.Optional(Id),
  from: Type.Optional(Day),
  to: Type.Optional(Day),
  sort: sortedBy(["id", "due_date", "amount"]),
  ...sumsField,
  ...pageFieldsUpTo(LIMITS.emandate_page_limit),
});

export const CreateMandatePayment = strict(
  {
    id: Id,
    amount: Amount,
    due_date: Type.Optional(Day),
    description: Type.Optional(trimmedText(LIMITS.emandate_description_length)),
  },
  { title: "CreateMandatePayment" },
);
