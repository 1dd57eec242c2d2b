import type { Context } from "../app/context.ts";
import { principalOf, scopeOf } from "../core/access.ts";
import type { Background } from "../core/background.ts";
import { AppError } from "../core/errors.ts";
import { RateLimiter } from "../core/rate_limiter.ts";
import { LIMITS } from "./limits.ts";
import type { Store } from "../store/store.ts";
import { insertEntry, type NewEntry } from "./queries.ts";
import { entryOf, nounOf } from "./recorder.ts";

/** What a refused sign-in tells beside where it came from. */
type FailedSignIn = Pick<NewEntry, "company_id" | "actor" | "operation" | "target" | "input" | "withheld">;

/**
 * Writes a refused sign-in to the company's log, a moment after its answer: an answer that waited for it would tell
 * that the name is known. Attempts on names that nobody has belong to no company's log.
 */
export function recordFailedSignIn(ctx: Context, refusal: FailedSignIn): void {
  const { store, background, now: at, origin, address, request_id, log } = ctx;
  const entry = { ...refusal, at, origin, address, request_id, outcome: "refused" as const, changes: null };
  const written = Bun.sleep(LIMITS.audit_sign_in_delay_ms).then(() => store.tx((q) => insertEntry(q, entry)));
  background.track(written).catch((error) => log.error({ err: error, request_id }, "audit log: not written"));
}

/**
 * Writes what users and machines may not do to their company's log, beside the answer, which does not wait for it.
 * Of one user's or key's refusals only some a minute are written down: a log that is full of them tells no more.
 */
export function openFailedSignInLog(store: Store, background: Background): Context["refused"] {
  const written = new RateLimiter(LIMITS.audit_refusals_minute);
  return (call, operation, input) => {
    const owner = principalOf(call.actor);
    if (owner === null || !hasRoom(written, `${owner.kind} ${owner.id}`, call.now)) return;
    const { company_id } = scopeOf(call.actor);
    const entry = {
      ...entryOf(call, operation, input, {}),
      outcome: "refused" as const,
      company_id,
      target: { type: nounOf(operation), id: null },
    };
    background
      .track(store.tx((q) => insertEntry(q, entry)))
      .catch((error) =>
        call.log.error({ err: error, request_id: call.request_id }, "audit log: not written"),
      );
  };
}

function hasRoom(limiter: RateLimiter, key: string, now: Temporal.Instant): boolean {
  try {
    limiter.consume(key, now);
    return true;
  } catch (error) {
    if (error instanceof AppError) return false;
    throw error;
  }
}
