import { type Actor, principalOf, privilegesOf, scopeOf } from "../core/access.ts";
import { invalid } from "../core/errors.ts";
import type { Context } from "../app/context.ts";
import type { Deps } from "../app/deps.ts";
import type { Claim } from "../app/claim.ts";

const HEADER = "idempotency-key";
/** The content type of every answer in JSON, as the server spells it. */
export const JSON_TYPE = "application/json;charset=utf-8";

/** The result of a route: a Response, or a value that is sent as JSON. */
export interface Answer {
  status: number;
  answer: unknown;
}

/** The digest by which bodies are compared; empty without an Idempotency-Key. */
export function digestOf(request: Request, bytes: Uint8Array): string {
  if (request.headers.get(HEADER) === null) return "";
  return new Bun.CryptoHasher("sha256").update(bytes).digest("hex");
}

/** The claim of a request with an Idempotency-Key and a body of this digest. Errors: invalid for a malformed key. */
export function claimOf(deps: Deps, request: Request, actor: Actor, body_digest: string): Claim | null {
  const key = request.headers.get(HEADER);
  const owner = principalOf(actor);
  if (key === null || owner === null) return null;
  if (!/^[\x21-\x7e]{1,255}$/.test(key))
    throw invalid("/Idempotency-Key", "must be 1 to 255 visible ASCII characters");
  const { company_id } = scopeOf(actor);
  const { pathname, search } = new URL(request.url);
  const hasher = new Bun.CryptoHasher("sha256");
  // With the caller's privileges: once they change, the stored response is not shown again.
  hasher.update(JSON.stringify([search, ...privilegesOf(actor), body_digest]));
  const digest = hasher.digest("hex");
  const path = pathname.replace(/\/$/, "");
  return deps.openClaim({ company_id, owner, method: "POST", path, key, digest, now: deps.clock.now() });
}

/** Runs a claimed request once, or replays the stored response. Errors: conflict, and those of `run`. */
export async function runOnce(ctx: Context, claim: Claim, run: () => Promise<Answer>): Promise<Answer> {
  const stored = await claim.acquire();
  if (stored !== null) {
    const { status, headers, body } = stored;
    const repeated = { ...headers, "idempotent-replayed": "true" };
    return { status, answer: new Response(body, { status, headers: repeated }) };
  }
  let made: Answer | undefined;
  try {
    made = await run();
    return made;
  } finally {
    await storeAnswer(ctx, claim, made);
  }
}

/** Stores the response for repeats; a failed request releases the key. */
async function storeAnswer(ctx: Context, claim: Claim, made: Answer | undefined): Promise<void> {
  try {
    if (made === undefined) await claim.complete(500, null);
    // Files are not stored.
    else if (made.answer instanceof Response) await claim.complete(made.status, null);
    // The bytes that the server sends.
    else {
      const headers = { "content-type": JSON_TYPE };
      await claim.complete(made.status, { status: made.status, headers, body: JSON.stringify(made.answer) });
    }
  } catch (error) {
    // The change is committed and will be answered; a repeat gets a conflict that says so.
    ctx.log.error({ err: error, request_id: ctx.request_id }, "cannot store a response for repeats");
  }
}
