/** Hard limits of idempotency keys. */
export const LIMITS = {
  /** How long an Idempotency-Key is kept. */
  idempotency_hours: 24,
  /** The lease of a claim: after it, a repeat takes the key over. */
  idempotency_lease_s: 60,
  /** The longest Retry-After of a repeat while the first request runs. */
  idempotency_retry_s: 5,
  /** Longer responses are not stored for repeats. */
  idempotency_answer_characters: 1024 * 1024,
} as const;
