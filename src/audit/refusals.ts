import type { Context } from "../app/context.ts";
import { principalOf, scopeOf } from "../core/access.ts";
import type { Background } from "../core/background.ts";
import { AppError } from "../core/errors.ts";
import { RateLimiter } from "../core/rate_limiter.ts";
import { LIMITS } from "./limits.ts";
import type { Store } from "../store/store.ts";
import { insertEntry } from "./queries.ts";
import { entryOf, nounOf } from "./recorder.ts";

/**
 * Records forbidden calls of users and machines in their company's log, without delaying the response. Only some a
 * minute are recorded for each user or key: more of them would say nothing new.
 */
export function openRefusalLog(store: Store, background: Background): Context["refused"] {
  const limiter = new RateLimiter(LIMITS.audit_refusals_minute);
  return (call, operation, input) => {
    const principal = principalOf(call.actor);
    if (principal === null || !isWithin(limiter, `${principal.kind} ${principal.id}`, call.now)) return;
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

function isWithin(limiter: RateLimiter, key: string, now: Temporal.Instant): boolean {
  try {
    limiter.consume(key, now);
    return true;
  } catch (error) {
    if (error instanceof AppError) return false;
    throw error;
  }
}
