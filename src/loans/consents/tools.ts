import { Id } from "../../core/schema.ts";
import { action } from "../../mcp/shapes.ts";
import { describe } from "../../mcp/wire_schema.ts";
import { application_id, definition_id, loanTool } from "../tools.ts";
import { ConsentGrant, ConsentRevocation } from "./model.ts";
import { grantConsent, revokeConsent } from "./service.ts";

const CONSENT_DETAILS = ["environment", "text_sha256", "subject_name", "subject_ic_last4", "evidence"];

const recordConsent = loanTool({
  name: "loan_record_consent",
  title: "Record a consent",
  description:
    "Writes down that the borrower has consented to a published definition. Only what has really happened.",
  ...action(grantConsent, "application_id"),
  takes_request_id: true,
  details: CONSENT_DETAILS,
  input: {
    application_id,
    definition_id,
    evidence: describe(ConsentGrant.properties.evidence, "How and when the borrower said yes"),
  },
});

const takeConsentBack = loanTool({
  name: "loan_revoke_consent",
  title: "Revoke a consent",
  description:
    "Takes a borrower's consent back, for good. An application that needs it and is submitted or under review goes to action_required. Ask the person first.",
  ...action(revokeConsent, "consent_id"),
  is_destructive: true,
  details: CONSENT_DETAILS,
  input: {
    consent_id: describe(Id, "The consent's id"),
    reason: describe(ConsentRevocation.properties.reason, "Why, in words"),
  },
});

export const consentTools = [recordConsent, takeConsentBack];
