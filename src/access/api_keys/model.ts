import { type Static, Type } from "@sinclair/typebox";
import { ENVIRONMENTS, KEY_ROLES } from "../../core/access.ts";
import { LIMITS } from "../limits.ts";
import {
  At,
  Id,
  nullable,
  oneOf,
  pageFields,
  Search,
  sortedBy,
  strict,
  trimmedText,
} from "../../core/schema.ts";

const role = oneOf(KEY_ROLES, "lender, agent, ingest or gateway");
const environment = oneOf(ENVIRONMENTS, "staging or production");

/** The credentials of a company's machine. Decision 0100. */
export const ApiKey = Type.Object(
  {
    id: Id,
    company_id: Id,
    clientId: Type.String({ description: "stg_ or prd_, then 24 letters and digits" }),
    name: Type.String(),
    role,
    environment,
    last4: Type.String({ description: "The last four characters of the clientSecret" }),
    old_secret_ends_at: Type.Union([At, Type.Null()], {
      description: "Until when the previous clientSecret works; null: it does not",
    }),
    replaces_id: Type.Union([Id, Type.Null()], {
      description: "The revoked agent's key whose applications this one took over",
    }),
    last_used_at: Type.Union([At, Type.Null()], {
      description: "When it was last exchanged for a token, to the minute",
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
    clientSecret: Type.String({ description: "base64url of 32 random bytes; shown only once" }),
  },
  { title: "ApiKeyWithSecret" },
);

export const ListApiKeys = strict({
  role: Type.Optional(role),
  environment: Type.Optional(environment),
  revoked: Type.Optional(Type.Boolean({ description: "true: only revoked keys; false: only active ones" })),
  search: Type.Optional(Search),
  sort: sortedBy(["id", "name", "created_at"]),
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
          "a revoked agent's key of the same environment, whose applications the new key takes over",
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
        description: "How long the old clientSecret works beside the new one; 0: it ends at once",
      }),
    ),
  },
  { title: "ApiKeyRotation" },
);

// Any text: naming the format of real credentials would help guessing.
const credential = Type.String({ minLength: 1, maxLength: LIMITS.api_key_credential_length });

export const ExchangeApiKey = strict(
  { clientId: credential, clientSecret: credential },
  { title: "ExchangeApiKey" },
);
