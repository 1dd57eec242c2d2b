import { sql } from "drizzle-orm";
import { invalid } from "../../core/errors.ts";
import { type ColumnKit, lowerOrder, stamps } from "../../store/columns.ts";
import { billingModelTable } from "../billing_models/tables.ts";
import { clientTable } from "../../tenancy/clients/tables.ts";
import { companyColumn } from "../../tenancy/companies/tables.ts";
import { productTable } from "../products/tables.ts";

export const subscriptionTable = (k: ColumnKit) =>
  k.table(
    "subscriptions",
    {
      id: k.id(),
      name: k.text("name").notNull(),
      external_subscription_id: k.text("external_subscription_id").notNull(),
      client_id: k.ref("client_id", clientTable).notNull(),
      product_id: k.ref("product_id", productTable).notNull(),
      /** The model in force now. */
      billing_model_id: k.ref("billing_model_id", billingModelTable).notNull(),
      ...companyColumn(k),
      started_at: k.at("started_at").notNull(),
      /** When it ends or ended; the status follows from it. */
      ends_at: k.at("ends_at"),
      /** Where it ends with a billing period: an instant of it. ends_at then follows the time zone. */
      last_period_at: k.at("last_period_at"),
      billing_anchor_day: k.integer("billing_anchor_day").notNull(),
      /** Null: as many as the billing model has. */
      trial_days: k.integer("trial_days"),
      ...stamps(k),
    },
    (t) => [
      k.uniqueIndex("subscriptions_external_id").on(t.company_id, t.external_subscription_id),
      // Those of a company, in pages by id.
      k.index("subscriptions_company").on(t.company_id, t.id),
      k.index("subscriptions_client").on(t.client_id),
      // Searches for names and external ids that begin with a text.
      k.index("subscriptions_name").on(t.company_id, lowerOrder(k, t.name)),
      k.index("subscriptions_external_order").on(t.company_id, lowerOrder(k, t.external_subscription_id)),
      k.index("subscriptions_following").on(t.company_id, t.ends_at).where(sql`last_period_at is not null`),
      k.index("subscriptions_product").on(t.product_id),
      k.index("subscriptions_billing_model").on(t.billing_model_id),
    ],
  );

export const SUBSCRIPTION_CONSTRAINTS = {
  subscriptions_external_id: () =>
    invalid("/external_subscription_id", "is already used by another subscription of this company"),
};
