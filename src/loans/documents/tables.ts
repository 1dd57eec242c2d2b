import { sql } from "drizzle-orm";
import { ENVIRONMENTS } from "../../core/access.ts";
import { AppError } from "../../core/errors.ts";
import { type ColumnKit, stamps } from "../../store/columns.ts";
import { companyColumn } from "../../tenancy/companies/tables.ts";
import { loanApplicationTable } from "../applications/tables.ts";
import { DOCUMENT_TYPES } from "../programs/model.ts";
import { CONTENT_TYPES, DOCUMENT_REASONS, DOCUMENT_STATUSES } from "./model.ts";

export const loanDocumentTable = (k: ColumnKit) =>
  k.table(
    "loan_documents",
    {
      id: k.id(),
      ...companyColumn(k),
      environment: k.enumeration("environment", ENVIRONMENTS).notNull(),
      application_id: k.ref("application_id", loanApplicationTable).notNull(),
      type: k.enumeration("type", DOCUMENT_TYPES).notNull(),
      file_name: k.text("file_name").notNull(),
      content_type: k.enumeration("content_type", CONTENT_TYPES).notNull(),
      size: k.integer("size").notNull(),
      /** The SHA-256 of the bytes, which names the file. */
      sha256: k.text("sha256").notNull(),
      /** The object in the bucket that has them; null: a file in DATA_DIR. */
      object_id: k.text("object_id"),
      status: k.enumeration("status", DOCUMENT_STATUSES).notNull(),
      reason_code: k.enumeration("reason_code", DOCUMENT_REASONS),
      note: k.text("note"),
      reviewed_at: k.at("reviewed_at"),
      uploaded_by: k.text("uploaded_by").notNull(),
      ...stamps(k),
    },
    (t) => [
      // One of concurrent uploads becomes the type's current document.
      k.uniqueIndex("loan_documents_current").on(t.application_id, t.type).where(sql`status <> 'superseded'`),
      k.index("loan_documents_application").on(t.application_id, t.id),
      k.index("loan_documents_file").on(t.company_id, t.sha256),
      k.uniqueIndex("loan_documents_object").on(t.object_id),
    ],
  );

export const LOAN_DOCUMENT_CONSTRAINTS = {
  loan_documents_current: () =>
    new AppError("conflict", "Cannot store the document: another of its type was uploaded at the same time"),
};
