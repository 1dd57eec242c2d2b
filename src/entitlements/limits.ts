/** Hard limits of entitlements. */
export const LIMITS = {
  /** How long a reservation may hold units. */
  reserve_s: 86_400,
  /** Reservations of a company at once. */
  reservations: 100_000,
  /** How long a check waits for totals that are being counted. */
  certain_wait_ms: 500,
  /** How much later than it began a call may ask for a total. */
  slow_call_ms: 10_000,
  /** Values of a group key whose use is listed. */
  listed_groups: 100,
  /** Ended reservations that are deleted in one transaction. */
  ended_batch: 1_000,
  /** Subscriptions whose totals are opened at once. */
  watch_batch: 1_000,
} as const;
