import { type ColumnKit, stamps } from "../../store/columns.ts";
import { companyColumn } from "../../tenancy/companies/tables.ts";
import { meterTable } from "../meters/tables.ts";
import { featureTable } from "./tables.ts";

// Alerts are of entitlements; their table stands here, since meters and features that they name can't be deleted.

/** What an alert's thresholds are of. */
export const ALERT_KINDS = ["usage", "spend", "forecast", "limit"] as const;

/** The subscriptions of an alert: those that every given list names; without a list all of the company. */
export interface AlertScope {
  readonly client_ids?: number[];
  readonly product_ids?: number[];
  readonly billing_model_ids?: number[];
  readonly subscription_ids?: number[];
}

export const alertTable = (k: ColumnKit) =>
  k.table(
    "alerts",
    {
      id: k.id(),
      ...companyColumn(k),
      name: k.text("name").notNull(),
      on: k.enumeration("on", ALERT_KINDS).notNull(),
      meter_id: k.ref("meter_id", meterTable),
      feature_id: k.ref("feature_id", featureTable),
      currency: k.text("currency"),
      scope: k.json<AlertScope>("scope").notNull(),
      /** Ascending. */
      thresholds: k.json<string[]>("thresholds").notNull(),
      /** What a deleted alert told stays for a while. */
      status: k.enumeration("status", ["active", "deleted"]).notNull(),
      ...stamps(k),
    },
    (t) => [k.index("alerts_company").on(t.company_id)],
  );
