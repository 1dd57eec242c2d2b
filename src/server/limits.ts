/** Hard limits of a shutdown. */
export const LIMITS = {
  /** How long a shutdown waits for responses in flight, and how long it takes in all. */
  drain_ms: 6_000,
  shutdown_ms: 9_000,
} as const;
