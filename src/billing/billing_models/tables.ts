import { sql } from "drizzle-orm";
import { invalid } from "../../core/errors.ts";
import { type ColumnKit, stamps } from "../../store/columns.ts";
import type { Entitlement } from "../features/entitlement_model.ts";
import { meterTable } from "../meters/tables.ts";
import type { Charge, Commitment, UsageTier } from "./charge_model.ts";
import { clientTable } from "../../tenancy/clients/tables.ts";
import { companyColumn } from "../../tenancy/companies/tables.ts";
import { FEE_INTERVALS, FEE_TIMINGS } from "./fee_terms.ts";
import { type CreditPlan, PURPOSES } from "./model.ts";

export const billingModelTable = (k: ColumnKit) =>
  k.table(
    "billing_models",
    {
      id: k.id(),
      name: k.text("name").notNull(),
      billing_type_id: k.integer("billing_type_id").notNull(),
      price: k.wireNumber("price").notNull(),
      currency: k.text("currency").notNull(),
      description: k.text("description").notNull(),
      ...companyColumn(k),
      recurring_fee: k.decimal("recurring_fee").notNull(),
      free_units: k.decimal("free_units").notNull(),
      usage_tiers: k.json<UsageTier[]>("usage_tiers").notNull(),
      package_size: k.decimal("package_size"),
      minimum_charge: k.decimal("minimum_charge"),
      maximum_charge: k.decimal("maximum_charge"),
      charge_flat_on_zero: k.boolean("charge_flat_on_zero").notNull(),
      credit_plan: k.json<CreditPlan>("credit_plan"),
      meter_id: k.ref("meter_id", meterTable),
      charges: k.json<Charge[]>("charges").notNull().default([]),
      commitment: k.json<Commitment>("commitment"),
      setup_fee: k.decimal("setup_fee").notNull().default("0"),
      trial_days: k.integer("trial_days").notNull().default(0),
      fee_interval: k.enumeration("fee_interval", FEE_INTERVALS).notNull().default("month"),
      fee_timing: k.enumeration("fee_timing", FEE_TIMINGS).notNull().default("in_arrears"),
      entitlements: k.json<Entitlement[]>("entitlements").notNull().default([]),
      purpose: k.enumeration("purpose", PURPOSES).notNull().default("price"),
      /** The price book that it is in: one model for each currency. */
      plan_code: k.text("plan_code"),
      /** The only client whose subscriptions may take it. */
      for_client_id: k.ref("for_client_id", clientTable),
      /** A deleted model is archived: bills refer to it. */
      status: k.enumeration("status", ["active", "archived"]).notNull(),
      ...stamps(k),
    },
    (t) => [
      k.index("billing_models_company").on(t.company_id, t.id),
      k
        .uniqueIndex("billing_models_price_book")
        .on(t.company_id, t.plan_code, t.currency)
        .where(sql`status = 'active'`),
    ],
  );

export const BILLING_MODEL_CONSTRAINTS = {
  billing_models_price_book: () =>
    invalid("/plan_code", "is already used by another billing model of this company in that currency"),
};
