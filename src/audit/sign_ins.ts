import type { Context } from "../app/context.ts";
import { LIMITS } from "./limits.ts";
import type { Queries } from "../store/store.ts";
import { insertEntry, type NewEntry } from "./queries.ts";

/** A sign-in, by a user or with an API key. */
export type SignIn = Pick<NewEntry, "company_id" | "actor" | "operation" | "target" | "input" | "withheld">;

/** Records a sign-in in its transaction. */
export function recordSignIn(ctx: Context, q: Queries, sign_in: SignIn): Promise<void> {
  return insertEntry(q, entryOf(ctx, sign_in, "ok"));
}

/**
 * Records a failed sign-in in the company's log, a moment after the response: a slower response would reveal that the
 * name is known. Attempts on unknown names belong to no company's log.
 */
export function recordFailedSignIn(ctx: Context, sign_in: SignIn): void {
  const { store, background, request_id, log } = ctx;
  const entry = entryOf(ctx, sign_in, "refused");
  const written = Bun.sleep(LIMITS.audit_sign_in_delay_ms).then(() => store.tx((q) => insertEntry(q, entry)));
  background.track(written).catch((error) => log.error({ err: error, request_id }, "audit log: not written"));
}

function entryOf(ctx: Context, sign_in: SignIn, outcome: NewEntry["outcome"]): NewEntry {
  const { now: at, origin, address, request_id } = ctx;
  return { ...sign_in, at, origin, address, request_id, outcome, changes: null };
}
