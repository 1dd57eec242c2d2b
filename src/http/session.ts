import { Elysia } from "elysia";
import type { Context } from "../app/context.ts";
import type { Caller, Deps } from "../app/deps.ts";
import { type Actor, type Level, levelOf, ownerOf } from "../core/access.ts";
import { AppError } from "../core/errors.ts";
import { LIMITS } from "../core/limits.ts";
import { networkOf, readAddress } from "../core/network.ts";
import type { Reads } from "../store/store.ts";
import { mediaTypeOf, readJson } from "./body.ts";
import { claimOf, digestBody, keepAnswer, takeKey } from "./idempotency.ts";
import { refuseNulIn } from "./json.ts";

/** What is known of the listening server. */
export interface Listening {
  port?: number | undefined;
  requestIP(request: Request): { address: string } | null;
}

interface Options {
  /** Whether requests count towards the user's limit. */
  counted?: boolean;
  /** Whether bodies are read as JSON before the route's handler; else they are left to it, unread. */
  reads_body?: boolean;
  /** Whether a POST with an Idempotency-Key is carried out once: not where repeating it changes nothing. */
  keeps_answers?: boolean;
}

/** Whom a group of routes is for: users of any level, callers of these levels, or everyone without signing in. */
type Admits = "any" | "open" | Level | readonly Level[];

/**
 * Signs the caller in and gives the routes their `ctx`. Use one for each group of routes: it admits users of
 * any level, callers of one level or some, or, for signing in itself, everyone ("open"). Machines come in only
 * where their level is named. The caller is known before the body is read.
 */
export function session(
  deps: Deps,
  admits: Admits,
  { counted = true, reads_body = true, keeps_answers = reads_body && admits !== "open" }: Options = {},
) {
  const arrived = new WeakMap<Request, { actor: Actor; at_ms: number }>();
  const levels = levelsOf(admits);

  async function signIn({ request, server, set }: Arrival): Promise<Actor> {
    const known = arrived.get(request);
    if (known) return stillThere(deps, request, known);
    const actor = await actorOf(request, server);
    try {
      if (levels.length > 0) admit(actor, levels);
    } catch (error) {
      const ctx = deps.openContext(callerOf(deps, actor, { request, server, set }));
      ctx.refused(ctx, "use_path", { method: request.method, path: new URL(request.url).pathname });
      throw error;
    }
    if (counted) countRequest(deps, actor);
    watchLargeBody(deps, request, actor);
    arrived.set(request, { actor, at_ms: performance.now() });
    return actor;
  }

  /** Requests of callers who are nobody, or turn out to be, count against their address when they are refused. */
  async function actorOf(request: Request, server: Listening | null): Promise<Actor> {
    const watch = () => watchAddress(deps, request, server);
    if (admits === "open") {
      watch();
      return anonymous;
    }
    return authenticate(deps, request).catch((error: unknown) => {
      watch();
      throw error;
    });
  }

  const words = [
    [admits].flat().join(" or "),
    ...(counted ? [] : ["uncounted"]),
    ...(reads_body ? [] : ["bodies unread"]),
    ...(keeps_answers ? ["answers kept"] : []),
  ];
  const plugin = new Elysia({ name: `session for ${words.join(", ")}` });
  if (reads_body) {
    plugin.onParse({ as: "scoped" }, async ({ request, server, set }) => {
      const actor = await signIn({ request, server, set });
      // No DELETE takes one; clients that name a type for all they send send none.
      if (request.method === "DELETE") return {};
      mediaTypeOf(request, ["application/json"]);
      const sender = { actor, address: actor.kind === "anonymous" ? addressOf(deps, request, server) : null };
      return readJson(request, sender, {
        look: (bytes) => keeps_answers && digestBody(request, bytes),
      });
    });
  }

  // Only what is named here is read of the request: cookies, query and headers cost time.
  const signed = plugin.derive({ as: "scoped" }, async ({ request, server, set }) => {
    const actor = await signIn({ request, server, set });
    refuseNulIn(request.url);
    const claim = keeps_answers ? claimOf(deps, request, actor) : null;
    return { ctx: deps.openContext(callerOf(deps, actor, { request, server, set }, claim)) };
  });
  if (keeps_answers) {
    signed.onBeforeHandle({ as: "scoped" }, takeKey);
    signed.mapResponse({ as: "scoped" }, async ({ request, responseValue, set }) => {
      await keepAnswer(request, responseValue, set.status);
    });
  }
  return signed;
}

/** A request as it came in, and the headers that its answer has so far. */
interface Arrival {
  request: Request;
  server: Listening | null;
  set: { headers: Record<string, string | number | undefined> };
}

function callerOf(
  deps: Deps,
  actor: Actor,
  { request, server, set }: Arrival,
  claim: Caller["claim"] = null,
): Caller {
  return {
    actor,
    origin: "rest",
    request_id: String(set.headers["x-request-id"]),
    claim: claim ?? null,
    get address() {
      return addressOf(deps, request, server);
    },
  };
}

/** The caller once the body is there: signed in anew where that took long. Errors: unauthorized. */
async function stillThere(
  deps: Deps,
  request: Request,
  { actor, at_ms }: { actor: Actor; at_ms: number },
): Promise<Actor> {
  return actor.kind === "anonymous" || !isLate(at_ms) ? actor : authenticate(deps, request);
}

/** Whether a body took so long to come in that its caller signs in anew. */
export const isLate = (since_ms: number) => performance.now() - since_ms > LIMITS.sign_in_trust_ms;

/**
 * Reads a body, and answers with it the caller's context once it is there: who may have been revoked or signed out
 * while it came in. Errors: unauthorized, and those of `read`.
 */
export async function withBody<T>(
  deps: Deps,
  request: Request,
  ctx: Context,
  read: () => Promise<T>,
): Promise<{ ctx: Context; body: T }> {
  const since_ms = performance.now();
  const body = await read();
  return { ctx: isLate(since_ms) ? await renew(deps, request, ctx) : ctx, body };
}

/**
 * The context of a caller that is known, signed in anew and at a later time: for a request that goes on for
 * long. `q` is the transaction that depends on it. Errors: unauthorized when the token has ended.
 */
export async function renew(deps: Deps, request: Request, ctx: Context, q?: Reads): Promise<Context> {
  const actor = await authenticate(deps, request, q);
  return deps.openContext({
    actor,
    origin: ctx.origin,
    request_id: ctx.request_id,
    get address() {
      return ctx.address;
    },
  });
}

const anonymous: Actor = { kind: "anonymous" };

/** Counts a request towards the limit of its user or API key. Errors: rate_limited. */
export function countRequest({ config, request_limiter, clock }: Deps, actor: Actor): void {
  const owner = ownerOf(actor);
  if (!config.rate_limit_enabled || owner === null) return;
  request_limiter.take(`${owner.kind} ${owner.id}`, clock.now());
}

/** Counts a request of nobody's against its address, if it is refused. Errors: rate_limited. */
export function watchAddress(deps: Deps, request: Request, server: Listening | null): void {
  deps.refusals.watch(request, networkOf(addressOf(deps, request, server)), deps.clock.now());
}

/** Counts a request with a large body against its user or API key, if it is refused. Errors: rate_limited. */
export function watchLargeBody(deps: Deps, request: Request, actor: Actor): void {
  const owner = ownerOf(actor);
  const told = request.headers.get("content-length");
  const is_large = told === null ? request.body !== null : Number(told) > LIMITS.refused_bytes;
  if (owner !== null && is_large) deps.refusals.watch(request, `${owner.kind} ${owner.id}`, deps.clock.now());
}

async function authenticate(deps: Deps, request: Request, q?: Reads): Promise<Actor> {
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

/** None of them where nobody signs in. */
function levelsOf(admits: Admits): readonly Level[] {
  if (admits === "any") return USERS;
  if (admits === "open") return [];
  return typeof admits === "string" ? [admits] : admits;
}

const USERS: readonly Level[] = ["company", "client"];

/** Whom paths are for, and where else theirs are. */
const WHO: Record<Level, string> = {
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

function admit(actor: Actor, levels: readonly Level[]): void {
  const level = levelOf(actor);
  if (levels.includes(level)) return;
  const who = levels.map((admitted) => WHO[admitted]).join(" and ");
  throw new AppError("forbidden", `This path is for ${who}; yours ${WHERE[level]}`);
}

/** The caller's network address, where there is one. A proxy's word counts only where it is an address. */
export function addressOf(deps: Deps, request: Request, server: Listening | null): string | null {
  const forwarded = deps.config.trust_proxy ? request.headers.get("x-forwarded-for") : null;
  const told = forwarded?.split(",").at(-1)?.trim() ?? "";
  return readAddress(told) ?? server?.requestIP(request)?.address ?? null;
}
