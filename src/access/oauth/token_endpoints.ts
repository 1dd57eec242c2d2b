import type { Static, TSchema } from "@sinclair/typebox";
import type { Context } from "../../app/context.ts";
import type { Deps } from "../../app/deps.ts";
import { call } from "../../app/operation.ts";
import { AppError } from "../../core/errors.ts";
import { SHARED_LIMITS } from "../../core/limits.ts";
import { LIMITS } from "../limits.ts";
import { decode } from "../../core/validate.ts";
import { mediaTypeOf, readForm, readJson } from "../../http/body.ts";
import { addressRateLimit } from "../../http/rate_limits.ts";
import { headersOf, STATUS } from "../../http/errors.ts";
import { publicOrigin } from "../../http/origin.ts";
import { exchangeCode, refreshTokens, revokeToken } from "./tokens.ts";
import { mcpMetadata, resourceMetadata, serverMetadata } from "./discovery.ts";
import { ClientMetadata, CodeGrant, RefreshGrant, RevokedToken } from "./model.ts";
import { addressOf, checkScope, OAuthError } from "./rules.ts";
import { requireMcpAddress } from "./mcp_address.ts";
import { registerAgent } from "./service.ts";

/** A request to the authorization server, with its body unread. */
export interface EndpointRequest {
  ctx: Context;
  request: Request;
  server: { port?: number | undefined } | null;
}

/** Clients in a browser call from other origins; nothing here depends on cookies. */
const CORS = { "access-control-allow-origin": "*" };
const NO_STORE = { "cache-control": "no-store", pragma: "no-cache" };

export const PREFLIGHT = {
  ...CORS,
  "access-control-allow-methods": "GET, POST",
  "access-control-allow-headers": "*, Authorization",
  "access-control-max-age": "86400",
};

/** The discovery documents. */
export function metadataEndpoints({ config }: Deps) {
  const headers = { ...CORS, "cache-control": "public, max-age=300" };
  const document = (make: (origin: string) => object) => (sent: Pick<EndpointRequest, "server">) =>
    Response.json(make(publicOrigin(config, sent.server)), { headers });
  return {
    resource: document((origin) => resourceMetadata(origin)),
    /** That of an address of some toolsets. Errors: not_found. */
    resourcePart({ request, server }: Pick<EndpointRequest, "request" | "server">): Response {
      const path = new URL(request.url).pathname.replace("/.well-known/oauth-protected-resource", "");
      return Response.json(resourceMetadata(publicOrigin(config, server), requireMcpAddress(path)), {
        headers,
      });
    },
    server: document(serverMetadata),
    mcp: document(mcpMetadata),
  };
}

/** Registration, tokens and revocation. Errors have OAuth's shape. */
export function tokenEndpoints(deps: Deps) {
  const countRegistration = addressRateLimit(deps, LIMITS.oauth_registrations_minute);
  const countCall = addressRateLimit(deps, LIMITS.oauth_calls_minute);
  return {
    register: (sent: EndpointRequest) =>
      jsonResponse(201, "invalid_client_metadata", async () => {
        countRegistration(sent.ctx);
        mediaTypeOf(sent.request, ["application/json"]);
        const metadata = readMetadata(await readJson(sent.request, sent.ctx));
        return call(sent.ctx, registerAgent, metadata);
      }),
    token: (sent: EndpointRequest) =>
      jsonResponse(200, "invalid_request", async () => {
        countCall(sent.ctx);
        const form = readFields(await readForm(sent.request, sent.ctx));
        addressOf(publicOrigin(deps.config, sent.server), form.resource);
        checkScope(form.scope);
        return grant(sent.ctx, form);
      }),
    revoke: (sent: EndpointRequest) =>
      jsonResponse(200, "invalid_request", async () => {
        countCall(sent.ctx);
        const form = readFields(await readForm(sent.request, sent.ctx));
        return call(sent.ctx, revokeToken, readAs(RevokedToken, form));
      }),
  };
}

function grant(ctx: Context, form: Record<string, string>) {
  if (form.grant_type === undefined) throw new OAuthError("invalid_request", "grant_type is required");
  if (form.grant_type === "authorization_code") return call(ctx, exchangeCode, readAs(CodeGrant, form));
  if (form.grant_type === "refresh_token") return call(ctx, refreshTokens, readAs(RefreshGrant, form));
  throw new OAuthError("unsupported_grant_type", "grant_type must be authorization_code or refresh_token");
}

/** Errors: OAuthError. */
function readMetadata(body: unknown) {
  const picked = typeof body === "object" && body !== null ? pick(ClientMetadata, body) : body;
  try {
    return decode(ClientMetadata, picked);
  } catch (error) {
    if (!(error instanceof AppError)) throw error;
    const is_uri = error.details?.[0]?.path.startsWith("/redirect_uris") === true;
    throw new OAuthError(is_uri ? "invalid_redirect_uri" : "invalid_client_metadata", error.message);
  }
}

/** The fields of a form or query. Errors: OAuthError for a field that is given twice and not repeatable. */
export function readFields(
  form: URLSearchParams,
  repeatable: readonly string[] = [],
): Record<string, string> {
  const fields = new Map<string, string>();
  for (const [name, value] of form) {
    if (fields.has(name) && !repeatable.includes(name))
      throw new OAuthError("invalid_request", `${name.slice(0, SHARED_LIMITS.name_length)} is given twice`);
    // Without a value it counts as not sent: RFC 6749, 3.1.
    if (value !== "") fields.set(name, value);
  }
  return Object.fromEntries(fields);
}

/** Decodes the fields that a schema names; clients may send others. Errors: OAuthError. */
function readAs<T extends TSchema & { properties: object }>(
  schema: T,
  form: Record<string, string>,
): Static<T> {
  if (form.client_id === undefined) throw new OAuthError("invalid_client", "client_id is required");
  try {
    return decode(schema, pick(schema, form));
  } catch (error) {
    throw error instanceof AppError ? new OAuthError("invalid_request", error.message) : error;
  }
}

function pick({ properties }: { properties: object }, body: object): object {
  const names = new Set(Object.keys(properties));
  return Object.fromEntries(Object.entries(body).filter(([name]) => names.has(name)));
}

/** The JSON response, or the error as `{error, error_description}`; only an AppError becomes one. */
async function jsonResponse(
  status: number,
  default_code: "invalid_client_metadata" | "invalid_request",
  work: () => Promise<object>,
): Promise<Response> {
  try {
    return Response.json(await work(), { status, headers: { ...CORS, ...NO_STORE } });
  } catch (error) {
    if (!(error instanceof AppError)) throw error;
    const { kind, message } = error;
    const is_busy = kind === "rate_limited" || kind === "unavailable" || kind === "conflict";
    const code = is_busy ? "temporarily_unavailable" : default_code;
    const body = { error: error instanceof OAuthError ? error.code : code, error_description: message };
    const headers = { ...CORS, ...NO_STORE, ...headersOf(error) };
    const is_unreadable = kind === "invalid" || kind === "unsupported_media_type";
    // In OAuth an unreadable request is a 400.
    return Response.json(body, { status: is_unreadable ? 400 : STATUS[kind], headers });
  }
}
