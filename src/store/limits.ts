/** Hard limits of uploads. */
export const LIMITS = {
  /** Documents that come in at once, in all and for one company. */
  document_uploads: 64,
  document_uploads_company: 16,
} as const;
