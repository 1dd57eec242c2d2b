import { ElysiaCustomStatusResponse } from "elysia";
import type { Context } from "../app/context.ts";
import type { Deps } from "../app/deps.ts";
import { type Actor, ownerOf, rightsOf, scopeOf } from "../core/access.ts";
import { invalid } from "../core/errors.ts";

const HEADER = "idempotency-key";

/** Headers of an answer that repeats get again; the others are made anew, or say nothing. */
const KEPT_HEADERS = ["content-type", "location", "retry-after"];

/** Digests of bodies that came with a key. */
const digests = new WeakMap<Request, string>();
/** Who holds a request's key, until it is answered. */
const holders = new WeakMap<Request, Context>();

/** Looks at the bytes of a body, before it is parsed: what comes with a key is compared by them. */
export function digestBody(request: Request, bytes: Uint8Array): void {
  if (request.headers.get(HEADER) === null) return;
  digests.set(request, new Bun.CryptoHasher("sha256").update(bytes).digest("hex"));
}

/**
 * The claim of a POST that came with an Idempotency-Key; on other methods, which are idempotent by themselves,
 * the header says nothing. Errors: invalid for a key that can't be one.
 */
export function claimOf(deps: Deps, request: Request, actor: Actor): Context["claim"] {
  const key = request.method === "POST" ? request.headers.get(HEADER) : null;
  const owner = ownerOf(actor);
  if (key === null || owner === null) return null;
  if (!/^[\x21-\x7e]{1,255}$/.test(key))
    throw invalid("/Idempotency-Key", "must be 1 to 255 visible ASCII characters");
  const { company_id } = scopeOf(actor);
  const { pathname, search } = new URL(request.url);
  const hasher = new Bun.CryptoHasher("sha256");
  // With the caller's rights: what one was answered before they changed is not shown again.
  hasher.update(JSON.stringify([search, ...rightsOf(actor), digests.get(request) ?? ""]));
  const digest = hasher.digest("hex");
  const path = pathname.replace(/\/$/, "");
  return deps.openClaim({ company_id, owner, method: "POST", path, key, digest, now: deps.clock.now() });
}

interface Keyed {
  ctx: Context;
  request: Request;
}

/** Before a route's handler: takes the request's key, or answers what was answered before. */
export async function takeKey({ ctx, request }: Keyed): Promise<Response | undefined> {
  if (ctx.claim === null) return undefined;
  const kept = await ctx.claim.take();
  if (kept === null) {
    holders.set(request, ctx);
    return undefined;
  }
  return new Response(kept.body, {
    status: kept.status,
    headers: { ...kept.headers, "idempotent-replayed": "true" },
  });
}

/** After a route's handler, also after one that threw: keeps its answer for repeats. */
export async function keepAnswer(request: Request, value: unknown, status: unknown): Promise<void> {
  const ctx = holders.get(request);
  if (ctx === undefined) return;
  holders.delete(request);
  try {
    const answer = await readAnswer(value, Number(status ?? 200));
    await ctx.claim?.settle(answer.status, answer.body === null ? null : { ...answer, body: answer.body });
  } catch (error) {
    // The change is made and will be answered; a repeat is told that it was carried out.
    ctx.log.error({ err: error, request_id: ctx.request_id }, "cannot keep an answer for repeats");
  }
}

async function readAnswer(value: unknown, status: number) {
  if (value instanceof Response) {
    const is_json = value.headers.get("content-type")?.startsWith("application/json") === true;
    // Files are not held.
    const body = is_json ? await value.clone().text() : null;
    const headers = KEPT_HEADERS.flatMap((name) => {
      const told = value.headers.get(name);
      return told === null ? [] : [[name, told] as const];
    });
    return { status: value.status, headers: Object.fromEntries(headers), body };
  }
  // As the server writes what is no Response of its own.
  const headers = { "content-type": "application/json;charset=utf-8" };
  const told = value instanceof ElysiaCustomStatusResponse ? value : { code: status, response: value };
  const body = JSON.stringify(told.response) ?? "";
  return { status: Number(told.code), headers, body };
}
