import { type TSchema, Type } from "@sinclair/typebox";
import { Elysia } from "elysia";
import type { Deps } from "../../app/deps.ts";
import { call } from "../../app/operation.ts";
import { listed, Nothing } from "../../core/schema.ts";
import { answers, data, dataOf, described, ErrorBody, HTML_PAGE } from "../../http/answers.ts";
import { fromText, IdPath } from "../../http/params.ts";
import { session } from "../../http/session.ts";
import { openBrowserDoor } from "./browser_door.ts";
import { openAgentDoors, openMetadata, PREFLIGHT } from "./doors.ts";
import {
  AgentMetadata,
  Authorization,
  CodeGrant,
  IssuedTokens,
  ListAuthorizations,
  McpMetadata,
  OAuthErrorBody,
  RefreshGrant,
  RegisteredAgent,
  ResourceMetadata,
  RevokedToken,
  ServerMetadata,
} from "./model.ts";
import { endAuthorization, listAuthorizations } from "./service.ts";

const REGISTER = `RFC 7591, for whoever asks. Agents keep no secret: PKCE takes its place. A redirect URI is https, http on localhost,
127.0.0.1 or [::1] (with any port later on), or a scheme of the agent's own. An agent that nobody authorizes within 24
hours is forgotten.`;
const AUTHORIZE = `An agent sends the user's browser here: \`response_type=code\`, \`client_id\`, \`redirect_uri\`, \`code_challenge\` with
\`code_challenge_method=S256\`, \`state\`, \`scope\` and \`resource\`. The page signs the user in and asks; the answer goes to the
redirect URI, with \`code\` or \`error\`, \`state\` and \`iss\`.`;
const TOKEN = `\`grant_type=authorization_code\` with \`code\`, \`code_verifier\`, \`redirect_uri\` and \`client_id\`, within 60 seconds, or
\`grant_type=refresh_token\` with \`refresh_token\` and \`client_id\`. Access tokens last 8 hours, refresh tokens 30 days; each is
used once, and a second use of a code or refresh token ends all that came of it.`;

const form = (...schemas: TSchema[]) => ({
  required: true,
  content: { "application/x-www-form-urlencoded": described(Type.Union(schemas)) },
});
const refusals = { 400: OAuthErrorBody, 413: OAuthErrorBody, 429: OAuthErrorBody };
const open = { security: [] };
const hidden = { detail: { hide: true } };
const OTHER_PAGES = { 400: ErrorBody, 403: ErrorBody, 429: ErrorBody };

export const metadataRoutes = (deps: Deps) => {
  const metadata = openMetadata(deps);
  return new Elysia({ name: "metadata", prefix: "/.well-known", tags: ["Agents"] })
    .get("/mcp.json", ({ server }) => metadata.mcp({ server }), {
      response: { 200: McpMetadata },
      detail: { summary: "All that an agent needs to find its way, in one", ...open },
    })
    .get("/oauth-authorization-server", ({ server }) => metadata.server({ server }), {
      response: { 200: ServerMetadata },
      detail: { summary: "How to get tokens (RFC 8414)", ...open },
    })
    .get("/oauth-protected-resource", ({ server }) => metadata.resource({ server }), {
      response: { 200: ResourceMetadata },
      detail: { summary: "Who issues tokens for the MCP endpoint (RFC 9728)", ...open },
    })
    .get("/oauth-protected-resource/api/v1/mcp", ({ server }) => metadata.resource({ server }), {
      response: { 200: ResourceMetadata },
      detail: { summary: "The same, where RFC 9728 has it for a path", ...open },
    })
    .options("/*", preflight, hidden);
};

/** What agents and browsers call at the origin. */
export const oauthRoutes = (deps: Deps) => {
  const agents = openAgentDoors(deps);
  const browser = openBrowserDoor(deps);
  return new Elysia({ prefix: "/oauth", tags: ["Agents"] })
    .use(session(deps, "open", { reads_body: false, keeps_answers: false }))
    .post("/register", ({ ctx, request, server }) => agents.register({ ctx, request, server }), {
      response: { 201: RegisteredAgent, ...refusals },
      detail: {
        operationId: "register_agent",
        summary: "Register an agent",
        description: REGISTER,
        requestBody: { required: true, content: { "application/json": described(AgentMetadata) } },
        ...open,
      },
    })
    .get("/authorize", ({ ctx, request, server }) => browser.show({ ctx, request, server }), {
      response: OTHER_PAGES,
      detail: {
        operationId: "open_authorization",
        summary: "Ask a user to let an agent act",
        description: AUTHORIZE,
        responses: HTML_PAGE,
        ...open,
      },
    })
    .post("/authorize", ({ ctx, request, server }) => browser.decide({ ctx, request, server }), {
      response: OTHER_PAGES,
      detail: {
        operationId: "grant_authorization",
        summary: "The user's answer, from that page",
        responses: HTML_PAGE,
        ...open,
      },
    })
    .post("/token", ({ ctx, request, server }) => agents.token({ ctx, request, server }), {
      response: { 200: IssuedTokens, 401: OAuthErrorBody, ...refusals },
      detail: {
        operationId: "issue_tokens",
        summary: "Exchange a code or a refresh token",
        description: TOKEN,
        requestBody: form(CodeGrant, RefreshGrant),
        ...open,
      },
    })
    .post("/revoke", ({ ctx, request, server }) => agents.revoke({ ctx, request, server }), {
      response: { 200: Nothing, 401: OAuthErrorBody, ...refusals },
      detail: {
        operationId: "revoke_token",
        summary: "End what a token belongs to (RFC 7009)",
        description: "Of an access token, too: the whole authorization ends.",
        requestBody: form(RevokedToken),
        ...open,
      },
    })
    .options("/register", preflight, hidden)
    .options("/token", preflight, hidden)
    .options("/revoke", preflight, hidden);
};

const preflight = () => new Response(null, { status: 204, headers: PREFLIGHT });

/** What the signed-in user has granted, whichever the level. */
export const authorizationRoutes = (deps: Deps) =>
  new Elysia({ prefix: "/me/authorizations", tags: ["Agents"] })
    .use(session(deps, "any"))
    .get("", ({ ctx, query }) => call(ctx, listAuthorizations, query), {
      query: fromText(ListAuthorizations),
      response: answers({ 200: listed(Authorization) }),
      detail: {
        operationId: listAuthorizations.name,
        summary: "List the agents that may act for me",
        description: "The last granted first.",
      },
    })
    .delete("/:id", ({ ctx, params }) => data(call(ctx, endAuthorization, params)), {
      params: IdPath,
      response: answers({ 200: dataOf(Nothing), 404: ErrorBody }),
      detail: {
        operationId: endAuthorization.name,
        summary: "End what an agent may do",
        description: "Its tokens end at once.",
      },
    });
