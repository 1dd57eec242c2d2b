import { FormatRegistry, type Static, Type } from "@sinclair/typebox";
import ipaddr from "ipaddr.js";
import { ENVIRONMENTS } from "../../core/access.ts";
import { LIMITS } from "../limits.ts";
import { InstantText } from "../../core/instants.ts";
import { At, Id, nullable, oneOf, pageFields, strict, textUpTo, trimmedText } from "../../core/schema.ts";

export const CONSENT_STATUSES = ["granted", "revoked", "expired"] as const;
export type ConsentStatus = (typeof CONSENT_STATUSES)[number];

/** How a borrower gave consent. */
const EVIDENCE_METHODS = ["checkbox", "otp", "signature", "recorded_call"] as const;

FormatRegistry.Set(
  "ip address",
  (text) => ipaddr.IPv4.isValidFourPartDecimal(text) || ipaddr.IPv6.isValid(text),
);

const Evidence = Type.Object(
  {
    method: oneOf(EVIDENCE_METHODS),
    captured_at: At,
    ip: nullable(Type.String()),
    user_agent: nullable(Type.String()),
  },
  { title: "ConsentEvidence" },
);
export type Evidence = Static<typeof Evidence>;

/** A borrower's agreement to one version of a consent definition. */
export const Consent = Type.Object(
  {
    id: Id,
    environment: oneOf(ENVIRONMENTS),
    application_id: Id,
    definition_id: Id,
    code: Type.String(),
    version: Type.Integer(),
    locale: Type.String(),
    text_sha256: Type.String(),
    status: oneOf(CONSENT_STATUSES),
    subject_name: Type.String(),
    subject_ic_last4: nullable(Type.String({ description: "null for a business" })),
    evidence: Evidence,
    granted_at: At,
    expires_at: nullable(At),
    revoked_at: nullable(At),
    revoke_reason: nullable(Type.String()),
    created_at: At,
    updated_at: At,
  },
  { title: "Consent" },
);
export type Consent = Static<typeof Consent>;

export const ListConsents = strict({ id: Id, ...pageFields });

const GivenEvidence = strict(
  {
    method: oneOf(EVIDENCE_METHODS),
    captured_at: InstantText,
    ip: Type.Optional(
      nullable(
        Type.String({
          format: "ip address",
          maxLength: LIMITS.ip_length,
          description: "an IPv4 or IPv6 address",
          "x-schema": { type: "string", maxLength: LIMITS.ip_length },
        }),
      ),
    ),
    user_agent: Type.Optional(nullable(textUpTo(LIMITS.user_agent_length))),
  },
  { title: "GivenConsentEvidence" },
);

export type GivenEvidence = Static<typeof GivenEvidence>;

export const GrantConsent = strict(
  { id: Id, definition_id: Id, evidence: GivenEvidence },
  { title: "GrantConsent" },
);

export const RevokeConsent = strict(
  { id: Id, reason: Type.Optional(trimmedText(LIMITS.loan_note_length)) },
  { title: "RevokeConsent" },
);

/** The result of the expiry job. */
export const ExpiredConsents = Type.Object({ expired: Type.Integer() });
