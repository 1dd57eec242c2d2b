import { type Static, Type } from "@sinclair/typebox";
import { SHARED_LIMITS } from "../../core/limits.ts";
import { LIMITS } from "../limits.ts";
import {
  At,
  ById,
  Day,
  Email,
  Id,
  idsField,
  nullable,
  oneOf,
  pageFieldsUpTo,
  Search,
  sortedBy,
  strict,
  trimmedText,
} from "../../core/schema.ts";
import { CustomerName } from "../customers/model.ts";
import { Amount, AmountAnswer, FREQUENCY_MODES } from "../products/model.ts";
import { Amendment } from "../orders/model.ts";
import { CONNECTORS } from "../scheme/connector.ts";
import { MandatePayment } from "../payments/model.ts";
import { FREQUENCIES } from "../schedule.ts";

/** The states of a mandate. See docs/emandate.md#states. */
export const MANDATE_STATUSES = [
  "pending",
  "pending_authorization",
  "pending_approval",
  "active",
  "suspended",
  "pending_termination",
  "failed",
  "rejected",
  "cancelled",
  "terminated",
  "expired",
] as const;
export type MandateStatus = (typeof MANDATE_STATUSES)[number];

/** The states that a mandate never leaves. */
export const FINAL_STATUSES = [
  "rejected",
  "cancelled",
  "terminated",
  "expired",
] as const satisfies MandateStatus[];

/** The scheme's codes of the last order: enrolment, maintenance, termination. */
export const APPLICATION_TYPES = ["01", "02", "03"] as const;

/** The triggers of transitions; `emandate/mandates/rules.ts` has the table. */
export const MANDATE_TRIGGERS = [
  "authorize",
  "authorized",
  "not_authorized",
  "approved",
  "refused",
  "cancel",
  "suspend",
  "resume",
  "terminate",
  "termination_confirmed",
  "termination_refused",
  "withdraw",
  "ended_by_bank",
  "expire",
] as const;
export type MandateTrigger = (typeof MANDATE_TRIGGERS)[number];

/** A bank's permission to debit a customer. */
export const Mandate = Type.Object(
  {
    id: Id,
    company_id: Id,
    reference: Type.String(),
    scheme_reference: nullable(Type.String()),
    customer_id: Id,
    customer: Type.Object({
      id: Id,
      name: Type.String(),
      email: Type.String(),
      phone: nullable(Type.String()),
      ic_number: nullable(Type.String({ description: "all but the last four digits hidden" })),
    }),
    emandate_product_id: nullable(Id),
    product: nullable(
      Type.Object(
        { id: Id, product_code: Type.String(), product_name: Type.String() },
        { title: "ProductOfMandate" },
      ),
    ),
    connector: oneOf(CONNECTORS),
    application_type: oneOf(APPLICATION_TYPES),
    status: oneOf(MANDATE_STATUSES),
    status_reason: nullable(Type.String()),
    bankscheme_txn_amount: nullable(AmountAnswer),
    max_amount: AmountAnswer,
    max_no_debit: Type.String(),
    frequency: oneOf(FREQUENCIES),
    frequency_mode: oneOf(FREQUENCY_MODES),
    currency: Type.Literal("MYR"),
    bank_code: nullable(Type.String()),
    bank_account_last4: nullable(Type.String()),
    effective_date: nullable(Type.String()),
    expiry_date: nullable(Type.String({ description: "the last day in Kuala Lumpur" })),
    amendment: nullable(Amendment),
    next_collection_at: nullable(At),
    authorization_url: nullable(Type.String()),
    authorized_at: nullable(At),
    activated_at: nullable(At),
    terminated_at: nullable(At),
    created_at: At,
    updated_at: At,
  },
  { title: "Mandate" },
);
export type Mandate = Static<typeof Mandate>;

/** An entry in the history of a mandate. */
export const MandateEvent = Type.Object(
  {
    type: Type.String(),
    status: oneOf(MANDATE_STATUSES),
    reason: nullable(Type.String()),
    created_at: At,
  },
  { title: "MandateEvent" },
);
export type MandateEvent = Static<typeof MandateEvent>;

export const MandateDetail = Type.Object(
  {
    ...Mandate.properties,
    order_no: nullable(Type.String({ description: "of the last order about the mandate itself" })),
    payments: Type.Array(MandatePayment, {
      description: `newest first, at most ${LIMITS.mandate_payments}; GET /emandate/payments has all`,
    }),
    events: Type.Array(MandateEvent, {
      description: `newest first, at most ${LIMITS.mandate_events}`,
    }),
  },
  { title: "MandateDetail" },
);

/** The terms of a mandate that an amendment can change. */
export const AmendedTerms = Type.Object({
  bankscheme_txn_amount: nullable(AmountAnswer),
  max_amount: AmountAnswer,
  frequency: oneOf(FREQUENCIES),
  expiry_date: nullable(Type.String()),
  next_collections: Type.Array(Type.String(), { description: "the next collection days, at most three" }),
});
export type AmendedTerms = Static<typeof AmendedTerms>;

/** The effect that an amendment would have today. */
export const AmendmentPreview = Type.Object(
  {
    before: AmendedTerms,
    after: AmendedTerms,
    due: Type.Array(Type.String(), {
      description: "days already due by the present frequency: they are still collected",
    }),
    waiting_payments: Type.Integer({
      description: "open payments of collections, retries included, that would take the new amount",
    }),
  },
  { title: "AmendmentPreview" },
);

export const ListMandates = strict({
  ids: idsField,
  status: Type.Optional(oneOf(MANDATE_STATUSES)),
  customer_id: Type.Optional(Id),
  product_id: Type.Optional(Id),
  search: Type.Optional(Search),
  sort: sortedBy(["id", "next_collection_at", "bankscheme_txn_amount"]),
  ...pageFieldsUpTo(LIMITS.emandate_page_limit),
});

export const CreateMandate = strict(
  {
    customer_name: CustomerName,
    customer_email: Email,
    customer_phone: Type.Optional(Type.String({ maxLength: SHARED_LIMITS.name_length })),
    customer_ic_number: Type.Optional(Type.String({ maxLength: SHARED_LIMITS.name_length })),
    emandate_product_id: Type.Optional(Id),
    bankscheme_txn_amount: Type.Optional(Amount),
    frequency_mode: Type.Optional(oneOf(FREQUENCY_MODES)),
    frequency: Type.Optional(oneOf(FREQUENCIES)),
  },
  { title: "CreateMandate" },
);
export type CreateMandate = Static<typeof CreateMandate>;

export const AuthorizeMandate = strict(
  {
    ...ById.properties,
    bank_code: Type.Optional(Type.String({ pattern: "^[A-Z0-9]{1,10}$", description: "a bank's code" })),
  },
  { title: "AuthorizeMandate" },
);

/** A mandate, and the reason for the action. */
export const MandateAction = strict(
  { ...ById.properties, reason: Type.Optional(trimmedText(LIMITS.mandate_reason_length)) },
  { title: "MandateAction" },
);

export const AmendMandate = strict(
  {
    ...ById.properties,
    amount: Type.Optional(Amount),
    frequency: Type.Optional(oneOf(FREQUENCIES)),
    expiry_date: Type.Optional(Day),
  },
  { title: "AmendMandate" },
);
