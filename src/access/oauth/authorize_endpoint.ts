import type { Context } from "../../app/context.ts";
import type { Deps } from "../../app/deps.ts";
import { call } from "../../app/operation.ts";
import { AppError } from "../../core/errors.ts";
import { commonToolsets, type GrantedToolsets } from "../../core/toolsets.ts";
import { errorPage } from "../../core/page_layout.ts";
import { LIMITS } from "../limits.ts";
import { isSameSecret, randomSecret } from "../../core/random_secrets.ts";
import { decode } from "../../core/validate.ts";
import { contextFor } from "../../http/authentication.ts";
import { page } from "../../http/responses.ts";
import { readForm } from "../../http/body.ts";
import { addressRateLimit } from "../../http/rate_limits.ts";
import { headersOf, STATUS } from "../../http/errors.ts";
import { publicOrigin } from "../../http/origin.ts";
import { scopeOfToolsets, toolsetsOf } from "../authorizations/scopes.ts";
import { Login } from "../sessions/model.ts";
import { readFields, type EndpointRequest } from "./token_endpoints.ts";
import {
  refuseAuthorization,
  findWaitingAgent,
  grantAuthorization,
  openAuthorization,
  pageExpired,
  signInToAuthorize,
} from "./grants.ts";
import { chosenToolsets, suggestedToolsets } from "./consent.ts";
import { type SignInPageContent, signInPage } from "./authorize_page.ts";
import { csrfOf, AuthorizationError } from "./rules.ts";

/** The authorization endpoint: the sign-in page, and the user's decision (RFC 6749, 3.1). */
export function authorizeEndpoint(deps: Deps) {
  const count = addressRateLimit(deps, LIMITS.oauth_calls_minute);
  return {
    show: (sent: EndpointRequest) =>
      htmlResponse(async () => {
        count(sent.ctx);
        return show(deps, sent);
      }),
    decide: (sent: EndpointRequest) =>
      htmlResponse(async () => {
        count(sent.ctx);
        return decide(deps, sent);
      }),
  };
}

async function show({ config }: Deps, { ctx, request, server }: EndpointRequest): Promise<Response> {
  const origin = publicOrigin(config, server);
  const query = readFields(new URL(request.url).searchParams, ["resource"]);
  if ((query.state ?? "").length > LIMITS.oauth_state_length)
    throw new AppError("malformed", `The app's state is over ${LIMITS.oauth_state_length} characters`);
  const { transaction, authorization } = await call(ctx, openAuthorization, { origin, query });
  // A browser keeps its cookie, so that a second tab does not break the first.
  const browser = browserOf(request, origin) ?? randomSecret();
  const asked = toolsetsHere(config, authorization);
  const ticked = commonToolsets(suggestedToolsets(authorization.scope), asked);
  const content = { transaction, authorization, csrf: csrfOf(browser, transaction), asked, ticked };
  return signInResponse(content, { headers: { "set-cookie": cookieOf(browser, origin) } });
}

async function decide(deps: Deps, { ctx, request, server }: EndpointRequest): Promise<Response> {
  const origin = publicOrigin(deps.config, server);
  const from = request.headers.get("origin");
  if (from !== null && from !== origin)
    throw new AppError("forbidden", "This form was sent from another site");
  const {
    transaction = "",
    csrf = "",
    decision,
    email = "",
    password,
    ...boxes
  } = readFields(await readForm(request, ctx));
  const browser = browserOf(request, origin);
  if (browser === null || !isSameSecret(csrf, csrfOf(browser, transaction))) throw pageExpired();
  const authorization = await call(ctx, findWaitingAgent, { transaction });
  if (decision === "deny")
    return redirectTo(await call(ctx, refuseAuthorization, { id: authorization.id, origin }));
  if (decision !== "allow") throw new AppError("malformed", "The decision must be allow or deny");
  const asked = toolsetsHere(deps.config, authorization);
  const ticked = chosenToolsets(asked, boxes);
  const scope = scopeOfToolsets(chosenToolsets(toolsetsOf(authorization.scope), boxes));
  const content = { authorization, transaction, csrf, email, asked, ticked };
  if (Object.keys(ticked).length === 0)
    return signInResponse({ ...content, problem: NOTHING_TICKED }, { status: 422, headers: {} });
  try {
    const granted = { id: authorization.id, origin, scope };
    return redirectTo(await allow(deps, ctx, granted, { email, password }));
  } catch (error) {
    const problem = correctable(error);
    if (problem === null) throw error;
    return signInResponse({ ...content, problem: problem.message }, problem);
  }
}

const NOTHING_TICKED = "Tick what it may read or write, or deny it";

/** The toolsets that are asked for, of those that this deployment has. */
function toolsetsHere({ loan_service_key }: Deps["config"], { scope }: { scope: string }): GrantedToolsets {
  const { loans, ...others } = toolsetsOf(scope);
  return loans === undefined || loan_service_key === null ? others : { ...others, loans };
}

/** Signs the user in and, as that user, grants the authorization. */
async function allow(
  deps: Deps,
  ctx: Context,
  { id, ...granted }: { id: number; origin: string; scope: string },
  login: object,
): Promise<{ location: string }> {
  const { user, version } = await call(ctx, signInToAuthorize, decode(Login, login));
  const { id: user_id, email, company_id, client_id, role } = user;
  const as_user = contextFor(deps, { kind: "user", user_id, email, company_id, client_id, role }, ctx);
  return call(as_user, grantAuthorization, { waiting_id: id, version, ...granted });
}

/** An error that the user can correct on the page; null for one that ends it. */
function correctable(
  error: unknown,
): { status: number; message: string; headers: Record<string, string> } | null {
  if (!(error instanceof AppError)) return null;
  const { kind, message } = error;
  const headers = headersOf(error);
  if (kind === "unauthorized")
    return { status: 401, message: "Wrong email or password", headers: { "www-authenticate": "Bearer" } };
  if (kind === "invalid") return { status: 422, message: "Enter your email and your password", headers };
  return kind === "rate_limited" ? { status: 429, message, headers } : null;
}

async function htmlResponse(work: () => Promise<Response>): Promise<Response> {
  try {
    return await work();
  } catch (error) {
    if (error instanceof AuthorizationError) return redirectTo(error, 302);
    if (!(error instanceof AppError)) throw error;
    const { kind, message } = error;
    const headers = { ...DENY_FRAMES, ...headersOf(error) };
    return page(errorPage(message), { status: STATUS[kind], headers });
  }
}

const DENY_FRAMES = { "x-frame-options": "DENY" };

/** The sign-in page. Under `no-referrer` browsers would send the origin "null" with its form. */
function signInResponse(
  content: SignInPageContent,
  { status = 200, headers }: { status?: number; headers: Record<string, string> },
): Promise<Response> {
  const all = { ...DENY_FRAMES, "referrer-policy": "same-origin", ...headers };
  return page(signInPage(content), { status, headers: all });
}

/** A redirect; after a form a 303, so that the browser does not forward the password. */
function redirectTo({ location }: { location: string }, status = 303): Response {
  const headers = { location, "cache-control": "no-store", "referrer-policy": "no-referrer" };
  return new Response(null, { status, headers });
}

// Over https no other host, not even a sibling domain, can set a cookie with this prefix.
const cookieName = (origin: string) =>
  origin.startsWith("https:") ? "__Host-meterhouse_authorize" : "meterhouse_authorize";

function cookieOf(browser: string, origin: string): string {
  const secure = origin.startsWith("https:") ? "; Secure" : "";
  const max_age = LIMITS.oauth_request_minutes * 60;
  return `${cookieName(origin)}=${browser}; Path=/; HttpOnly; SameSite=Lax; Max-Age=${max_age}${secure}`;
}

function browserOf(request: Request, origin: string): string | null {
  const value = new Bun.CookieMap(request.headers.get("cookie") ?? "").get(cookieName(origin)) ?? "";
  return /^[A-Za-z0-9_-]{43}$/.test(value) ? value : null;
}
