import { sql } from "drizzle-orm";
import { type ColumnKit, stamps } from "../../store/columns.ts";
import { companyColumn } from "../../tenancy/companies/tables.ts";
import { emandateCustomerTable } from "../customers/tables.ts";
import { emandateProductTable } from "../products/tables.ts";
import { APPLICATION_TYPES, MANDATE_STATUSES } from "./model.ts";
import type { Amendment } from "../orders/model.ts";
import { CONNECTORS } from "../scheme/connector.ts";
import { FREQUENCIES } from "../schedule.ts";

export const mandateTable = (k: ColumnKit) =>
  k.table(
    "mandates",
    {
      id: k.id(),
      ...companyColumn(k),
      /** EM-YYYYMMDD-000001. */
      reference: k.text("reference").notNull(),
      scheme_reference: k.text("scheme_reference"),
      customer_id: k.ref("customer_id", emandateCustomerTable).notNull(),
      emandate_product_id: k.ref("emandate_product_id", emandateProductTable),
      connector: k.enumeration("connector", CONNECTORS).notNull(),
      application_type: k.enumeration("application_type", APPLICATION_TYPES).notNull(),
      status: k.enumeration("status", MANDATE_STATUSES).notNull(),
      status_reason: k.text("status_reason"),
      /** The state to which a refused termination returns. */
      status_before: k.enumeration("status_before", MANDATE_STATUSES),
      /** The amount of each debit; null where debits are made by hand only. */
      bankscheme_txn_amount: k.sen("bankscheme_txn_amount"),
      max_amount: k.sen("max_amount").notNull(),
      max_no_debit: k.text("max_no_debit").notNull(),
      frequency: k.enumeration("frequency", FREQUENCIES).notNull(),
      bank_code: k.text("bank_code"),
      bank_account_last4: k.text("bank_account_last4"),
      /** The first and the last day in Kuala Lumpur, YYYY-MM-DD. */
      effective_date: k.text("effective_date"),
      expiry_date: k.text("expiry_date"),
      /** The amendment that awaits the bank. */
      amendment: k.json<Amendment>("amendment"),
      /** The day of the first collection; later ones keep its day of the month. */
      anchor_date: k.text("anchor_date"),
      next_collection_at: k.at("next_collection_at"),
      authorization_url: k.text("authorization_url"),
      authorized_at: k.at("authorized_at"),
      activated_at: k.at("activated_at"),
      terminated_at: k.at("terminated_at"),
      ...stamps(k),
    },
    (t) => [
      // Numbered within the day: of two that are created at once, one is retried.
      k.uniqueIndex("mandates_reference").on(t.company_id, t.reference),
      k.index("mandates_company").on(t.company_id, t.status, t.id),
      k.index("mandates_customer").on(t.customer_id),
      k.index("mandates_product").on(t.emandate_product_id),
      k.index("mandates_due").on(t.company_id, t.status, t.next_collection_at, t.id),
      // Each run looks for these; few where a company is in the sandbox.
      k.index("mandates_fpx").on(t.company_id, t.status).where(sql`connector = 'fpx'`),
      k.index("mandates_expiry").on(t.status, t.expiry_date).where(sql`expiry_date IS NOT NULL`),
    ],
  );

/** The history of each mandate: unlike the outbox, it is kept for good. */
export const mandateEventTable = (k: ColumnKit) =>
  k.table(
    "mandate_events",
    {
      id: k.id(),
      ...companyColumn(k),
      mandate_id: k.ref("mandate_id", mandateTable).notNull(),
      type: k.text("type").notNull(),
      status: k.enumeration("status", MANDATE_STATUSES).notNull(),
      reason: k.text("reason"),
      created_at: k.at("created_at").notNull(),
    },
    (t) => [k.index("mandate_events_mandate").on(t.mandate_id, t.id)],
  );
