/** Hard limits of idempotency keys. */
export const LIMITS = {
  /** How long an Idempotency-Key is remembered. */
  idempotency_hours: 24,
  /** A request that has not been answered for so long is believed to be dead: a repeat takes its key over. */
  idempotency_lease_s: 60,
  /** When a repeat of a request that is under way is told to come back, at most. */
  idempotency_retry_s: 5,
  /** Longer answers are not kept for repeats. */
  idempotency_answer_characters: 1024 * 1024,
} as const;
