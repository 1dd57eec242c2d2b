import { sql } from "drizzle-orm";
import { type ColumnKit, stamps } from "../../store/columns.ts";
import { companyColumn } from "../../tenancy/companies/tables.ts";
import { mandateOrderTable } from "../orders/tables.ts";
import { mandatePaymentTable } from "../payments/tables.ts";
import { mandateTable } from "../mandates/tables.ts";
import { FLAG_REASONS } from "./model.ts";

/** Debits and mandates that a person must look at. */
export const mandateFlagTable = (k: ColumnKit) =>
  k.table(
    "mandate_flags",
    {
      id: k.id(),
      ...companyColumn(k),
      mandate_id: k.ref("mandate_id", mandateTable).notNull(),
      payment_id: k.ref("payment_id", mandatePaymentTable),
      order_id: k.ref("order_id", mandateOrderTable).notNull(),
      reason: k.enumeration("reason", FLAG_REASONS).notNull(),
      /** Tells flags of one order and reason apart: the awaited step, or the scheme's code. */
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
      // The same result again raises no second flag, also once the first is resolved.
      k.uniqueIndex("mandate_flags_order").on(t.order_id, t.reason, t.about),
      k.index("mandate_flags_company").on(t.company_id, t.id),
      k.index("mandate_flags_open").on(t.company_id, t.id).where(sql`resolved_at IS NULL`),
      k.index("mandate_flags_mandate").on(t.mandate_id, t.id),
    ],
  );
