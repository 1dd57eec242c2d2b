import { type ColumnKit, stamps } from "../../store/columns.ts";
import { companyColumn } from "../../tenancy/companies/tables.ts";
import { mandateTable } from "../mandates/tables.ts";
import { PAYMENT_STATUSES } from "./model.ts";
import { FREQUENCIES } from "../schedule.ts";

export const mandatePaymentTable = (k: ColumnKit) =>
  k.table(
    "mandate_payments",
    {
      id: k.id(),
      ...companyColumn(k),
      mandate_id: k.ref("mandate_id", mandateTable).notNull(),
      /** The period that it collects; null for a debit by hand. */
      period_key: k.text("period_key"),
      /** A day in Kuala Lumpur, YYYY-MM-DD. */
      due_date: k.text("due_date").notNull(),
      /** The day of the debit: first as planned, then as it happened. max_no_debit counts by it. */
      debit_date: k.text("debit_date").notNull(),
      /** The frequency of its mandate when it was created: amendments do not change its period. */
      frequency: k.enumeration("frequency", FREQUENCIES).notNull(),
      amount: k.sen("amount").notNull(),
      description: k.text("description"),
      status: k.enumeration("status", PAYMENT_STATUSES).notNull(),
      attempt_count: k.integer("attempt_count").notNull(),
      next_attempt_at: k.at("next_attempt_at"),
      /** The order of the last attempt, or of the one that was paid. */
      order_no: k.text("order_no"),
      scheme_txn_id: k.text("scheme_txn_id"),
      response_code: k.text("response_code"),
      response_message: k.text("response_message"),
      paid_at: k.at("paid_at"),
      /** When its failure was forgiven, because the mandate was resumed. */
      forgiven_at: k.at("forgiven_at"),
      ...stamps(k),
    },
    (t) => [
      // A period is collected once, whichever run does it.
      k.uniqueIndex("mandate_payments_period").on(t.mandate_id, t.period_key),
      k.index("mandate_payments_company").on(t.company_id, t.id),
      k.index("mandate_payments_mandate").on(t.mandate_id, t.debit_date),
      k.index("mandate_payments_due").on(t.company_id, t.status, t.next_attempt_at, t.id),
    ],
  );
