import type { Context } from "../../context.ts";
import { LIMITS } from "../../core/limits.ts";
import { insertEntry, type NewEntry } from "./queries.ts";

/** What a refused sign-in tells beside where it came from. */
type Refusal = Pick<NewEntry, "company_id" | "actor" | "operation" | "target" | "input" | "withheld">;

/**
 * Writes a refused sign-in to the company's log, a moment after its answer: an answer that waited for it would tell
 * that the name is known. Attempts on names that nobody has belong to no company's log.
 */
export function noteRefusal(ctx: Context, refusal: Refusal): void {
  const { store, background, now: at, origin, address, request_id, log } = ctx;
  const entry = { ...refusal, at, origin, address, request_id, outcome: "refused" as const, changes: null };
  const written = Bun.sleep(LIMITS.audit_sign_in_delay_ms).then(() => store.tx((q) => insertEntry(q, entry)));
  background.keep(written).catch((error) => log.error({ err: error, request_id }, "audit log: not written"));
}
