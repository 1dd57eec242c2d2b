/** Hard limits of uploads, and of what the store keeps in memory. */
export const LIMITS = {
  /** Concurrent uploads: in all, and of one company. */
  document_uploads: 64,
  document_uploads_company: 16,
  /** Documents fetched from the bucket at once: in all, and of one company. */
  document_fetches: 32,
  document_fetches_company: 8,
  /** The age at which a file that no document refers to is removed. */
  document_orphan_minutes: 60,
  /** The same of an object in the bucket: its clock is not ours, and a slow upload may come in late. */
  document_object_orphan_minutes: 24 * 60,
  /** How long the bucket may take for one document, all attempts together. */
  document_bucket_ms: 30_000,
  document_bucket_attempts: 3,
  /** SQL texts of queries kept, of each dialect. */
  query_texts: 500,
} as const;
