import type { ColumnKit } from "../../store/columns.ts";
import { companyColumn, type CompanyTables } from "../companies/tables.ts";
import type { SubscriptionTables } from "../subscriptions/tables.ts";

export function creditTables(k: ColumnKit, { companies, subscriptions }: CompanyTables & SubscriptionTables) {
  /** The shares of a month's credits that were used up, and told of. */
  const credit_thresholds = k.table(
    "credit_thresholds",
    {
      id: k.id(),
      ...companyColumn(k, companies),
      subscription_id: k
        .integer("subscription_id")
        .notNull()
        .references(() => subscriptions.id),
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
  return { credit_thresholds };
}
