import { type ColumnKit, stamps } from "../../store/columns.ts";
import { companyColumn } from "../../tenancy/companies/tables.ts";
import { addOnTable } from "../add_ons/tables.ts";
import { subscriptionTable } from "../subscriptions/tables.ts";

/** Bookings of add-ons. None is deleted: bills are proved by them. */
export const subscriptionAddOnTable = (k: ColumnKit) =>
  k.table(
    "subscription_add_ons",
    {
      id: k.id(),
      ...companyColumn(k),
      subscription_id: k.ref("subscription_id", subscriptionTable).notNull(),
      add_on_id: k.ref("add_on_id", addOnTable).notNull(),
      quantity: k.decimal("quantity").notNull(),
      from: k.at("from").notNull(),
      until: k.at("until"),
      adjustment_billing_record_ids: k.json<number[]>("adjustment_billing_record_ids").notNull(),
      ...stamps(k),
    },
    (t) => [
      k.index("subscription_add_ons_subscription").on(t.subscription_id, t.from, t.id),
      k.index("subscription_add_ons_add_on").on(t.add_on_id),
    ],
  );
