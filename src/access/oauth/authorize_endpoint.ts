import type { Context } from "../../app/context.ts";
import type { Deps } from "../../app/deps.ts";
import { call } from "../../app/operation.ts";
import { AppError } from "../../core/errors.ts";
import { errorPage } from "../../core/page_layout.ts";
import { LIMITS } from "../limits.ts";
import { isSameSecret, randomSecret } from "../../core/random_secrets.ts";
import { decode } from "../../core/validate.ts";
import { page } from "../../http/responses.ts";
import { readForm } from "../../http/body.ts";
import { addressRateLimit } from "../../http/address_rate_limit.ts";
import { headersOf, STATUS } from "../../http/errors.ts";
import { publicOrigin } from "../../http/origin.ts";
import { Login } from "../sessions/model.ts";
import { readFields, type EndpointRequest } from "./token_endpoints.ts";
import {
  findWaitingAgent,
  grantAuthorization,
  openAuthorization,
  refuseAuthorization,
  pageExpired,
  signInToAuthorize,
} from "./grants.ts";
import { type SignInPageContent, signInPage } from "./authorize_page.ts";
import { csrfOf, AuthorizationError } from "./rules.ts";

/** The sign-in page of an agent's request, and the user's answer to it. */
export function authorizeEndpoint(deps: Deps) {
  const count = addressRateLimit(deps, LIMITS.oauth_calls_minute);
  return {
    show: (visit: EndpointRequest) =>
      htmlResponse(async () => {
        count(visit.ctx);
        return show(deps, visit);
      }),
    decide: (visit: EndpointRequest) =>
      htmlResponse(async () => {
        count(visit.ctx);
        return decide(deps, visit);
      }),
  };
}

async function show({ config }: Deps, { ctx, request, server }: EndpointRequest): Promise<Response> {
  const origin = publicOrigin(config, server);
  const query = readFields(new URL(request.url).searchParams, ["resource"]);
  if ((query.state ?? "").length > LIMITS.oauth_state_length)
    throw new AppError("malformed", `The agent's state is over ${LIMITS.oauth_state_length} characters`);
  const { transaction, waiting } = await call(ctx, openAuthorization, { origin, query });
  // A browser keeps its cookie, so that a second tab does not break the first.
  const browser = browserOf(request, origin) ?? randomSecret();
  const facts = { transaction, authorization: waiting, csrf: csrfOf(browser, transaction) };
  return signIn(facts, { headers: { "set-cookie": cookieOf(browser, origin) } });
}

async function decide(deps: Deps, { ctx, request, server }: EndpointRequest): Promise<Response> {
  const origin = publicOrigin(deps.config, server);
  const from = request.headers.get("origin");
  if (from !== null && from !== origin) throw new AppError("forbidden", "This was sent from another site");
  const {
    transaction = "",
    csrf = "",
    decision,
    email = "",
    password,
  } = readFields(await readForm(request, ctx));
  const browser = browserOf(request, origin);
  if (browser === null || !isSameSecret(csrf, csrfOf(browser, transaction))) throw pageExpired();
  const authorization = await call(ctx, findWaitingAgent, { transaction });
  if (decision === "deny")
    return sendTo(await call(ctx, refuseAuthorization, { id: authorization.id, origin }));
  if (decision !== "allow") throw new AppError("malformed", "The decision must be allow or deny");
  try {
    return sendTo(await allow(deps, ctx, { id: authorization.id, origin, login: { email, password } }));
  } catch (error) {
    const problem = errorText(error);
    if (problem === null) throw error;
    return signIn({ authorization, transaction, csrf, email, problem: problem.message }, problem);
  }
}

/** Signs the user in and, as that user, grants the authorization. */
async function allow(
  deps: Deps,
  ctx: Context,
  { id, origin, login }: { id: number; origin: string; login: object },
): Promise<{ location: string }> {
  const { user, version } = await call(ctx, signInToAuthorize, decode(Login, login));
  const { id: user_id, email, company_id, client_id, role } = user;
  const as_user = deps.openContext({
    actor: { kind: "user", user_id, email, company_id, client_id, role },
    origin: "rest",
    request_id: ctx.request_id,
    address: () => ctx.address,
  });
  return call(as_user, grantAuthorization, { waiting_id: id, origin, version });
}

/** What the user can mend on the page; null for what ends it. */
function errorText(
  error: unknown,
): { status: number; message: string; headers: Record<string, string> } | null {
  if (!(error instanceof AppError)) return null;
  const { kind, message } = error;
  const headers = headersOf(error);
  if (kind === "unauthorized")
    return { status: 401, message: "Wrong email or password", headers: { "www-authenticate": "Bearer" } };
  if (kind === "invalid") return { status: 422, message: "Type your email and your password", headers };
  return kind === "rate_limited" ? { status: 429, message, headers } : null;
}

async function htmlResponse(work: () => Promise<Response>): Promise<Response> {
  try {
    return await work();
  } catch (error) {
    if (error instanceof AuthorizationError) return sendTo(error, 302);
    if (!(error instanceof AppError)) throw error;
    const { kind, message } = error;
    const headers = { ...DENY_FRAMES, ...headersOf(error) };
    return page(errorPage(message), { status: STATUS[kind], headers });
  }
}

const DENY_FRAMES = { "x-frame-options": "DENY" };

/** The page with its form. Under `no-referrer` browsers would call the form's origin "null". */
function signIn(
  facts: SignInPageContent,
  { status = 200, headers }: { status?: number; headers: Record<string, string> },
): Promise<Response> {
  const all = { ...DENY_FRAMES, "referrer-policy": "same-origin", ...headers };
  return page(signInPage(facts), { status, headers: all });
}

/** After a form a 303, so that the browser does not send the password on. */
function sendTo({ location }: { location: string }, status = 303): Response {
  const headers = { location, "cache-control": "no-store", "referrer-policy": "no-referrer" };
  return new Response(null, { status, headers });
}

// Behind https no other host, not even a neighbour of this one, can set a cookie with this prefix.
const cookieName = (origin: string) =>
  origin.startsWith("https:") ? "__Host-meterhouse_authorize" : "meterhouse_authorize";

function cookieOf(browser: string, origin: string): string {
  const secure = origin.startsWith("https:") ? "; Secure" : "";
  const max_age = LIMITS.oauth_request_minutes * 60;
  return `${cookieName(origin)}=${browser}; Path=/; HttpOnly; SameSite=Lax; Max-Age=${max_age}${secure}`;
}

function browserOf(request: Request, origin: string): string | null {
  const prefix = `${cookieName(origin)}=`;
  const cookies = (request.headers.get("cookie") ?? "").split(/; */);
  const value = cookies.find((cookie) => cookie.startsWith(prefix))?.slice(prefix.length) ?? "";
  return /^[A-Za-z0-9_-]{43}$/.test(value) ? value : null;
}
