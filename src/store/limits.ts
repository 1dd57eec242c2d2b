/** Hard limits of uploads. */
export const LIMITS = {
  /** Concurrent uploads: in all, and of one company. */
  document_uploads: 64,
  document_uploads_company: 16,
} as const;
