/** Hard limits of domain events, webhook endpoints and deliveries. */
export const LIMITS = {
  /** How long what happened is told, once everyone who listens was told of it. */
  event_days: 90,
  /** Endpoints of a company, patterns of an endpoint, and what its URL may be long. */
  webhook_endpoints: 50,
  webhook_event_types: 100,
  /** How long saving an endpoint waits for its host to be resolved. */
  webhook_resolve_ms: 3_000,
  /** A whole attempt: resolving, connecting, sending, reading the answer's beginning. */
  webhook_timeout_ms: 15_000,
  webhook_excerpt_bytes: 1_024,
  /** A log's last attempts, where it was redelivered often. */
  webhook_attempts_kept: 30,
  /** Attempts under way at once: in all, for one endpoint, and for all that failed last, together. */
  webhook_slots: 256,
  webhook_slots_endpoint: 4,
  webhook_slots_failing: 128,
  /** How often the dispatcher looks for new events and due deliveries. */
  webhook_poll_ms: 250,
  /** What a dispatcher has claimed is another's after so long without a word from it. */
  webhook_lease_ms: 8_000,
  webhook_renew_ms: 2_000,
  /** Events that are turned into deliveries in one transaction, and endpoints served in one turn. */
  webhook_fan_out_events: 200,
  /** How long the dispatcher leaves the process to requests after each batch. */
  webhook_pause_ms: 2,
  webhook_due_endpoints: 1_000,
  /** How long a shutdown waits for attempts under way. */
  webhook_drain_ms: 3_000,
  /** How long an old secret signs beside the new one, and how many secrets sign at once. */
  webhook_secret_hours: 24,
  webhook_secrets: 5,
  /** How long finished deliveries are told of. */
  webhook_log_days: 30,
} as const;
