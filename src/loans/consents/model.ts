import { FormatRegistry, type Static, Type } from "@sinclair/typebox";
import ipaddr from "ipaddr.js";
import { ENVIRONMENTS } from "../../core/access.ts";
import { SHARED_LIMITS } from "../../core/limits.ts";
import { LIMITS } from "../limits.ts";
import { At, Id, InstantText, nullable, oneOf, pageFields, strict, trimmedText } from "../../core/schema.ts";
import { Code } from "../programs/model.ts";

export const DEFINITION_STATUSES = ["draft", "published", "retired"] as const;
export type DefinitionStatus = (typeof DEFINITION_STATUSES)[number];

export const CONSENT_STATUSES = ["granted", "revoked", "expired"] as const;
export type ConsentStatus = (typeof CONSENT_STATUSES)[number];

/** How a borrower said yes. */
const EVIDENCE_METHODS = ["checkbox", "otp", "signature", "recorded_call"] as const;

FormatRegistry.Set("language tag", (text) => {
  try {
    return Intl.getCanonicalLocales(text).length === 1;
  } catch {
    return false;
  }
});
FormatRegistry.Set(
  "ip address",
  (text) => ipaddr.IPv4.isValidFourPartDecimal(text) || ipaddr.IPv6.isValid(text),
);

const Locale = Type.Transform(
  Type.String({
    format: "language tag",
    maxLength: LIMITS.locale_length,
    description: "a language tag (BCP 47), as en or ms-MY",
    "x-schema": { type: "string", examples: ["en", "ms-MY"] },
  }),
)
  .Decode((tag) => Intl.getCanonicalLocales(tag)[0] ?? tag)
  .Encode((tag) => tag);

const Days = Type.Integer({ minimum: 1, maximum: LIMITS.consent_days });

/** What a borrower is asked to agree to, in one language and version. */
export const ConsentDefinition = Type.Object(
  {
    id: Id,
    environment: oneOf(ENVIRONMENTS),
    code: Type.String(),
    version: Type.Integer({ minimum: 1 }),
    locale: Type.String(),
    title: Type.String(),
    purpose_text: Type.String(),
    data_text: Type.String(),
    data_categories: Type.Array(Type.String()),
    audience: Type.String(),
    data_life_days: nullable(
      Type.Integer({ description: "how long the data is kept; null: as long as needed" }),
    ),
    validity_days: nullable(
      Type.Integer({ description: "how long a consent holds; null: until it is revoked" }),
    ),
    text_sha256: Type.String({ description: "of what the borrower is shown, in hex" }),
    status: oneOf(DEFINITION_STATUSES),
    published_at: nullable(At),
    retired_at: nullable(At),
    created_at: At,
    updated_at: At,
  },
  { title: "ConsentDefinition" },
);
export type ConsentDefinition = Static<typeof ConsentDefinition>;

/** What the borrower is shown: what `text_sha256` is made of. */
export type ConsentText = Pick<
  ConsentDefinition,
  | "code"
  | "locale"
  | "title"
  | "purpose_text"
  | "data_text"
  | "data_categories"
  | "audience"
  | "data_life_days"
  | "validity_days"
>;

const textFields = {
  title: trimmedText(SHARED_LIMITS.name_length),
  purpose_text: trimmedText(LIMITS.consent_text_length),
  data_text: trimmedText(LIMITS.consent_text_length),
  data_categories: Type.Array(trimmedText(LIMITS.consent_audience_length), {
    maxItems: LIMITS.consent_categories,
    uniqueItems: true,
  }),
  audience: trimmedText(LIMITS.consent_audience_length),
  data_life_days: Type.Optional(nullable(Days)),
  validity_days: Type.Optional(nullable(Days)),
};

export const ListDefinitions = strict({
  code: Type.Optional(Code),
  locale: Type.Optional(Locale),
  status: Type.Optional(oneOf(DEFINITION_STATUSES)),
  ...pageFields,
});

export const ListPublishedDefinitions = strict({
  code: Type.Optional(Code),
  locale: Type.Optional(Locale),
  ...pageFields,
});

export const CreateDefinition = strict(
  { code: Code, locale: Type.Optional(Locale), ...textFields },
  { title: "CreateConsentDefinition" },
);

/** What is left out stays as it is; code and locale may be repeated, not changed. */
export const DefinitionChange = Type.Partial(CreateDefinition, { title: "ConsentDefinitionChange" });
export const UpdateDefinition = strict(
  { id: Id, ...DefinitionChange.properties },
  { title: "ConsentDefinitionChange" },
);

/** What is other than in the version that a new one is made from. */
export const CreateDefinitionVersion = strict(
  { id: Id, ...Type.Partial(strict(textFields)).properties },
  { title: "ConsentDefinitionVersion" },
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

/** A borrower's yes to one version of a text. */
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
    user_agent: Type.Optional(
      nullable(
        Type.String({
          maxLength: LIMITS.user_agent_length,
          description: `at most ${LIMITS.user_agent_length} characters`,
        }),
      ),
    ),
  },
  { title: "GivenConsentEvidence" },
);

export type GivenEvidence = Static<typeof GivenEvidence>;

const grantFields = { definition_id: Id, evidence: GivenEvidence };
export const ConsentGrant = strict(grantFields, { title: "GrantConsent" });
export const GrantConsent = strict({ id: Id, ...grantFields }, { title: "GrantConsent" });

const revokeFields = { reason: Type.Optional(trimmedText(LIMITS.loan_note_length)) };
export const ConsentRevocation = strict(revokeFields, { title: "RevokeConsent" });
export const RevokeConsent = strict({ id: Id, ...revokeFields }, { title: "RevokeConsent" });

/** What a run of the job came to. */
export const ExpiredConsents = Type.Object({ expired: Type.Integer() });
