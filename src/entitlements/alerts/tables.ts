import { alertTable } from "../../billing/features/alert_tables.ts";
import { WINDOWS } from "../../billing/features/entitlement_model.ts";
import { subscriptionTable } from "../../billing/subscriptions/tables.ts";
import type { ColumnKit } from "../../store/columns.ts";
import { companyColumn } from "../../tenancy/companies/tables.ts";

/** What was told: a threshold of an alert, or without one a limit that was reached. Each once a window. */
export const alertFiringTable = (k: ColumnKit) =>
  k.table(
    "alert_firings",
    {
      id: k.id(),
      ...companyColumn(k),
      /** What makes it one: a digest of the alert, the subscription, the window, the group and the threshold. */
      digest: k.text("digest").notNull(),
      alert_id: k.ref("alert_id", alertTable),
      subscription_id: k.ref("subscription_id", subscriptionTable).notNull(),
      threshold: k.decimal("threshold").notNull(),
      value: k.decimal("value").notNull(),
      limit: k.decimal("limit"),
      window: k.enumeration("window", WINDOWS).notNull(),
      window_start: k.at("window_start").notNull(),
      window_end: k.at("window_end"),
      per: k.text("per"),
      group: k.text("group"),
      at: k.at("at").notNull(),
    },
    (t) => [
      k.uniqueIndex("alert_firings_digest").on(t.company_id, t.digest),
      k.index("alert_firings_alert").on(t.alert_id, t.id),
      k.index("alert_firings_window").on(t.company_id, t.window_end),
    ],
  );
