import { sql } from "drizzle-orm";
import { invalid } from "../../core/errors.ts";
import { type ColumnKit, stamps } from "../../store/columns.ts";
import type { BillingModelTables } from "../billing_models/tables.ts";
import type { ClientTables } from "../clients/tables.ts";
import { companyColumn, type CompanyTables } from "../companies/tables.ts";
import type { ProductTables } from "../products/tables.ts";

export function subscriptionTables(
  k: ColumnKit,
  {
    companies,
    clients,
    products,
    billing_models,
  }: CompanyTables & ClientTables & ProductTables & BillingModelTables,
) {
  const subscriptions = k.table(
    "subscriptions",
    {
      id: k.id(),
      name: k.text("name").notNull(),
      external_subscription_id: k.text("external_subscription_id").notNull(),
      client_id: k
        .integer("client_id")
        .notNull()
        .references(() => clients.id),
      product_id: k
        .integer("product_id")
        .notNull()
        .references(() => products.id),
      /** The model in force now. */
      billing_model_id: k
        .integer("billing_model_id")
        .notNull()
        .references(() => billing_models.id),
      ...companyColumn(k, companies),
      started_at: k.at("started_at").notNull(),
      /** When it ends or ended; the status on the wire follows from it. */
      ends_at: k.at("ends_at"),
      /** An instant of its last billing period, where that one's end is meant: ends_at follows the zone. */
      last_period_at: k.at("last_period_at"),
      billing_anchor_day: k.integer("billing_anchor_day").notNull(),
      ...stamps(k),
    },
    (t) => [
      k.uniqueIndex("subscriptions_external_id").on(t.company_id, t.external_subscription_id),
      k.index("subscriptions_client").on(t.client_id),
      k.index("subscriptions_following").on(t.company_id, t.ends_at).where(sql`last_period_at is not null`),
      k.index("subscriptions_product").on(t.product_id),
      k.index("subscriptions_billing_model").on(t.billing_model_id),
    ],
  );
  return { subscriptions };
}

export type SubscriptionTables = ReturnType<typeof subscriptionTables>;

export const SUBSCRIPTION_CONSTRAINTS = {
  subscriptions_external_id: () =>
    invalid("/external_subscription_id", "is already used by another subscription of this company"),
};
