import { Type } from "@sinclair/typebox";
import { call } from "../../app/operation.ts";
import { oneOf } from "../../core/schema.ts";
import { invalid } from "../../core/errors.ts";
import { Consent, ConsentGrant, ConsentRevocation } from "../../features/loan_consents/model.ts";
import { grantConsent, revokeConsent } from "../../features/loan_consents/service.ts";
import { DocumentRejection, LoanDocument } from "../../features/loan_documents/model.ts";
import { rejectLoanDocument, verifyLoanDocument } from "../../features/loan_documents/service.ts";
import { data, dataOf } from "../../http/answers.ts";
import { application_id, consent_id, definition_id, document_id, refuseOthers } from "../params.ts";
import { tool } from "../tool.ts";
import { said } from "../wire_schema.ts";

// What an application rests on: its documents, and its borrower's consents.

const DOCUMENT_DETAILS = ["environment", "sha256", "size", "uploaded_by"];
const CONSENT_DETAILS = ["environment", "text_sha256", "subject_name", "subject_ic_last4", "evidence"];

const reviewDocument = tool({
  name: "loan_review_document",
  title: "Verify or reject a document",
  description:
    "Settles a document that is pending_review, for good: verify it, or reject it, so that another must be uploaded. Its content is seen over REST only: a person has to look, and decide.",
  level: "company",
  operations: [verifyLoanDocument, rejectLoanDocument],
  is_for_loans: true,
  is_destructive: true,
  details: DOCUMENT_DETAILS,
  input: {
    document_id,
    verdict: said(oneOf(["verify", "reject"]), "Which of the two"),
    reason_code: Type.Optional(said(DocumentRejection.properties.reason_code, "Why; for reject only")),
    note: said(DocumentRejection.properties.note, "In words; for reject only"),
  },
  output: dataOf(LoanDocument),
  async run(ctx, { document_id: id, verdict, reason_code, ...words }) {
    if (verdict === "reject") {
      if (reason_code === undefined) throw invalid("/reason_code", "is required for reject");
      return data(call(ctx, rejectLoanDocument, { id, reason_code, ...words }));
    }
    refuseOthers(verdict, { reason_code, ...words });
    return data(call(ctx, verifyLoanDocument, { id }));
  },
});

const recordConsent = tool({
  name: "loan_record_consent",
  title: "Record a consent",
  description:
    "Writes down that the borrower has consented to a published definition. Only what has really happened.",
  level: "company",
  operations: [grantConsent],
  is_for_loans: true,
  takes_request_id: true,
  details: CONSENT_DETAILS,
  input: {
    application_id,
    definition_id,
    evidence: said(ConsentGrant.properties.evidence, "How and when the borrower said yes"),
  },
  output: dataOf(Consent),
  run: (ctx, { application_id: id, ...grant }) => data(call(ctx, grantConsent, { id, ...grant })),
});

const takeConsentBack = tool({
  name: "loan_revoke_consent",
  title: "Revoke a consent",
  description:
    "Takes a borrower's consent back, for good. An application that needs it and is submitted or under review goes to action_required. Ask the person first.",
  level: "company",
  operations: [revokeConsent],
  is_for_loans: true,
  is_destructive: true,
  details: CONSENT_DETAILS,
  input: { consent_id, reason: said(ConsentRevocation.properties.reason, "Why, in words") },
  output: dataOf(Consent),
  run: (ctx, { consent_id: id, ...reason }) => data(call(ctx, revokeConsent, { id, ...reason })),
});

export const loanEvidenceTools = [reviewDocument, recordConsent, takeConsentBack];
