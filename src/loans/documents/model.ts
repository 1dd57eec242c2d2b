import { type Static, Type } from "@sinclair/typebox";
import type { Context } from "../../app/context.ts";
import { LIMITS } from "../limits.ts";
import { ENVIRONMENTS } from "../../core/access.ts";
import type { Reads } from "../../store/store.ts";
import { At, Id, nullable, oneOf, pageFields, strict } from "../../core/schema.ts";
import { DOCUMENT_TYPES } from "../programs/model.ts";

/** What a document's bytes may be. */
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

/** A file that a borrower's agent handed in with an application. */
export const LoanDocument = Type.Object(
  {
    id: Id,
    environment: oneOf(ENVIRONMENTS),
    application_id: Id,
    type: oneOf(DOCUMENT_TYPES),
    file_name: Type.String({
      description: "as it was sent, without folders and characters that can't be seen",
    }),
    content_type: oneOf(CONTENT_TYPES, "what its first bytes say"),
    size: Type.Integer({ description: "in bytes" }),
    sha256: Type.String({ description: "of its bytes, in hex" }),
    status: oneOf(DOCUMENT_STATUSES),
    reason_code: nullable(oneOf(DOCUMENT_REASONS)),
    note: nullable(Type.String({ description: "what the lender says to a rejection" })),
    reviewed_at: Type.Union([At, Type.Null()], {
      description:
        "when the lender last reviewed it; a document that was verified as another borrower's waits for a review again",
    }),
    uploaded_by: Type.String({ description: "the clientId of the agent's key" }),
    created_at: At,
    updated_at: At,
  },
  { title: "LoanDocument" },
);
export type LoanDocument = Static<typeof LoanDocument>;

/** What became of a document. */
export type DocumentState = Pick<
  LoanDocument,
  "application_id" | "type" | "status" | "reason_code" | "reviewed_at" | "created_at"
>;

export const ListDocuments = strict({ id: Id, ...pageFields });

/** What is sent with an upload, beside the file. */
export const UploadFields = strict({ type: oneOf(DOCUMENT_TYPES) });

/** An upload: the request, whose body is not yet read, and who sends it by now, as a transaction sees it. */
export const UploadDocument = Type.Unsafe<{
  id: number;
  request: Request;
  renew: (q: Reads) => Promise<Pick<Context, "actor" | "now">>;
}>(Type.Any());

/** An upload as the documentation shows it: the parts of a multipart body. */
export const UploadBody = strict(
  {
    ...UploadFields.properties,
    file: Type.String({ format: "binary", description: "PDF, JPEG or PNG, at most 10 MiB" }),
  },
  { title: "UploadDocument" },
);

const rejectFields = {
  reason_code: oneOf(DOCUMENT_REASONS),
  note: Type.Optional(
    Type.String({
      maxLength: LIMITS.loan_note_length,
      description: `at most ${LIMITS.loan_note_length} characters`,
    }),
  ),
};

export const DocumentRejection = strict(rejectFields, { title: "RejectDocument" });
export const RejectDocument = strict({ id: Id, ...rejectFields }, { title: "RejectDocument" });

/** What a run of the job came to. */
export const SweptDocuments = Type.Object({ documents: Type.Integer(), files: Type.Integer() });
