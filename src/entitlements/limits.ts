/** Hard limits of entitlements. */
export const LIMITS = {
  /** How long a reservation may hold units. */
  reserve_s: 86_400,
  /** Reservations of a company at once. */
  reservations: 100_000,
  /** How long a check waits for totals that are being counted. */
  certain_wait_ms: 500,
  /** Values of a group key whose use is listed. */
  listed_groups: 100,
  /** Reservations that have ended, or are settled, that are deleted in one transaction: others wait for it. */
  ended_batch: 100,
  /** Subscriptions whose totals are opened at once. */
  watch_batch: 1_000,
  /** Subscriptions whose running charges are counted by one question, and how long they are rated in one go. */
  spend_batch: 100,
  spend_rate_ms: 1_500,
  /** Subscriptions of which is read in one stretch that they are rated, and whose usage begins to be heard of in one turn. */
  spend_list: 2_000,
  spend_watch: 250,
  /** Alerts of a company, thresholds of one, and ids of each list of its scope. */
  alerts: 100,
  alert_thresholds: 10,
  alert_percent: 1_000,
  alert_scope_ids: 1_000,
  /** How long after a window's end usage of it is still told of. */
  alert_late_ms: 3_600_000,
  /** How much of a billing period must have passed before it is forecast. */
  forecast_after_ms: 86_400_000,
  /** Subscriptions that are looked at in one turn, and firings that are written in one transaction. */
  alert_batch: 20,
  alert_write: 500,
  /** How long a look goes on, first at those that have changed, and how much of that all others have at least. */
  alert_look_ms: 1_500,
  alert_sweep_ms_at_least: 300,
  /** How long a subscription that is far from its next threshold is not looked at for its usage: past the next sweep. */
  headroom_ms: 600_000,
  /** How often alerts look at all subscriptions, since plans and limits change without usage. */
  alert_sweep_ms: 300_000,
  /** Values that are held against thresholds in one turn: some take a microsecond, others ten. */
  alert_values: 100,
  /** Values of a group key that a limit or an alert tells of in a window, and all that a company is told on a day. */
  alert_groups: 1_000,
  alert_firings_day: 1_000_000,
  /** Values of which a process remembers what was told, so that it does not write it again. */
  alerts_told: 500_000,
  /** How long firings are kept after their window has ended. */
  alert_firing_days: 400,
  alert_prune: 1_000,
} as const;
