import { type Static, Type } from "@sinclair/typebox";
import { ENVIRONMENTS, KEY_ROLES } from "../../core/access.ts";
import { LIMITS } from "../limits.ts";
import { At, Id, nullable, oneOf, pageFields, Search, strict, trimmedText } from "../../core/schema.ts";

const role = oneOf(KEY_ROLES, "lender, agent or ingest");
const environment = oneOf(ENVIRONMENTS, "staging or production");

/** What a company's machine calls with. Decision 0100. */
export const ApiKey = Type.Object(
  {
    id: Id,
    company_id: Id,
    clientId: Type.String({ description: "stg_ or prd_ and 24 letters and digits" }),
    name: Type.String(),
    role,
    environment,
    last4: Type.String({ description: "how the clientSecret ends" }),
    old_secret_ends_at: Type.Union([At, Type.Null()], {
      description: "until when the clientSecret before this one works; null: it does not",
    }),
    replaces_id: Type.Union([Id, Type.Null()], {
      description: "the revoked key whose applications this agent's key carries on",
    }),
    last_used_at: Type.Union([At, Type.Null()], {
      description: "when it was last exchanged for a token, to the minute",
    }),
    revoked_at: nullable(At),
    created_at: At,
    updated_at: At,
  },
  { title: "ApiKey" },
);
export type ApiKey = Static<typeof ApiKey>;

export const ApiKeyWithSecret = Type.Object(
  {
    ...ApiKey.properties,
    clientSecret: Type.String({ description: "base64url of 32 random bytes; shown only now" }),
  },
  { title: "ApiKeyWithSecret" },
);

export const ListApiKeys = strict({
  role: Type.Optional(role),
  environment: Type.Optional(environment),
  revoked: Type.Optional(Type.Boolean({ description: "only those that are revoked, or only the others" })),
  search: Type.Optional(Search),
  ...pageFields,
});
export type ApiKeyFilter = Omit<Static<typeof ListApiKeys>, "page" | "limit">;

export const CreateApiKey = strict(
  {
    name: trimmedText(LIMITS.api_key_name_length),
    role,
    environment,
    replaces_id: Type.Optional(
      Type.Union([Id, Type.Null()], {
        description:
          "a revoked agent's key of the same environment: its applications are this key's from now on",
      }),
    ),
  },
  { title: "CreateApiKey" },
);

export const RotateApiKey = strict(
  {
    id: Id,
    grace_hours: Type.Optional(
      Type.Integer({
        minimum: 0,
        maximum: LIMITS.api_key_grace_hours,
        default: LIMITS.api_key_grace_hours_default,
        description: "for how long the clientSecret until now works beside the new one; 0: it ends at once",
      }),
    ),
  },
  { title: "ApiKeyRotation" },
);

// Any text: the rules are those of what we make, and naming them here would help guessing.
const credential = Type.String({ minLength: 1, maxLength: LIMITS.api_key_credential_length });

export const ExchangeApiKey = strict(
  { clientId: credential, clientSecret: credential },
  { title: "ExchangeApiKey" },
);
