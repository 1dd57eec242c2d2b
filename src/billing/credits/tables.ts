import type { ColumnKit } from "../../store/columns.ts";
import { companyColumn } from "../../tenancy/companies/tables.ts";
import { subscriptionTable } from "../subscriptions/tables.ts";

/** Thresholds that a month's credits have reached, each recorded with its event. */
export const creditThresholdTable = (k: ColumnKit) =>
  k.table(
    "credit_thresholds",
    {
      id: k.id(),
      ...companyColumn(k),
      subscription_id: k.ref("subscription_id", subscriptionTable).notNull(),
      /** The start of the billing month. */
      month_start: k.at("month_start").notNull(),
      /** In percent of the allocation. */
      threshold: k.integer("threshold").notNull(),
      created_at: k.at("created_at").notNull(),
    },
    (t) => [
      // Recorded once, also by concurrent runs.
      k.uniqueIndex("credit_thresholds_month").on(t.subscription_id, t.month_start, t.threshold),
      k.index("credit_thresholds_company").on(t.company_id, t.month_start),
    ],
  );
