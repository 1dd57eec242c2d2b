import { type Static, Type } from "@sinclair/typebox";
import { LIMITS } from "../limits.ts";
import { At, Id, nullable, oneOf, pageFields, sortedBy, strict } from "../../core/schema.ts";
import { DecimalText } from "../decimals.ts";
import { Unmetered } from "../meters/unmetered.ts";
import { BillLine } from "../rating/bill_line.ts";
import { BillingRecord } from "../records/model.ts";

/** A record as part of a run's result; one that a dry run would write has no id. */
export const RunRecord = Type.Object(
  { ...BillingRecord.properties, id: Type.Optional(Id), lines: Type.Array(BillLine) },
  { title: "BillingRunRecord" },
);
export type RunRecord = Static<typeof RunRecord>;

export const RUN_STATUSES = ["running", "finished", "interrupted"] as const;

const RunCounts = Type.Object(
  {
    subscriptions: Type.Integer({
      description: "looked at so far; one with periods that are due once these are settled",
    }),
    periods: Type.Integer({ description: "records of periods written" }),
    adjustments: Type.Integer({ description: "adjustments written" }),
    interims: Type.Optional(
      Type.Integer({ description: "records of usage so far written; there if any was" }),
    ),
    advances: Type.Optional(Type.Integer({ description: "records in advance written; there if any was" })),
    unchanged: Type.Integer({ description: "periods whose records are up to date" }),
    not_due: Type.Integer({ description: "periods that have begun, or were named, and can't be billed yet" }),
    failed: Type.Integer({ description: "subscriptions with an error" }),
    late_unbilled: Type.Integer({
      description: "new findings of unbilled usage: GET /unbilled-usage",
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

/** A billing run. `requested_by` is the user, null where the system started it. */
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

/** A run with the first of its records. */
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

export const ListBillingRuns = strict({ sort: sortedBy(["id", "period", "created_at"]), ...pageFields });

export const PreviewBill = strict({ id: Id, projected: Type.Optional(Type.Boolean()) });

/** The bill that the running period would have now. */
export const BillPreview = Type.Object(
  {
    from: At,
    to: At,
    lines: Type.Array(BillLine),
    total: Type.String({ description: "a decimal with exactly the currency's digits" }),
    currency: Type.String(),
    unmetered: Type.Optional(Unmetered),
    projected_total: Type.Optional(
      Type.String({ description: "with ?projected=true: the total if usage goes on as it did" }),
    ),
  },
  { title: "BillPreview" },
);

export const UNBILLED_REASONS = ["late", "after_end"] as const;

/** Stored usage that no bill counts. Decision 0126. */
export const UnbilledUsage = Type.Object(
  {
    id: Id,
    company_id: Id,
    subscription_id: Id,
    reason: oneOf(
      UNBILLED_REASONS,
      "late: stored when the daily recheck no longer looked at its period; a run that names the period bills it. after_end: dated after the subscription's end, which was set later",
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

export const ListUnbilledUsage = strict({
  subscription_id: Type.Optional(Id),
  sort: sortedBy(["id", "from", "event_count"]),
  ...pageFields,
});
