import { type Static, Type } from "@sinclair/typebox";
import { LIMITS } from "../limits.ts";
import { ENVIRONMENTS } from "../../core/access.ts";
import { At, Id, nullable, oneOf, pageFields, strict, textUpTo } from "../../core/schema.ts";
import { DOCUMENT_TYPES } from "../programs/model.ts";

/** The accepted media types of a document. */
export const CONTENT_TYPES = ["application/pdf", "image/jpeg", "image/png"] as const;
export type ContentType = (typeof CONTENT_TYPES)[number];

export const DOCUMENT_STATUSES = ["pending_review", "verified", "rejected", "superseded"] as const;
export type DocumentStatus = (typeof DOCUMENT_STATUSES)[number];

export const DOCUMENT_REASONS = [
  "blurry",
  "expired",
  "wrong_type",
  "incomplete",
  "name_mismatch",
  "other",
] as const;

/** A file that was uploaded for an application. */
export const LoanDocument = Type.Object(
  {
    id: Id,
    environment: oneOf(ENVIRONMENTS),
    application_id: Id,
    type: oneOf(DOCUMENT_TYPES),
    file_name: Type.String({
      description: "as uploaded, without folders and invisible characters",
    }),
    content_type: oneOf(CONTENT_TYPES, "detected from the first bytes"),
    size: Type.Integer({ description: "in bytes" }),
    sha256: Type.String({ description: "of its bytes, in hex" }),
    status: oneOf(DOCUMENT_STATUSES),
    reason_code: nullable(oneOf(DOCUMENT_REASONS)),
    note: nullable(Type.String({ description: "the lender's note on a rejection" })),
    reviewed_at: Type.Union([At, Type.Null()], {
      description:
        "when the lender last reviewed it; a verified document is pending review again after the borrower changes",
    }),
    uploaded_by: Type.String({ description: "the clientId of the loan agent's key, or the user's email" }),
    created_at: At,
    updated_at: At,
  },
  { title: "LoanDocument" },
);
export type LoanDocument = Static<typeof LoanDocument>;

/** The state of a document, as far as completeness depends on it. */
export type DocumentState = Pick<
  LoanDocument,
  "application_id" | "type" | "status" | "reason_code" | "reviewed_at" | "created_at"
>;

export const ListDocuments = strict({ id: Id, ...pageFields });

/** The fields of an upload beside the file. */
export const UploadFields = strict({ type: oneOf(DOCUMENT_TYPES) });

/** The parts of the multipart body, for the documentation. */
export const UploadBody = strict(
  {
    ...UploadFields.properties,
    file: Type.String({ format: "binary", description: "PDF, JPEG or PNG, at most 10 MiB" }),
  },
  { title: "UploadDocument" },
);

export const RejectDocument = strict(
  {
    id: Id,
    reason_code: oneOf(DOCUMENT_REASONS),
    note: Type.Optional(textUpTo(LIMITS.loan_note_length)),
  },
  { title: "RejectDocument" },
);

/** The result of the cleanup job. */
export const SweptDocuments = Type.Object({
  documents: Type.Integer(),
  files: Type.Integer(),
  /** Files that were moved to DOCUMENTS_URL. */
  moved: Type.Integer(),
});
