import { iso } from "../../core/time.ts";
import type { LogStatus, WebhookPayload } from "./model.ts";

/** The retry schedule: seconds before each attempt, counted from the end of the one before. */
export const RETRY_STEPS_S = [0, 5, 300, 1_800, 7_200, 18_000, 36_000, 50_400, 72_000, 86_400] as const;

/** How many attempts an event of the staging environment gets. */
const STAGING_ATTEMPTS = 3;

/** The retry schedule of a message: shorter for loans in staging. */
export function retrySteps({ environment }: WebhookPayload["data"]): readonly number[] {
  return environment === "staging" ? RETRY_STEPS_S.slice(0, STAGING_ATTEMPTS) : RETRY_STEPS_S;
}

/** The step of a message that gets one attempt: a test, or a redelivery. */
export const ONE_ATTEMPT = RETRY_STEPS_S.length - 1;

const JITTER = 0.2;
const RETRY_AFTER_MAX_MS = 86_400_000;
const GONE = 410;

/** An endpoint's response, as far as the schedule needs it. */
export interface AttemptResult {
  status_code: number | null;
  /** The header's text. */
  retry_after: string | null;
}

/** The state of a delivery after an attempt. */
export interface DeliveryUpdate {
  status: LogStatus;
  step: number;
  next_attempt_at: string | null;
}

export function hasSucceeded({ status_code }: Pick<AttemptResult, "status_code">): boolean {
  return status_code !== null && status_code >= 200 && status_code < 300;
}

/** Whether the endpoint answered 410 Gone: it does not want to be called again. */
export function isGone({ status_code }: Pick<AttemptResult, "status_code">): boolean {
  return status_code === GONE;
}

/**
 * The state of a delivery after an attempt that ended at `now`. The next attempt follows after its step's wait and up
 * to a fifth more (`random`, 0 to 1), and not before Retry-After; after the last of `steps` there is none.
 */
export function afterAttempt(
  step: number,
  result: AttemptResult,
  now: Temporal.Instant,
  random: number,
  steps: readonly number[] = RETRY_STEPS_S,
): DeliveryUpdate {
  const next_step = step + 1;
  if (hasSucceeded(result)) return { status: "succeeded", step: next_step, next_attempt_at: null };
  const wait_s = steps[next_step];
  if (wait_s === undefined || isGone(result))
    return { status: "failed", step: next_step, next_attempt_at: null };
  const jittered_ms = Math.round(wait_s * 1_000 * (1 + JITTER * random));
  const milliseconds = Math.max(jittered_ms, retryAfterMs(result.retry_after, now));
  return { status: "pending", step: next_step, next_attempt_at: iso(now.add({ milliseconds })) };
}

/** The wait that a Retry-After header asks for, at most a day; 0 where it can't be read. */
export function retryAfterMs(header: string | null, now: Temporal.Instant): number {
  if (header === null) return 0;
  const text = header.trim();
  // oxlint-disable-next-line no-restricted-globals -- Temporal does not read the dates of HTTP
  const date_ms = Date.parse(text);
  const wait_ms = /^\d{1,15}$/.test(text) ? Number(text) * 1_000 : date_ms - now.epochMilliseconds;
  return Number.isNaN(wait_ms) ? 0 : Math.min(Math.max(wait_ms, 0), RETRY_AFTER_MAX_MS);
}
