import type { Context } from "../app/context.ts";
import type { Caller, Deps } from "../app/deps.ts";
import type { Actor, Level } from "../core/access.ts";
import { AppError } from "../core/errors.ts";
import type { Reads } from "../store/store.ts";
import { addressOf, type ListeningServer } from "./address.ts";
import { requireAudience } from "./audience.ts";
import { LIMITS } from "./limits.ts";
import { requireSameOrigin, sessionTokenOf } from "./session_cookie.ts";
import { countRequest, watchAddress, watchLargeBody } from "./rate_limits.ts";

/** A request as it arrived, and the headers of its response so far. */
export interface Arrived {
  request: Request;
  server: ListeningServer | null;
  set: { headers: Record<string, string | number | undefined>; status?: number | string };
}

const ANONYMOUS: Actor = { kind: "anonymous" };

/**
 * Authenticates the caller, admits those of some levels, and counts the request. Anonymous requests, and those that
 * fail to authenticate, count against their network when they are refused.
 * Errors: unauthorized, forbidden, rate_limited.
 */
export async function signIn(
  deps: Deps,
  { levels, counted, is_list }: { levels: readonly Level[]; counted: boolean; is_list: boolean },
  arrived: Arrived,
): Promise<Actor> {
  const { request, server } = arrived;
  if (levels.length === 0) {
    watchAddress(deps, request, server);
    return ANONYMOUS;
  }
  const { read, read_at_once } = deps.store;
  const actor = await authenticate(deps, request, is_list ? read_at_once : read).catch((error: unknown) => {
    watchAddress(deps, request, server);
    throw error;
  });
  try {
    requireAudience(actor, levels);
  } catch (error) {
    const ctx = deps.openContext(callerOf(deps, actor, arrived));
    ctx.refused(ctx, "use_path", { method: request.method, path: new URL(request.url).pathname });
    throw error;
  }
  if (counted) countRequest(deps, actor);
  watchLargeBody(deps, request, actor);
  return actor;
}

/** The caller of a request, as operations know it. */
export function callerOf(
  deps: Deps,
  actor: Actor,
  { request, server, set }: Arrived,
  claim: Caller["claim"] = null,
): Caller {
  return {
    actor,
    origin: vouched.has(request) ? "cli" : "rest",
    request_id: String(set.headers["x-request-id"]),
    claim: claim ?? null,
    address: () => addressOf(deps, request, server),
    stop: () => request.signal,
  };
}

/** The context of the same request for another actor, at the current time. */
export function contextFor(deps: Deps, actor: Actor, ctx: Context): Context {
  const { origin, request_id, stop } = ctx;
  return deps.openContext({ actor, origin, request_id, stop, address: () => ctx.address });
}

/** Whether a body took so long to arrive that its caller is authenticated again. */
export const isLate = (since_ms: number) => performance.now() - since_ms > LIMITS.sign_in_trust_ms;

/**
 * Reads a body, and returns it with the caller's context afterwards: the caller may have been revoked or signed out
 * while the body arrived. Errors: unauthorized, and those of `read`.
 */
export async function withBody<T>(
  { deps, request, ctx }: { deps: Deps; request: Request; ctx: Context },
  read: () => Promise<T>,
): Promise<{ ctx: Context; body: T }> {
  const since_ms = performance.now();
  const body = await read();
  return { ctx: isLate(since_ms) ? await reauthenticate(deps, request, ctx) : ctx, body };
}

/**
 * The caller's context, authenticated again and at the current time: for requests that take long. `q` is the
 * transaction that depends on it. Errors: unauthorized when the token has ended.
 */
export async function reauthenticate(
  deps: Deps,
  request: Request,
  ctx: Context,
  q?: Reads,
): Promise<Context> {
  return contextFor(deps, await authenticate(deps, request, q), ctx);
}

/** Requests that the process itself makes for somebody: the operator's. */
const vouched = new WeakMap<Request, Actor>();

/** Makes a request this actor's, without a token. */
export function vouchFor(request: Request, actor: Actor): void {
  vouched.set(request, actor);
}

/**
 * The caller behind the bearer token or, where there is no Authorization header, the browser's session. Errors:
 * unauthorized; forbidden for a session that another site's page uses.
 */
export async function authenticate(deps: Deps, request: Request, q?: Reads): Promise<Actor> {
  const known = vouched.get(request);
  if (known !== undefined) return known;
  const token = bearerOf(request);
  if (token !== undefined) return deps.authenticate(token, q);
  if (request.headers.get("authorization") !== null)
    throw new AppError("unauthorized", "The Authorization header is not a bearer token");
  const session = sessionTokenOf(deps.config, request);
  if (session === undefined) throw new AppError("unauthorized", "Sign in first: send a bearer token");
  requireSameOrigin(deps.config, request);
  return deps.authenticateSession(session, q);
}

/** The request's bearer token, if it has one. */
export function bearerOf(request: Request): string | undefined {
  return /^Bearer +(\S+)$/i.exec(request.headers.get("authorization") ?? "")?.[1];
}
