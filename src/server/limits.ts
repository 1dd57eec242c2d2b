/** Hard limits of a shutdown, of instances, of traces, and of what commands wait for. */
export const LIMITS = {
  /** How long a server may take to greet a command that talks to it. */
  hello_ms: 5_000,
  /** How long an instance that ends waits for others to take over what it does, while it serves on. */
  leave_ms: 24_000,
  /** How long a shutdown waits for responses in flight, and how long it takes in all after that. */
  drain_ms: 6_000,
  shutdown_ms: 9_000,
  /** How often an instance says that it lives, after what silence it is dead, and how long it stays on record. */
  instance_beat_ms: 5_000,
  instance_dead_ms: 15_000,
  /** After what silence the database's sessions of an instance are ended: what it holds is free then. */
  instance_hung_ms: 60_000,
  instance_kept_ms: 24 * 3_600_000,
  /** The body of what one instance asks of another. */
  internal_body_bytes: 128 * 2 ** 20,
  /** How long an operation waits for the instance that is to run it. */
  owner_wait_ms: 5_000,
  owner_look_ms: 100,
  /** Spans that wait to be sent: more are dropped. How many go at once, and how long that may take. */
  trace_queue: 2_048,
  trace_batch: 512,
  trace_export_ms: 10_000,
  /** How long a shutdown waits for the last spans. */
  trace_shutdown_ms: 1_000,
  /** How often a failing export is logged at most. */
  trace_warning_ms: 60_000,
} as const;
