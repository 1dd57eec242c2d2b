import { type ColumnKit, stamps } from "../../store/columns.ts";
import { companyColumn } from "../../tenancy/companies/tables.ts";
import { subscriptionTable } from "../../billing/subscriptions/tables.ts";

/** Whose limit it is: each may have one. */
export const SET_BY = ["company", "client"] as const;

export const spendLimitTable = (k: ColumnKit) =>
  k.table(
    "spend_limits",
    {
      id: k.id(),
      ...companyColumn(k),
      subscription_id: k.ref("subscription_id", subscriptionTable).notNull(),
      set_by: k.enumeration("set_by", SET_BY).notNull(),
      amount: k.decimal("amount").notNull(),
      hard: k.boolean("hard").notNull(),
      ...stamps(k),
    },
    (t) => [
      k.uniqueIndex("spend_limits_subscription").on(t.subscription_id, t.set_by),
      k.index("spend_limits_company").on(t.company_id),
    ],
  );
