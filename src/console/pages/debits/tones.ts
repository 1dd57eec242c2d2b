import type { MandateStatus } from "../../../emandate/mandates/model.ts";
import type { PaymentStatus } from "../../../emandate/payments/model.ts";

type Tone = "good" | "bad" | "warn" | "plain" | "busy";

export const MANDATE_TONES: Record<MandateStatus, Tone> = {
  pending: "busy",
  pending_authorization: "busy",
  pending_approval: "busy",
  active: "good",
  suspended: "warn",
  pending_termination: "busy",
  failed: "bad",
  rejected: "bad",
  cancelled: "plain",
  terminated: "plain",
  expired: "plain",
};

export const PAYMENT_TONES: Record<PaymentStatus, Tone> = {
  scheduled: "busy",
  submitted: "busy",
  paid: "good",
  failed: "bad",
  retry_scheduled: "warn",
  charged_back: "bad",
  cancelled: "plain",
  skipped: "plain",
};
