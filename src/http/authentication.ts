import { type Actor, type Level, levelOf, principalOf } from "../core/access.ts";
import type { Context } from "../app/context.ts";
import { AppError } from "../core/errors.ts";
import { LIMITS } from "./limits.ts";
import { networkOf, readAddress } from "../core/network.ts";
import type { Caller, Deps } from "../app/deps.ts";
import type { Reads } from "../store/store.ts";

/** What is known of the listening server. */
export interface ListeningServer {
  port?: number | undefined;
  requestIP(request: Request): { address: string } | null;
}

/** Whom routes are for: users of any level, callers of these levels, or everyone without signing in. */
export type Audience = "any" | "open" | Level | readonly Level[];

/** A request as it came in, and the headers that its answer has so far. */
export interface Arrived {
  request: Request;
  server: ListeningServer | null;
  set: { headers: Record<string, string | number | undefined>; status?: number | string };
}

/**
 * Signs the caller in, admits those of some levels, and counts the request. Requests of callers who are nobody, or
 * turn out to be, count against their address when they are refused.
 * Errors: unauthorized, forbidden, rate_limited.
 */
export async function signIn(
  deps: Deps,
  { levels, counted }: { levels: readonly Level[]; counted: boolean },
  arrived: Arrived,
): Promise<Actor> {
  const { request, server } = arrived;
  if (levels.length === 0) {
    watchAddress(deps, request, server);
    return anonymous;
  }
  const actor = await authenticate(deps, request).catch((error: unknown) => {
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

/** The caller as operations know it. */
export function callerOf(
  deps: Deps,
  actor: Actor,
  { request, server, set }: Arrived,
  claim: Caller["claim"] = null,
): Caller {
  return {
    actor,
    origin: "rest",
    request_id: String(set.headers["x-request-id"]),
    claim: claim ?? null,
    address: () => addressOf(deps, request, server),
  };
}

/** Whether a body took so long to come in that its caller signs in anew. */
export const isLate = (since_ms: number) => performance.now() - since_ms > LIMITS.sign_in_trust_ms;

/**
 * Reads a body, and answers with it the caller's context once it is there: who may have been revoked or signed out
 * while it came in. Errors: unauthorized, and those of `read`.
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
 * The context of a caller that is known, signed in anew and at a later time: for a request that goes on for
 * long. `q` is the transaction that depends on it. Errors: unauthorized when the token has ended.
 */
export async function reauthenticate(
  deps: Deps,
  request: Request,
  ctx: Context,
  q?: Reads,
): Promise<Context> {
  const actor = await authenticate(deps, request, q);
  return deps.openContext({
    actor,
    origin: ctx.origin,
    request_id: ctx.request_id,
    address: () => ctx.address,
  });
}

const anonymous: Actor = { kind: "anonymous" };

/** Counts a request towards the limit of its user or API key. Errors: rate_limited. */
export function countRequest({ config, request_limiter, clock }: Deps, actor: Actor): void {
  const owner = principalOf(actor);
  if (!config.rate_limit_enabled || owner === null) return;
  request_limiter.consume(`${owner.kind} ${owner.id}`, clock.now());
}

/** Counts a request of nobody's against its address, if it is refused. Errors: rate_limited. */
export function watchAddress(deps: Deps, request: Request, server: ListeningServer | null): void {
  deps.refusals.watch(request, networkOf(addressOf(deps, request, server)), deps.clock.now());
}

/** Counts a request with a large body against its user or API key, if it is refused. Errors: rate_limited. */
export function watchLargeBody(deps: Deps, request: Request, actor: Actor): void {
  const owner = principalOf(actor);
  const content_length = request.headers.get("content-length");
  const is_large =
    content_length === null ? request.body !== null : Number(content_length) > LIMITS.refused_bytes;
  if (owner !== null && is_large) deps.refusals.watch(request, `${owner.kind} ${owner.id}`, deps.clock.now());
}

/** The caller behind the bearer token. Errors: unauthorized. */
export async function authenticate(deps: Deps, request: Request, q?: Reads): Promise<Actor> {
  const token = bearerOf(request);
  if (token === undefined) {
    throw new AppError(
      "unauthorized",
      request.headers.get("authorization") === null
        ? "Sign in first: send a bearer token"
        : "The Authorization header is not a bearer token",
    );
  }
  return deps.authenticate(token, q);
}

/** The request's bearer token, if it has one. */
export function bearerOf(request: Request): string | undefined {
  return /^Bearer +(\S+)$/i.exec(request.headers.get("authorization") ?? "")?.[1];
}

/** The levels; none of them where nobody signs in. */
export function levelsOf(admits: Audience): readonly Level[] {
  if (admits === "any") return USERS;
  if (admits === "open") return [];
  return typeof admits === "string" ? [admits] : admits;
}

const USERS: readonly Level[] = ["company", "client"];

/** Whom paths are for, and where else theirs are. */
const AUDIENCE_NAMES: Record<Level, string> = {
  company: "company users",
  client: "client users",
  lender: "API keys of lenders",
  agent: "API keys of agents",
  ingest: "API keys for ingest",
};
const WHERE: Record<Level, string> = {
  company: "are all but those under /my, /lender and /agent",
  client: "are under /my",
  lender: "are under /lender",
  agent: "are under /agent",
  ingest: "is POST /usage/events",
};

function requireAudience(actor: Actor, levels: readonly Level[]): void {
  const level = levelOf(actor);
  if (levels.includes(level)) return;
  const who = levels.map((admitted) => AUDIENCE_NAMES[admitted]).join(" and ");
  throw new AppError("forbidden", `This path is for ${who}; yours ${WHERE[level]}`);
}

/** The caller's network address, where there is one. A proxy's word counts only where it is an address. */
export function addressOf(deps: Deps, request: Request, server: ListeningServer | null): string | null {
  const forwarded = deps.config.trust_proxy ? request.headers.get("x-forwarded-for") : null;
  const forwarded_for = forwarded?.split(",").at(-1)?.trim() ?? "";
  return readAddress(forwarded_for) ?? server?.requestIP(request)?.address ?? null;
}
