import { LIMITS } from "../limits.ts";
import { iso } from "../../core/time.ts";
import type { Tx } from "../../store/store.ts";
import { recordSystemChange } from "../../audit/recorder.ts";
import { type ActiveEndpoint, disableEndpoint } from "../endpoints/queries.ts";
import { findLeasedStatuses, type LeasedLog, updateLeased } from "./lease_queries.ts";
import type { WebhookAttempt } from "./model.ts";
import { abandonPending } from "./queries.ts";
import { afterAttempt, isGone, retrySteps } from "./rules.ts";
import type { SendOutcome } from "./send.ts";

/** A leased delivery with its endpoint. */
export interface Delivery {
  log: LeasedLog;
  endpoint: ActiveEndpoint;
}

/** An attempt that has ended and is not recorded yet. */
export interface FinishedAttempt extends Delivery {
  began_at: Temporal.Instant;
  ended_at: Temporal.Instant;
  outcome: SendOutcome;
  /** The share of the jitter that the next wait gets, 0 to 1. */
  random: number;
}

/**
 * Records the outcomes of attempts, and disables endpoints that answered 410. Returns the deliveries whose lease was
 * lost: another dispatcher has them.
 */
export async function recordAttempts(
  tx: Omit<Tx, "scope">,
  dispatcher_id: string,
  ended: readonly FinishedAttempt[],
): Promise<number[]> {
  const ids = ended.map(({ log }) => log.id);
  const leased = await findLeasedStatuses(tx, dispatcher_id, ids);
  for (const attempt of ended) {
    const { log, endpoint, outcome, ended_at, random } = attempt;
    const status = leased.get(log.id);
    if (status === undefined) continue;
    const next = afterAttempt(log.step, outcome, ended_at, random, retrySteps(log.payload.data));
    // Abandoned meanwhile, because its endpoint was disabled: there is no next attempt.
    const is_over = status === "failed" && next.status === "pending";
    const change = is_over ? { ...next, status, next_attempt_at: null } : next;
    await updateLeased(tx, log.id, { ...change, url: endpoint.url, attempts: attemptsOf(attempt) });
  }
  for (const { endpoint, outcome } of ended)
    if (isGone(outcome)) await disableGone(tx, dispatcher_id, endpoint);
  return ids.filter((id) => !leased.has(id));
}

async function disableGone(
  { q, now }: Omit<Tx, "scope">,
  dispatcher_id: string,
  endpoint: ActiveEndpoint,
): Promise<void> {
  const was_active = await disableEndpoint({ q, now }, endpoint, "It answered 410 Gone");
  if (!was_active) return;
  await abandonPending({ q, now }, endpoint.id);
  const call = { now, origin: "job", address: null, request_id: dispatcher_id } as const;
  await recordSystemChange(call, { q, scope: endpoint }, "disable_webhook", {
    type: "webhook",
    id: endpoint.id,
  });
}

function attemptsOf({ log: { attempts }, began_at, outcome }: FinishedAttempt): WebhookAttempt[] {
  const { status_code, duration_ms, response_excerpt, error } = outcome;
  const no = (attempts.at(-1)?.no ?? 0) + 1;
  const attempt = { no, at: iso(began_at), status_code, duration_ms, response_excerpt, error };
  return [...attempts, attempt].slice(-LIMITS.webhook_attempts_kept);
}
