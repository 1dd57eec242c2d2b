/** Hard limits of a shutdown, of traces, and of what commands wait for. */
export const LIMITS = {
  /** How long a server may take to greet a command that talks to it. */
  hello_ms: 5_000,
  /** How long a shutdown waits for responses in flight, and how long it takes in all. */
  drain_ms: 6_000,
  shutdown_ms: 9_000,
  /** Spans that wait to be sent: more are dropped. How many go at once, and how long that may take. */
  trace_queue: 2_048,
  trace_batch: 512,
  trace_export_ms: 10_000,
  /** How long a shutdown waits for the last spans. */
  trace_shutdown_ms: 1_000,
  /** How often a failing export is logged at most. */
  trace_warning_ms: 60_000,
} as const;
