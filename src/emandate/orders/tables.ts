import { sql } from "drizzle-orm";
import { type ColumnKit, stamps } from "../../store/columns.ts";
import { collectionRunTable } from "../collections/tables.ts";
import { companyColumn } from "../../tenancy/companies/tables.ts";
import { mandatePaymentTable } from "../payments/tables.ts";
import { mandateTable } from "../mandates/tables.ts";
import { type Amendment, ORDER_STATUSES } from "./model.ts";
import { CONNECTORS, ORDER_AWAITS, ORDER_KINDS } from "../scheme/connector.ts";

/** Instructions to the scheme. A payment's attempts are its orders. */
export const mandateOrderTable = (k: ColumnKit) =>
  k.table(
    "mandate_orders",
    {
      id: k.id(),
      ...companyColumn(k),
      mandate_id: k.ref("mandate_id", mandateTable).notNull(),
      payment_id: k.ref("payment_id", mandatePaymentTable),
      /** The collection run that made it; null for one that a user or the enrolment made. */
      collection_run_id: k.ref("collection_run_id", collectionRunTable),
      connector: k.enumeration("connector", CONNECTORS).notNull(),
      kind: k.enumeration("kind", ORDER_KINDS).notNull(),
      /** The scheme's key for it: unique in the whole deployment. */
      order_no: k.text("order_no").notNull(),
      /** Counts the attempts of a payment, from 1. */
      attempt_no: k.integer("attempt_no").notNull(),
      amount: k.sen("amount").notNull(),
      status: k.enumeration("status", ORDER_STATUSES).notNull(),
      awaits: k.enumeration("awaits", ORDER_AWAITS),
      /** Since when it awaits that step: status queries are timed from then. */
      awaits_since: k.at("awaits_since").notNull(),
      response_code: k.text("response_code"),
      response_message: k.text("response_message"),
      scheme_txn_id: k.text("scheme_txn_id"),
      submitted_at: k.at("submitted_at").notNull(),
      completed_at: k.at("completed_at"),
      /** The next status query, and how many there were. */
      next_query_at: k.at("next_query_at"),
      queries: k.integer("queries").notNull(),
      /** The codes of failures that another answer followed, apart by spaces: the bank may have taken them back. */
      corrected_code: k.text("corrected_code"),
      /** The terms that an amendment asks for, kept also after the mandate stopped waiting for it. */
      amendment: k.json<Amendment>("amendment"),
      /** Since when it is not polled any more. */
      flagged_at: k.at("flagged_at"),
      ...stamps(k),
    },
    (t) => [
      k.uniqueIndex("mandate_orders_number").on(t.order_no),
      k.uniqueIndex("mandate_orders_attempt").on(t.payment_id, t.attempt_no),
      k.index("mandate_orders_mandate").on(t.mandate_id, t.id),
      k.index("mandate_orders_run").on(t.collection_run_id, t.id),
      // Debits by file that have no result yet: each run looks for those in no file.
      k
        .index("mandate_orders_by_file")
        .on(t.company_id, t.collection_run_id, t.id)
        .where(sql`awaits = 'payment' AND connector = 'fpx'`),
      // Those sent whose result is not known yet: a metric counts the old ones.
      k
        .index("mandate_orders_unanswered")
        .on(t.submitted_at)
        .where(sql`awaits IN ('payment', 'confirmation')`),
      // The polling job looks every second, for all companies.
      k.index("mandate_orders_query").on(t.next_query_at, t.company_id).where(sql`next_query_at IS NOT NULL`),
    ],
  );
