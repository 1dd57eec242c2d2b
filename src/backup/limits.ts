/** Hard limits of backups. */
export const LIMITS = {
  /** Objects of a point that are fetched at once. */
  fetch_at_once: 8,
  /** Documents that a verification reads. */
  verify_documents: 50,
  /** How long a question of a verification may take. */
  verify_query_ms: 600_000,
  /** SQLite's log is begun anew once it is so long. */
  log_bytes: 16 * 1024 * 1024,
  /** What of the log waits for a target that is gone; when there is more, it goes on with a new base. */
  spool_bytes: 1024 * 1024 * 1024,
  /** How long reading usage may take while the log is shipped. */
  log_usage_ms: 600_000,
} as const;
