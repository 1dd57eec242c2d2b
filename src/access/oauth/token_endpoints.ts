import type { Static, TSchema } from "@sinclair/typebox";
import type { Context } from "../../app/context.ts";
import type { Deps } from "../../app/deps.ts";
import { call } from "../../app/operation.ts";
import { AppError } from "../../core/errors.ts";
import { LIMITS } from "../limits.ts";
import { SHARED_LIMITS } from "../../core/limits.ts";
import { decode } from "../../core/validate.ts";
import { mediaTypeOf, readForm, readJson } from "../../http/body.ts";
import { addressRateLimit } from "../../http/address_rate_limit.ts";
import { headersOf, STATUS } from "../../http/errors.ts";
import { publicOrigin } from "../../http/origin.ts";
import { exchangeCode, refreshTokens, revokeToken } from "./tokens.ts";
import { mcpMetadata, resourceMetadata, serverMetadata } from "./discovery.ts";
import { ClientMetadata, CodeGrant, RefreshGrant, RevokedToken } from "./model.ts";
import { checkResource, checkScope, OAuthError } from "./rules.ts";
import { registerAgent } from "./service.ts";

/** A request to the authorization server, its body not yet read. */
export interface EndpointRequest {
  ctx: Context;
  request: Request;
  server: { port?: number | undefined } | null;
}

/** Agents that run in a browser call from other origins. Nothing here depends on who the browser knows. */
const CORS = { "access-control-allow-origin": "*" };
const NO_STORE = { "cache-control": "no-store", pragma: "no-cache" };

export const PREFLIGHT = {
  ...CORS,
  "access-control-allow-methods": "GET, POST",
  "access-control-allow-headers": "*, Authorization",
  "access-control-max-age": "86400",
};

/** What agents read before they can ask for anything. */
export function metadataEndpoints({ config }: Deps) {
  const answer = (make: (origin: string) => object) => (visit: Pick<EndpointRequest, "server">) =>
    Response.json(make(publicOrigin(config, visit.server)), {
      headers: { ...CORS, "cache-control": "public, max-age=300" },
    });
  return {
    resource: answer(resourceMetadata),
    server: answer(serverMetadata),
    mcp: answer(mcpMetadata),
  };
}

/** What agents call themselves: registration, tokens, revocation. All of them answer errors as OAuth has them. */
export function tokenEndpoints(deps: Deps) {
  const countRegistration = addressRateLimit(deps, LIMITS.oauth_registrations_minute);
  const countCall = addressRateLimit(deps, LIMITS.oauth_calls_minute);
  return {
    register: (visit: EndpointRequest) =>
      jsonResponse(201, "invalid_client_metadata", async () => {
        countRegistration(visit.ctx);
        mediaTypeOf(visit.request, ["application/json"]);
        const metadata = readMetadata(await readJson(visit.request, visit.ctx));
        return call(visit.ctx, registerAgent, metadata);
      }),
    token: (visit: EndpointRequest) =>
      jsonResponse(200, "invalid_request", async () => {
        countCall(visit.ctx);
        const form = readFields(await readForm(visit.request, visit.ctx));
        checkResource(publicOrigin(deps.config, visit.server), form.resource);
        checkScope(form.scope);
        return grant(visit.ctx, form);
      }),
    revoke: (visit: EndpointRequest) =>
      jsonResponse(200, "invalid_request", async () => {
        countCall(visit.ctx);
        const form = readFields(await readForm(visit.request, visit.ctx));
        return call(visit.ctx, revokeToken, readAs(RevokedToken, form));
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

/** A form's or query's fields. Errors: OAuthError for one that stands there twice, but for those named. */
export function readFields(
  form: URLSearchParams,
  repeatable: readonly string[] = [],
): Record<string, string> {
  const fields = new Map<string, string>();
  for (const [name, value] of form) {
    if (fields.has(name) && !repeatable.includes(name))
      throw new OAuthError("invalid_request", `${name.slice(0, SHARED_LIMITS.name_length)} is there twice`);
    // Sent without a value is as good as not sent: RFC 6749, 3.1.
    if (value !== "") fields.set(name, value);
  }
  return Object.fromEntries(fields);
}

/** The fields that a schema knows: agents may send others. Errors: OAuthError. */
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

/** Answers what the work comes to, errors as `{error, error_description}`; anything but an AppError is thrown on. */
async function jsonResponse(
  status: number,
  otherwise: "invalid_client_metadata" | "invalid_request",
  work: () => Promise<object>,
): Promise<Response> {
  try {
    return Response.json(await work(), { status, headers: { ...CORS, ...NO_STORE } });
  } catch (error) {
    if (!(error instanceof AppError)) throw error;
    const { kind, message } = error;
    const is_busy = kind === "rate_limited" || kind === "unavailable" || kind === "conflict";
    const code = is_busy ? "temporarily_unavailable" : otherwise;
    const body = { error: error instanceof OAuthError ? error.code : code, error_description: message };
    const headers = { ...CORS, ...NO_STORE, ...headersOf(error) };
    const is_unreadable = kind === "invalid" || kind === "unsupported_media_type";
    // Whatever can't be read is a 400 in OAuth.
    return Response.json(body, { status: is_unreadable ? 400 : STATUS[kind], headers });
  }
}
