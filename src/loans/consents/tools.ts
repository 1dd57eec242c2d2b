import { Id } from "../../core/schema.ts";
import { action } from "../../mcp/shapes.ts";
import { describe } from "../../mcp/wire_schema.ts";
import { application_id, definition_id, loanTool } from "../tools.ts";
import { grantConsent, revokeConsent } from "./service.ts";

const CONSENT_DETAILS = ["environment", "text_sha256", "subject_name", "subject_ic_last4", "evidence"];

const record = loanTool({
  name: "loan_record_consent",
  title: "Record a consent",
  description:
    "Records that the borrower has consented to a published definition. Only what has really happened.",
  ...action(grantConsent, "application_id"),
  takes_request_id: true,
  details: CONSENT_DETAILS,
  input: {
    application_id,
    definition_id,
    evidence: describe(grantConsent.input.properties.evidence, "How and when the borrower consented"),
  },
});

const revoke = loanTool({
  name: "loan_revoke_consent",
  title: "Revoke a consent",
  description:
    "Revokes a borrower's consent, for good. An application that requires it and is submitted or under review moves to action_required. Ask the person first.",
  ...action(revokeConsent, "consent_id"),
  is_destructive: true,
  details: CONSENT_DETAILS,
  input: {
    consent_id: describe(Id, "The consent's id"),
    reason: describe(revokeConsent.input.properties.reason, "Why"),
  },
});

export const consentTools = [record, revoke];
