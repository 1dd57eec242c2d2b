/** Hard limits of backups. */
export const LIMITS = {
  /** Objects of a point that are fetched at once. */
  fetch_at_once: 8,
  /** Documents that a verification reads. */
  verify_documents: 50,
  /** How long a question of a verification may take. */
  verify_query_ms: 600_000,
} as const;
