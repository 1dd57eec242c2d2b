import { Elysia } from "elysia";
import { type Actor, type Level, levelOf } from "../core/access.ts";
import { AppError } from "../core/errors.ts";
import type { Deps } from "../deps.ts";
import { readJson, refuseNulIn } from "./body.ts";

interface Caller {
  request: Request;
  server: { requestIP(request: Request): { address: string } | null } | null;
  set: { headers: Record<string, string | number | undefined> };
}

/**
 * Signs the caller in and gives the routes their `ctx`. Use one for each group of routes: it admits callers
 * of one level, of any level, or, for signing in itself, everyone ("open"). The caller is known before the
 * body is read. Requests count towards the user's limit unless `counted` is false.
 */
export function session(deps: Deps, admits: Level | "any" | "open", { counted = true } = {}) {
  const actors = new WeakMap<Request, Actor>();

  async function signIn(caller: Caller): Promise<Actor> {
    const known = actors.get(caller.request);
    if (known) return known;
    const actor = admits === "open" ? anonymous : await authenticate(deps, caller.request);
    if (actor.kind === "user") {
      admit(actor, admits);
      if (counted) countRequest(deps, actor.user_id);
    }
    actors.set(caller.request, actor);
    return actor;
  }

  return new Elysia({ name: `session for ${admits}${counted ? "" : ", uncounted"}` })
    .onParse({ as: "scoped" }, async (caller) => {
      await signIn(caller);
      return readJson(caller.request);
    })
    .derive({ as: "scoped" }, async (caller) => {
      const actor = await signIn(caller);
      refuseNulIn(caller.request.url);
      const request_id = String(caller.set.headers["x-request-id"]);
      return {
        ctx: deps.openContext({ actor, origin: "rest", request_id, address: addressOf(deps, caller) }),
      };
    });
}

const anonymous: Actor = { kind: "anonymous" };

function countRequest({ config, request_limiter, clock }: Deps, user_id: number): void {
  if (!config.rate_limit_enabled) return;
  request_limiter.take(String(user_id), clock.now());
}

async function authenticate(deps: Deps, request: Request): Promise<Actor> {
  const header = request.headers.get("authorization");
  const token = /^Bearer +(\S+)$/i.exec(header ?? "")?.[1];
  if (token === undefined) {
    throw new AppError(
      "unauthorized",
      header === null
        ? "Sign in first: send a bearer token"
        : "The Authorization header is not a bearer token",
    );
  }
  return deps.authenticate(token);
}

function admit(actor: Actor, admits: Level | "any" | "open"): void {
  if (admits === "any" || admits === "open" || levelOf(actor) === admits) return;
  throw new AppError(
    "forbidden",
    admits === "client"
      ? "Paths under /my are for client users"
      : "This path is for company users; yours are under /my",
  );
}

function addressOf(deps: Deps, { request, server }: Caller): string | null {
  const forwarded = deps.config.trust_proxy
    ? request.headers.get("x-forwarded-for")?.split(",").at(-1)?.trim()
    : null;
  return forwarded || (server?.requestIP(request)?.address ?? null);
}
