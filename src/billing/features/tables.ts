import { invalid } from "../../core/errors.ts";
import { type ColumnKit, stamps } from "../../store/columns.ts";
import { companyColumn } from "../../tenancy/companies/tables.ts";
import { meterTable } from "../meters/tables.ts";
import { subscriptionTable } from "../subscriptions/tables.ts";
import type { Entitlement } from "./entitlement_model.ts";
import { FEATURE_KINDS } from "./model.ts";

export const featureTable = (k: ColumnKit) =>
  k.table(
    "features",
    {
      id: k.id(),
      ...companyColumn(k),
      code: k.text("code").notNull(),
      name: k.text("name").notNull(),
      description: k.text("description").notNull(),
      kind: k.enumeration("kind", FEATURE_KINDS).notNull(),
      meter_id: k.ref("meter_id", meterTable),
      ...stamps(k),
    },
    (t) => [k.uniqueIndex("features_code").on(t.company_id, t.code)],
  );

/** A subscription's own entitlements to a feature, in place of its billing model's. */
export const subscriptionEntitlementTable = (k: ColumnKit) =>
  k.table(
    "subscription_entitlements",
    {
      id: k.id(),
      ...companyColumn(k),
      subscription_id: k.ref("subscription_id", subscriptionTable).notNull(),
      feature_id: k.ref("feature_id", featureTable).notNull(),
      entitlements: k.json<Entitlement[]>("entitlements").notNull(),
      ...stamps(k),
    },
    (t) => [
      k.uniqueIndex("subscription_entitlements_feature").on(t.subscription_id, t.feature_id),
      k.index("subscription_entitlements_company").on(t.company_id, t.feature_id),
    ],
  );

export const FEATURE_CONSTRAINTS = {
  features_code: () => invalid("/code", "is already used by another feature of this company"),
};
