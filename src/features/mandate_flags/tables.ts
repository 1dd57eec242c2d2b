import { sql } from "drizzle-orm";
import { type ColumnKit, stamps } from "../../store/columns.ts";
import { companyColumn, type CompanyTables } from "../companies/tables.ts";
import type { MandateOrderTables } from "../mandate_orders/tables.ts";
import type { MandatePaymentTables } from "../mandate_payments/tables.ts";
import type { MandateTables } from "../mandates/tables.ts";
import { FLAG_REASONS } from "./model.ts";

export function mandateFlagTables(
  k: ColumnKit,
  {
    companies,
    mandates,
    mandate_payments,
    mandate_orders,
  }: CompanyTables & MandateTables & MandatePaymentTables & MandateOrderTables,
) {
  /** What a person must decide about debits and mandates. */
  const mandate_flags = k.table(
    "mandate_flags",
    {
      id: k.id(),
      ...companyColumn(k, companies),
      mandate_id: k
        .integer("mandate_id")
        .notNull()
        .references(() => mandates.id),
      payment_id: k.integer("payment_id").references(() => mandate_payments.id),
      order_id: k
        .integer("order_id")
        .notNull()
        .references(() => mandate_orders.id),
      reason: k.enumeration("reason", FLAG_REASONS).notNull(),
      /** What tells it from other flags of the same order and reason: what was awaited, or the scheme's code. */
      about: k.text("about").notNull(),
      response_code: k.text("response_code"),
      message: k.text("message"),
      note: k.text("note"),
      /** A user's id, which outlives the user. */
      resolved_by: k.integer("resolved_by"),
      resolved_at: k.at("resolved_at"),
      ...stamps(k),
    },
    (t) => [
      // However often the scheme says the same, it is one flag, also once that is resolved.
      k.uniqueIndex("mandate_flags_order").on(t.order_id, t.reason, t.about),
      k.index("mandate_flags_company").on(t.company_id, t.id),
      k.index("mandate_flags_open").on(t.company_id, t.id).where(sql`resolved_at IS NULL`),
      k.index("mandate_flags_mandate").on(t.mandate_id, t.id),
    ],
  );
  return { mandate_flags };
}
