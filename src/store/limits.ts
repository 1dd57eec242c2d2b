/** Hard limits of uploads, and of what the store keeps in memory. */
export const LIMITS = {
  /** Concurrent uploads: in all, and of one company. */
  document_uploads: 64,
  document_uploads_company: 16,
  /** SQL texts of queries kept, of each dialect. */
  query_texts: 500,
} as const;
