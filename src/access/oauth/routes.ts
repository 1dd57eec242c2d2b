import { type TSchema, Type } from "@sinclair/typebox";
import { Elysia } from "elysia";
import { Nothing } from "../../core/schema.ts";
import type { Deps } from "../../app/deps.ts";
import { documentedOnly, ErrorBody, HTML_PAGE } from "../../http/responses.ts";
import { endpoint, routes } from "../../http/route.ts";
import { authorizeEndpoint } from "./authorize_endpoint.ts";
import { tokenEndpoints, metadataEndpoints, PREFLIGHT } from "./token_endpoints.ts";
import {
  ClientMetadata,
  CodeGrant,
  IssuedTokens,
  McpMetadata,
  OAuthErrorBody,
  RefreshGrant,
  RegisteredClient,
  ResourceMetadata,
  RevokedToken,
  ServerMetadata,
} from "./model.ts";

const REGISTER = `RFC 7591, open to anyone. Clients have no secret: PKCE takes its place. A redirect URI is https, http on localhost,
127.0.0.1 or [::1] (with any port later on), or a scheme of the client's own. A client that nobody authorizes within 24
hours is deleted.`;
const AUTHORIZE = `A client sends the user's browser here: \`response_type=code\`, \`client_id\`, \`redirect_uri\`, \`code_challenge\` with
\`code_challenge_method=S256\`, \`state\`, \`scope\` and \`resource\`. The page signs the user in and asks for consent; the
browser is then redirected with \`code\` or \`error\`, \`state\` and \`iss\`.`;
const TOKEN = `\`grant_type=authorization_code\` with \`code\`, \`code_verifier\`, \`redirect_uri\` and \`client_id\`, within 60 seconds, or
\`grant_type=refresh_token\` with \`refresh_token\` and \`client_id\`. Access tokens last 8 hours, refresh tokens 30 days. Codes and
refresh tokens are used once: a second use ends the whole authorization.`;

const form = (...schemas: TSchema[]) => ({
  required: true,
  content: { "application/x-www-form-urlencoded": documentedOnly(Type.Union(schemas)) },
});
const refusals = { 400: OAuthErrorBody, 413: OAuthErrorBody, 429: OAuthErrorBody };
const open = { security: [] };
const hidden = { detail: { hide: true } };
const OTHER_PAGES = { 400: ErrorBody, 403: ErrorBody, 429: ErrorBody };

export const metadataRoutes = (deps: Deps) => {
  const metadata = metadataEndpoints(deps);
  return new Elysia({ name: "metadata", prefix: "/.well-known", tags: ["Agents"] })
    .get("/mcp.json", ({ server }) => metadata.mcp({ server }), {
      response: { 200: McpMetadata },
      detail: { summary: "Get all discovery metadata in one document", ...open },
    })
    .get("/oauth-authorization-server", ({ server }) => metadata.server({ server }), {
      response: { 200: ServerMetadata },
      detail: { summary: "Get the authorization server's metadata (RFC 8414)", ...open },
    })
    .get("/oauth-protected-resource", ({ server }) => metadata.resource({ server }), {
      response: { 200: ResourceMetadata },
      detail: { summary: "Get the MCP endpoint's resource metadata (RFC 9728)", ...open },
    })
    .get("/oauth-protected-resource/api/v1/mcp", ({ server }) => metadata.resource({ server }), {
      response: { 200: ResourceMetadata },
      detail: { summary: "Get the MCP endpoint's resource metadata at its RFC 9728 path", ...open },
    })
    .get("/oauth-protected-resource/api/v1/mcp/*", (sent) => metadata.resourcePart(sent), hidden)
    .options("/*", preflight, hidden);
};

/** What OAuth clients and browsers call at the origin's root. */
export const oauthRoutes = (deps: Deps) =>
  routes(
    { tag: "Agents", admits: "open" },
    oauthRows(deps),
  )(deps)
    .options("/oauth/register", preflight, hidden)
    .options("/oauth/token", preflight, hidden)
    .options("/oauth/revoke", preflight, hidden);

/** Responses and errors have OAuth's shapes: RFC 6749, 7009 and 7591. */
function oauthRows(deps: Deps) {
  const client = tokenEndpoints(deps);
  const browser = authorizeEndpoint(deps);
  return [
    endpoint(
      "POST /oauth/register",
      {
        response: { 201: RegisteredClient, ...refusals },
        detail: {
          operationId: "register_agent",
          summary: "Register an OAuth client (RFC 7591)",
          description: REGISTER,
          requestBody: { required: true, content: { "application/json": documentedOnly(ClientMetadata) } },
        },
      },
      client.register,
    ),
    endpoint(
      "GET /oauth/authorize",
      {
        response: OTHER_PAGES,
        detail: {
          operationId: "open_authorization",
          summary: "Show the sign-in and consent page",
          description: AUTHORIZE,
          responses: HTML_PAGE,
        },
      },
      browser.show,
    ),
    endpoint(
      "POST /oauth/authorize",
      {
        response: OTHER_PAGES,
        detail: {
          operationId: "grant_authorization",
          summary: "Submit the user's decision from the consent page",
          responses: HTML_PAGE,
        },
      },
      browser.decide,
    ),
    endpoint(
      "POST /oauth/token",
      {
        response: { 200: IssuedTokens, 401: OAuthErrorBody, ...refusals },
        detail: {
          operationId: "issue_tokens",
          summary: "Exchange a code or refresh token for tokens",
          description: TOKEN,
          requestBody: form(CodeGrant, RefreshGrant),
        },
      },
      client.token,
    ),
    endpoint(
      "POST /oauth/revoke",
      {
        response: { 200: Nothing, 401: OAuthErrorBody, ...refusals },
        detail: {
          operationId: "revoke_token",
          summary: "Revoke a token and its authorization (RFC 7009)",
          description: "Revoking an access token ends the whole authorization, too.",
          requestBody: form(RevokedToken),
        },
      },
      client.revoke,
    ),
  ];
}

const preflight = () => new Response(null, { status: 204, headers: PREFLIGHT });
