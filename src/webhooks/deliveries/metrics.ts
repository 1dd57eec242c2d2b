import { counterBy } from "../../core/metrics.ts";

/** `succeeded`: a 2xx answer; `refused`: another answer; `failed`: none. */
export const webhookAttempts = counterBy(
  "meterhouse_webhook_attempts_total",
  "Attempts to deliver webhooks: answered 2xx (succeeded), answered otherwise (refused), without an answer (failed)",
  "outcome",
  ["succeeded", "refused", "failed"],
);
