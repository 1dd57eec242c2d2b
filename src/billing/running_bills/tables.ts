import type { ColumnKit } from "../../store/columns.ts";
import { companyColumn } from "../../tenancy/companies/tables.ts";
import { subscriptionTable } from "../subscriptions/tables.ts";

/** What the running periods of subscriptions come to, as they were last rated. */
export const runningBillTable = (k: ColumnKit) =>
  k.table(
    "running_bills",
    {
      id: k.id(),
      ...companyColumn(k),
      subscription_id: k.ref("subscription_id", subscriptionTable).notNull(),
      currency: k.text("currency").notNull(),
      /** Null: it can't be rated. */
      amount: k.decimal("amount"),
      /** Its period. */
      from: k.at("from").notNull(),
      to: k.at("to").notNull(),
      /** Events stored before this instant, with a number up to this one, are counted. */
      usage_until: k.at("usage_until").notNull(),
      usage_seq: k.integer("usage_seq").notNull(),
      /** When it was rated, or no usage had come since. */
      rated_at: k.at("rated_at").notNull(),
    },
    (t) => [
      k.uniqueIndex("running_bills_subscription").on(t.subscription_id),
      k.index("running_bills_company").on(t.company_id),
    ],
  );
