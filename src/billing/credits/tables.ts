import type { ColumnKit } from "../../store/columns.ts";
import { companyColumn } from "../../tenancy/companies/tables.ts";
import { subscriptionTable } from "../subscriptions/tables.ts";

/** The shares of a month's credits that were used up, and told of. */
export const creditThresholdTable = (k: ColumnKit) =>
  k.table(
    "credit_thresholds",
    {
      id: k.id(),
      ...companyColumn(k),
      subscription_id: k.ref("subscription_id", subscriptionTable).notNull(),
      /** Where the billing month starts. */
      month_start: k.at("month_start").notNull(),
      /** In percent of the allocation. */
      threshold: k.integer("threshold").notNull(),
      created_at: k.at("created_at").notNull(),
    },
    (t) => [
      // Told once, however many look at once.
      k.uniqueIndex("credit_thresholds_month").on(t.subscription_id, t.month_start, t.threshold),
    ],
  );
