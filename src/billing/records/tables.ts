import { AppError } from "../../core/errors.ts";
import { type ColumnKit, stamps } from "../../store/columns.ts";
import { billingModelTable } from "../billing_models/tables.ts";
import { companyColumn, companyTable } from "../../tenancy/companies/tables.ts";
import { subscriptionTable } from "../subscriptions/tables.ts";
import { type CurrencySum, type RunCounts, type RunError, UNBILLED_REASONS } from "./model.ts";
import type { BillLine } from "../rating/charges.ts";

export const billingRunTable = (k: ColumnKit) =>
  k.table(
    "billing_runs",
    {
      id: k.id(),
      ...companyColumn(k),
      status: k.enumeration("status", ["running", "finished", "interrupted"]).notNull(),
      dry_run: k.boolean("dry_run").notNull(),
      period: k.text("period"),
      /** A user's id, which outlives the user; null where the house started the run. */
      requested_by: k.integer("requested_by"),
      counts: k.json<RunCounts>("counts").notNull(),
      errors: k.json<RunError[]>("errors").notNull(),
      totals: k.json<CurrencySum[]>("totals").notNull().default([]),
      finished_at: k.at("finished_at"),
      ...stamps(k),
    },
    (t) => [k.index("billing_runs_company").on(t.company_id, t.id)],
  );

export const billingRecordTable = (k: ColumnKit) =>
  k.table(
    "billing_records",
    {
      id: k.id(),
      ...companyColumn(k),
      subscription_id: k.ref("subscription_id", subscriptionTable).notNull(),
      billing_model_id: k.ref("billing_model_id", billingModelTable).notNull(),
      /** Null for an adjustment that a change of the subscription made, outside a run. */
      billing_run_id: k.ref("billing_run_id", billingRunTable),
      kind: k.enumeration("kind", ["period", "adjustment"]).notNull(),
      sequence: k.integer("sequence").notNull(),
      adjusts_billing_record_id: k.integer("adjusts_billing_record_id"),
      currency: k.text("currency").notNull(),
      billedUnits: k.decimal("billedUnits").notNull(),
      totalCharges: k.decimal("totalCharges").notNull(),
      billingStartAt: k.at("billingStartAt").notNull(),
      billingEndAt: k.at("billingEndAt").notNull(),
      lines: k.json<BillLine[]>("lines").notNull(),
      /** Events stored before this instant were counted. */
      usage_until: k.at("usage_until").notNull(),
      /** And with a number up to this one, in the order of commits; null where it was not written down yet. */
      usage_seq: k.integer("usage_seq"),
      ...stamps(k),
    },
    (t) => [
      // Two runs at once write one record: the second one finds its place taken. That periods don't overlap is kept
      // by a trigger, which a migration that makes the table anew must make again.
      k.uniqueIndex("billing_records_period").on(t.subscription_id, t.billingStartAt, t.sequence),
      k.index("billing_records_company").on(t.company_id, t.id),
      k.index("billing_records_usage_seq").on(t.usage_seq),
    ],
  );

/** Stored usage that no bill counts, as the daily recheck found it. */
export const unbilledUsageTable = (k: ColumnKit) =>
  k.table(
    "unbilled_usage",
    {
      id: k.id(),
      ...companyColumn(k),
      subscription_id: k.ref("subscription_id", subscriptionTable).notNull(),
      reason: k.enumeration("reason", UNBILLED_REASONS).notNull(),
      from: k.at("from").notNull(),
      to: k.at("to"),
      billing_record_id: k.integer("billing_record_id"),
      units: k.decimal("units").notNull(),
      event_count: k.integer("event_count").notNull(),
      ...stamps(k),
    },
    (t) => [
      k.uniqueIndex("unbilled_usage_place").on(t.subscription_id, t.reason, t.from),
      k.index("unbilled_usage_company").on(t.company_id, t.id),
    ],
  );

/** Up to which event each company's usage was looked through for it. */
export const unbilledUsageCheckTable = (k: ColumnKit) =>
  k.table("unbilled_usage_checks", {
    company_id: k.ref("company_id", companyTable).primaryKey(),
    usage_seq: k.integer("usage_seq").notNull(),
  });

export const BILLING_CONSTRAINTS = {
  billing_records_overlap: () =>
    new AppError("conflict", "Cannot bill a period: another period's record covers a part of it"),
};
