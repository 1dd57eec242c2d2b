import { sql } from "drizzle-orm";
import { type ColumnKit, stamps } from "../../store/columns.ts";
import { companyColumn, companyTable } from "../../tenancy/companies/tables.ts";
import { subscriptionTable } from "../subscriptions/tables.ts";
import { type CurrencySum, RUN_STATUSES, type RunCounts, type RunError, UNBILLED_REASONS } from "./model.ts";

export const billingRunTable = (k: ColumnKit) =>
  k.table(
    "billing_runs",
    {
      id: k.id(),
      ...companyColumn(k),
      status: k.enumeration("status", RUN_STATUSES).notNull(),
      dry_run: k.boolean("dry_run").notNull(),
      period: k.text("period"),
      /** A user's id, which outlives the user; null where the system started the run. */
      requested_by: k.integer("requested_by"),
      /** The rest of what it was asked for, from which another instance goes on. */
      subscription_ids: k.json<number[]>("subscription_ids"),
      closed_since: k.at("closed_since"),
      counts: k.json<RunCounts>("counts").notNull(),
      errors: k.json<RunError[]>("errors").notNull(),
      totals: k.json<CurrencySum[]>("totals").notNull().default([]),
      finished_at: k.at("finished_at"),
      ...stamps(k),
    },
    (t) => [
      k.index("billing_runs_company").on(t.company_id, t.id),
      k.index("billing_runs_running").on(t.updated_at, t.company_id).where(sql`status = 'running'`),
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
