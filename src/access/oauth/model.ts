import { type Static, Type } from "@sinclair/typebox";
import { SHARED_LIMITS } from "../../core/limits.ts";
import { Id, nullable } from "../../core/schema.ts";
import { LIMITS } from "../limits.ts";
import { SCOPE } from "../authorizations/scopes.ts";

/** A client gets a code once, then access and refresh tokens. */
export const TOKEN_KINDS = ["code", "access", "refresh"] as const;
export type TokenKind = (typeof TOKEN_KINDS)[number];

// The names are OAuth's. Clients may send more than is read here.

const { oauth_redirect_uris, oauth_redirect_uri_length } = LIMITS;
const { name_length } = SHARED_LIMITS;
const APPLICATION_TYPES = ["native", "web"] as const;

/** Client metadata: RFC 7591, section 2. */
export const ClientMetadata = Type.Object(
  {
    redirect_uris: Type.Array(Type.String({ maxLength: oauth_redirect_uri_length }), {
      minItems: 1,
      maxItems: oauth_redirect_uris,
    }),
    client_name: Type.Optional(Type.String({ maxLength: name_length })),
    application_type: Type.Optional(Type.Union(APPLICATION_TYPES.map((type) => Type.Literal(type)))),
  },
  { title: "AgentMetadata" },
);
export type ClientMetadata = Static<typeof ClientMetadata>;

export const RegisteredClient = Type.Object(
  {
    client_id: Type.String(),
    client_id_issued_at: Type.Integer(),
    ...ClientMetadata.properties,
    token_endpoint_auth_method: Type.Literal("none"),
    grant_types: Type.Array(Type.String()),
    response_types: Type.Array(Type.String()),
    scope: Type.Literal(SCOPE),
  },
  { title: "RegisteredAgent" },
);

const Text = Type.String();
const MaybeText = Type.Optional(Text);

/** The query of an authorization request: RFC 6749, 7636 and 8707. */
export const AuthorizationQuery = Type.Object({
  client_id: MaybeText,
  redirect_uri: MaybeText,
  response_type: MaybeText,
  code_challenge: MaybeText,
  code_challenge_method: MaybeText,
  scope: MaybeText,
  resource: MaybeText,
  state: MaybeText,
});
export type AuthorizationQuery = Static<typeof AuthorizationQuery>;

/** Token requests, by grant type. */
export const CodeGrant = Type.Object({
  client_id: Text,
  code: Text,
  code_verifier: Text,
  redirect_uri: MaybeText,
});
export const RefreshGrant = Type.Object({ client_id: Text, refresh_token: Text });

export const IssuedTokens = Type.Object(
  {
    access_token: Type.String(),
    token_type: Type.Literal("Bearer"),
    expires_in: Type.Integer({ description: "Seconds" }),
    refresh_token: Type.String(),
    scope: Type.String({ description: "What the user granted, which may be less than was requested" }),
  },
  { title: "IssuedTokens" },
);
export type IssuedTokens = Static<typeof IssuedTokens>;

export const RevokedToken = Type.Object({ client_id: Text, token: Text });

/** An authorization request that waits for the user's decision. */
export const PendingAuthorization = Type.Object({
  id: Id,
  client_name: nullable(Type.String()),
  redirect_uri: Type.String(),
  scope: Type.String({ description: "What the user is asked for" }),
});
export type PendingAuthorization = Static<typeof PendingAuthorization>;

/** Where the browser is redirected to. */
export const RedirectTarget = Type.Object({ location: Type.String() });

export const OAuthErrorBody = Type.Object(
  { error: Type.String({ description: "A code" }), error_description: Type.String() },
  { title: "OAuthError" },
);

const Texts = Type.Array(Text);

/** Protected resource metadata: RFC 9728. */
export const ResourceMetadata = Type.Object(
  {
    resource: Text,
    resource_name: Text,
    authorization_servers: Texts,
    scopes_supported: Texts,
    bearer_methods_supported: Texts,
  },
  { title: "ResourceMetadata" },
);

/** Authorization server metadata: RFC 8414; its last field: RFC 9207. */
export const ServerMetadata = Type.Object(
  {
    issuer: Text,
    authorization_endpoint: Text,
    token_endpoint: Text,
    registration_endpoint: Text,
    revocation_endpoint: Text,
    scopes_supported: Texts,
    response_types_supported: Texts,
    response_modes_supported: Texts,
    grant_types_supported: Texts,
    token_endpoint_auth_methods_supported: Texts,
    revocation_endpoint_auth_methods_supported: Texts,
    code_challenge_methods_supported: Texts,
    authorization_response_iss_parameter_supported: Type.Boolean(),
  },
  { title: "ServerMetadata" },
);

/** Both kinds of metadata in one document. */
export const McpMetadata = Type.Object(
  {
    ...ServerMetadata.properties,
    mcp_endpoint: Text,
    transport: Type.Literal("streamable-http"),
    resource: Text,
    authorization_server_metadata: Text,
    protected_resource_metadata: Text,
  },
  { title: "McpMetadata" },
);
