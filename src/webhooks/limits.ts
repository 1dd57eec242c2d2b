/** Hard limits of domain events, webhook endpoints and deliveries. */
export const LIMITS = {
  /** How long dispatched events are stored. */
  event_days: 90,
  /** Endpoints of a company, and event patterns of an endpoint. */
  webhook_endpoints: 50,
  /** Deliveries of an endpoint that its figures are of. */
  webhook_figures: 500,
  webhook_event_types: 100,
  /** How long saving an endpoint waits for its host to be resolved. */
  webhook_resolve_ms: 3_000,
  /** A whole attempt: resolving, connecting, sending, reading the beginning of the response. */
  webhook_timeout_ms: 15_000,
  webhook_excerpt_bytes: 1_024,
  /** Attempts stored of a delivery: the last ones, where it was redelivered often. */
  webhook_attempts_kept: 30,
  /** Concurrent attempts: in all, of one endpoint, and of all failing endpoints together. */
  webhook_slots: 256,
  webhook_slots_endpoint: 4,
  webhook_slots_failing: 128,
  /** How often the dispatcher polls for new events and due deliveries. */
  webhook_poll_ms: 250,
  /** How long a lease lasts, and how often it is renewed. */
  webhook_lease_ms: 8_000,
  webhook_renew_ms: 2_000,
  /** Events that are fanned out in one transaction. */
  webhook_fan_out_events: 200,
  /** The dispatcher's pause after each batch, in which requests run. */
  webhook_pause_ms: 2,
  /** Endpoints that one round looks at. */
  webhook_due_endpoints: 1_000,
  /** How long a shutdown waits for attempts under way. */
  webhook_drain_ms: 3_000,
  /** Messages that one request sends again. */
  webhook_redelivered: 1_000,
  /** How long an old secret signs besides the new one, and how many secrets sign at once. */
  webhook_secret_hours: 24,
  webhook_secrets: 5,
  /** How long ended deliveries are stored. */
  webhook_log_days: 30,
} as const;
