/** Where a payment stands. Source: emandate.md, Mandate states. */
export const PAYMENT_STATUSES = [
  "scheduled",
  "submitted",
  "paid",
  "failed",
  "retry_scheduled",
  "charged_back",
  "cancelled",
  "skipped",
] as const;
export type PaymentStatus = (typeof PAYMENT_STATUSES)[number];
