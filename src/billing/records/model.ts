import { type Static, Type } from "@sinclair/typebox";
import { rangeFields } from "../../core/instants.ts";
import { Currency } from "../../tenancy/companies/model.ts";
import { At, Id, nullable, oneOf, pageFields, sortedBy, strict, sumsField, Uuid } from "../../core/schema.ts";
import { SHARED_LIMITS } from "../../core/limits.ts";
import { MAX_TIMESTAMP_MS } from "../../usage_store/port.ts";
import { DecimalText } from "../decimals.ts";
import { BillLine } from "../rating/bill_line.ts";
import { Unmetered } from "../meters/unmetered.ts";
import { RECORD_KINDS } from "../rating/record_kinds.ts";
import { Subscription } from "../subscriptions/model.ts";

/** The fields of a record itself. */
export const RecordFields = Type.Object({
  id: Id,
  subscription_id: Id,
  billing_model_id: Type.Integer({ minimum: 1, description: "the model in force at the period's end" }),
  company_id: Id,
  kind: oneOf(RECORD_KINDS),
  sequence: Type.Integer({ minimum: 0, description: "the period's records in order: 0, 1, 2, …" }),
  adjusts_billing_record_id: nullable(Id),
  billing_run_id: nullable(Id),
  currency: Type.String(),
  billedUnits: Type.Number({ description: "units of the period; of an adjustment the signed difference" }),
  totalCharges: Type.String({ description: "a decimal with exactly the currency's digits" }),
  billingStartAt: At,
  billingEndAt: At,
  usage_until: Type.String({
    description: "events stored before this instant are counted",
    "x-schema": { type: "string", format: "date-time" },
  }),
  unmetered: Type.Optional({
    ...Unmetered,
    description:
      "of a model with charges: usage of the whole period, as far as it was known, that no charge and no priced own type counted",
  }),
  created_at: At,
  updated_at: At,
});

export type RecordFields = Static<typeof RecordFields>;

const named = "in lists, with=names";

/** A bill: what a subscription owes for a period, in advance or after it, or a later adjustment. Never edited. */
export const BillingRecord = Type.Object(
  {
    ...RecordFields.properties,
    subscription_name: Type.Optional(Type.String({ description: named })),
    client_id: Type.Optional({ ...Id, description: named }),
    client_name: Type.Optional(Type.String({ description: named })),
  },
  { title: "BillingRecord" },
);
export type BillingRecord = Static<typeof BillingRecord>;

export const BillingRecordDetail = Type.Object(
  { ...RecordFields.properties, lines: Type.Array(BillLine), subscription: Subscription },
  { title: "BillingRecordDetail" },
);
export type BillingRecordDetail = Static<typeof BillingRecordDetail>;

const Bound = Type.Optional(
  Type.String({
    pattern: "^-?(0|[1-9][0-9]{0,14})(\\.[0-9]{1,6})?$",
    description: "a decimal such as 120.50",
  }),
);

/** Of periods that begin from `from`, inclusive, to `to`, exclusive; amounts are bounded inclusively. */
export const ListBillingRecords = strict({
  client_id: Type.Optional(Id),
  subscription_id: Type.Optional(Id),
  product_id: Type.Optional(Id),
  billing_model_id: Type.Optional(Id),
  billing_run_id: Type.Optional(Id),
  kind: Type.Optional(oneOf(RECORD_KINDS)),
  currency: Type.Optional(Currency),
  min_amount: Bound,
  max_amount: Bound,
  ...rangeFields,
  sort: sortedBy(["id", "billingStartAt", "totalCharges"]),
  with: Type.Optional(oneOf(["names"], "names: with those of subscription and client")),
  ...sumsField,
  ...pageFields,
});
type ListBillingRecords = Static<typeof ListBillingRecords>;
export type RecordFilter = Omit<ListBillingRecords, "sort" | "with" | "sums" | "page" | "limit">;
export type RecordSort = NonNullable<ListBillingRecords["sort"]>;

/** An event, found by its id, its subscription and its time. */
export const FindEventLines = strict({
  id: Uuid,
  external_subscription_id: Type.String({ maxLength: SHARED_LIMITS.external_id_length }),
  timestamp: Type.Integer({
    minimum: 0,
    maximum: MAX_TIMESTAMP_MS,
    description: "of the event, Unix time in ms",
  }),
});

/** What bills make of an event. */
export const EventLines = Type.Object(
  {
    subscription_id: Id,
    is_billed: Type.Boolean({ description: "whether its period has a bill of its own" }),
    lines: Type.Array(
      Type.Object(
        {
          billing_record_id: Id,
          kind: oneOf(RECORD_KINDS, "of the record"),
          currency: Type.String(),
          takes_back: Type.Boolean({
            description: "whether it takes back that an earlier line counts the event",
          }),
          line: BillLine,
        },
        { title: "EventLine" },
      ),
      { description: "the lines that count the event, in the order in which they were written" },
    ),
  },
  { title: "EventLines" },
);
export type EventLines = Static<typeof EventLines>;

const UsageProof = Type.Object(
  { quantity: DecimalText, event_count: Type.Integer(), usage_digest: Type.String() },
  { title: "UsageProof" },
);
export type UsageProof = Static<typeof UsageProof>;

export const Difference = Type.Object(
  {
    path: Type.String({ description: "where in the record, such as /lines/0/amount" }),
    expected: nullable(Type.String()),
    actual: nullable(Type.String({ description: "the value in the record" })),
  },
  { title: "BillingRecordDifference" },
);
export type Difference = Static<typeof Difference>;

/** The result of verifying a record against its events, prices and lines. Decision 0129. */
export const Verification = Type.Object(
  {
    matches: Type.Boolean(),
    lines: Type.Array(
      Type.Object({
        billing_model_id: Id,
        from: At,
        to: At,
        charge_code: Type.Optional(Type.String()),
        match: Type.Optional(nullable(Type.Record(Type.String(), Type.String()))),
        expected: UsageProof,
        actual: UsageProof,
      }),
      { description: "the usage lines: expected by the stored events, actual by the record" },
    ),
    differences: Type.Array(Difference, {
      description: "every field of the record that is wrong; empty when it matches",
    }),
  },
  { title: "BillingRecordVerification" },
);
export type Verification = Static<typeof Verification>;
