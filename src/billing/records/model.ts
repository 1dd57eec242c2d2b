import { type Static, Type } from "@sinclair/typebox";
import { LIMITS } from "../../core/limits.ts";
import { At, Id, nullable, oneOf, pageFields, strict } from "../../core/schema.ts";
import { Subscription } from "../subscriptions/model.ts";

const DecimalText = Type.String({ description: "a decimal such as 12.5" });

/** A line of a bill. */
const BillLine = Type.Object(
  {
    kind: oneOf(["fee", "usage", "maximum_cap", "minimum_true_up", "overage"]),
    description: Type.String(),
    billing_model_id: Id,
    from: At,
    to: At,
    quantity: DecimalText,
    unit_price: nullable(DecimalText),
    amount: DecimalText,
    event_count: nullable(Type.Integer()),
    usage_digest: nullable(Type.String()),
    proration: nullable(Type.Object({ numerator: Type.Integer(), denominator: Type.Integer() })),
  },
  { title: "BillLine" },
);

export const RECORD_KINDS = ["period", "adjustment"] as const;

const recordFields = {
  subscription_id: Id,
  billing_model_id: Type.Integer({ minimum: 1, description: "the model in force at the period's end" }),
  company_id: Id,
  kind: oneOf(RECORD_KINDS),
  sequence: Type.Integer({ minimum: 0, description: "0 for the period's own record, then 1, 2, …" }),
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
  created_at: At,
  updated_at: At,
};

/** What a subscription owes for a billing period, or what was learned about it later. It is never edited. */
export const BillingRecord = Type.Object({ id: Id, ...recordFields }, { title: "BillingRecord" });
export type BillingRecord = Static<typeof BillingRecord>;

export const BillingRecordDetail = Type.Object(
  { ...BillingRecord.properties, lines: Type.Array(BillLine), subscription: Subscription },
  { title: "BillingRecordDetail" },
);
export type BillingRecordDetail = Static<typeof BillingRecordDetail>;

/** A record as a run answers it; one that a dry run would write has no id. */
export const RunRecord = Type.Object(
  { id: Type.Optional(Id), ...recordFields, lines: Type.Array(BillLine) },
  { title: "BillingRunRecord" },
);
export type RunRecord = Static<typeof RunRecord>;

export const ListBillingRecords = strict({
  client_id: Type.Optional(Id),
  subscription_id: Type.Optional(Id),
  kind: Type.Optional(oneOf(RECORD_KINDS)),
  ...pageFields,
});

/** A bill as it would be now. */
export const BillPreview = Type.Object(
  {
    from: At,
    to: At,
    lines: Type.Array(BillLine),
    total: Type.String({ description: "a decimal with exactly the currency's digits" }),
    currency: Type.String(),
  },
  { title: "BillPreview" },
);

const UsageProof = Type.Object(
  { quantity: DecimalText, event_count: Type.Integer(), usage_digest: Type.String() },
  { title: "UsageProof" },
);
export type UsageProof = Static<typeof UsageProof>;

const Difference = Type.Object(
  {
    path: Type.String({ description: "where in the record, such as /lines/0/amount" }),
    expected: nullable(Type.String()),
    actual: nullable(Type.String({ description: "what the record says" })),
  },
  { title: "BillingRecordDifference" },
);
export type Difference = Static<typeof Difference>;

/** Whether a record says what its events, prices and lines come to. Decision 0129. */
export const Verification = Type.Object(
  {
    matches: Type.Boolean(),
    lines: Type.Array(
      Type.Object({
        billing_model_id: Id,
        from: At,
        to: At,
        expected: UsageProof,
        actual: UsageProof,
      }),
      { description: "the usage lines: expected is what the stored events say, actual what the record says" },
    ),
    differences: Type.Array(Difference, {
      description: "everything in the record that is not what it should be; none when it matches",
    }),
  },
  { title: "BillingRecordVerification" },
);
export type Verification = Static<typeof Verification>;

const RUN_STATUSES = ["running", "finished", "interrupted"] as const;

const RunCounts = Type.Object(
  {
    subscriptions: Type.Integer({ description: "looked at so far" }),
    periods: Type.Integer({ description: "records of periods written" }),
    adjustments: Type.Integer({ description: "adjustments written" }),
    unchanged: Type.Integer({ description: "periods whose records say all there is to say" }),
    not_due: Type.Integer({ description: "periods that have begun, or were named, and can't be billed yet" }),
    failed: Type.Integer({ description: "subscriptions with an error" }),
    late_unbilled: Type.Integer({
      description: "findings of usage that no bill counts: GET /unbilled-usage",
    }),
  },
  { title: "BillingRunCounts" },
);
export type RunCounts = Static<typeof RunCounts>;

const CurrencySum = Type.Object(
  {
    currency: Type.String(),
    records: Type.Integer(),
    totalCharges: Type.String({ description: "a decimal with exactly the currency's digits" }),
  },
  { title: "BillingRunSum" },
);
export type CurrencySum = Static<typeof CurrencySum>;

const RunError = Type.Object(
  {
    subscription_id: nullable(Id),
    billingStartAt: nullable(At),
    message: Type.String(),
  },
  { title: "BillingRunError" },
);
export type RunError = Static<typeof RunError>;

/** One billing run. `requested_by` is the user, null where the house started it. */
export const BillingRun = Type.Object(
  {
    id: Id,
    company_id: Id,
    status: oneOf(RUN_STATUSES),
    dry_run: Type.Boolean(),
    period: nullable(Type.String({ description: "YYYY-MM" })),
    requested_by: nullable(Id),
    counts: RunCounts,
    totals: Type.Array(CurrencySum, {
      description: "sums of all records that were, or would be, written, by currency",
    }),
    finished_at: nullable(At),
    created_at: At,
    updated_at: At,
  },
  { title: "BillingRun" },
);
export type BillingRun = Static<typeof BillingRun>;

export const BillingRunDetail = Type.Object(
  {
    ...BillingRun.properties,
    errors: Type.Array(RunError, {
      description: `the first ${LIMITS.billing_run_errors}; one without a subscription ended the run`,
    }),
  },
  { title: "BillingRunDetail" },
);
export type BillingRunDetail = Static<typeof BillingRunDetail>;

/** What POST /billing-runs answers. */
export const BillingRunResult = Type.Object(
  {
    ...BillingRunDetail.properties,
    records: Type.Array(RunRecord, {
      description: `the first ${LIMITS.billing_run_records} that were, or would be, written`,
    }),
  },
  { title: "BillingRunResult" },
);
export type BillingRunResult = Static<typeof BillingRunResult>;

export const RunBilling = strict(
  {
    period: Type.Optional(
      Type.String({ pattern: "^\\d{4}-(0[1-9]|1[0-2])$", description: "a month such as 2026-11" }),
    ),
    subscription_ids: Type.Optional(
      Type.Array(Id, { minItems: 1, maxItems: LIMITS.billing_run_subscriptions }),
    ),
    dry_run: Type.Optional(Type.Boolean()),
  },
  { title: "RunBilling" },
);
export type RunBilling = Static<typeof RunBilling>;

export const ListBillingRuns = strict(pageFields);

export const UNBILLED_REASONS = ["late", "after_end"] as const;

/** Stored usage of a subscription that no bill counts. Decision 0126. */
export const UnbilledUsage = Type.Object(
  {
    id: Id,
    company_id: Id,
    subscription_id: Id,
    reason: oneOf(
      UNBILLED_REASONS,
      "late: stored when the daily recheck looked at its period no more; a run that names the period bills it. after_end: dated after the subscription's end, which came later",
    ),
    from: At,
    to: nullable(At),
    billing_record_id: nullable(Type.Integer({ minimum: 1, description: "the record of the period" })),
    units: DecimalText,
    event_count: Type.Integer(),
    created_at: At,
    updated_at: At,
  },
  { title: "UnbilledUsage" },
);
export type UnbilledUsage = Static<typeof UnbilledUsage>;

export const ListUnbilledUsage = strict({ subscription_id: Type.Optional(Id), ...pageFields });
