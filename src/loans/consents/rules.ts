import { AppError, invalid } from "../../core/errors.ts";
import { LIMITS } from "../limits.ts";
import { type IsoInstant, instant, iso } from "../../core/time.ts";
import type { NewEvent } from "../../webhooks/events/model.ts";
import type { LoanApplication } from "../applications/model.ts";
import type { Consent, ConsentStatus, Evidence, GivenEvidence } from "./model.ts";

export const CONSENT_TRIGGERS = ["revoke", "expire"] as const;
export type ConsentTrigger = (typeof CONSENT_TRIGGERS)[number];

/** The transitions of a consent. See docs/loans.md#states. */
export const CONSENT_STEPS: Record<ConsentStatus, Partial<Record<ConsentTrigger, ConsentStatus>>> = {
  granted: { revoke: "revoked", expire: "expired" },
  revoked: {},
  expired: {},
};

type ConsentState = Pick<Consent, "id" | "status" | "expires_at">;

/** Whether a consent is valid at `now`, whether or not the job has marked it expired. */
export function isValidAt({ status, expires_at }: Omit<ConsentState, "id">, now: Temporal.Instant): boolean {
  return status === "granted" && (expires_at === null || expires_at > iso(now));
}

/** Errors: conflict for a consent that is revoked, or expired whether or not the job has marked it. */
export function checkRevocable(consent: ConsentState, now: Temporal.Instant): void {
  const status = consent.status === "granted" && !isValidAt(consent, now) ? "expired" : consent.status;
  if (CONSENT_STEPS[status].revoke !== undefined) return;
  throw new AppError("conflict", `Cannot revoke consent ${consent.id}: it is ${status}`);
}

/** The evidence of a consent. Errors: invalid when captured in the future, or so long ago that it has expired. */
export function readEvidence(
  { method, captured_at, ip = null, user_agent = null }: GivenEvidence,
  validity_days: number | null,
  now: Temporal.Instant,
): Evidence {
  const captured = instant(captured_at);
  const latest = now.add({ milliseconds: LIMITS.consent_ahead_ms });
  if (Temporal.Instant.compare(captured, latest) > 0) {
    throw invalid("/evidence/captured_at", "must not be in the future");
  }
  const end = endOf(captured, validity_days);
  if (end !== null && end <= iso(now)) {
    throw invalid(
      "/evidence/captured_at",
      `must be less than ${validity_days} days ago: the consent has expired`,
    );
  }
  return { method, captured_at: iso(captured), ip, user_agent };
}

/** The expiry of a consent granted at `granted_at`; null for one that is valid until revoked. */
export function endOf(granted_at: Temporal.Instant, validity_days: number | null): IsoInstant | null {
  return validity_days === null ? null : iso(granted_at.add({ hours: 24 * validity_days }));
}

/** The consenting borrower: the name and the last four digits of the IC number. */
export function subjectOf({ borrower }: Pick<LoanApplication, "borrower">) {
  return { subject_name: borrower.name, subject_ic_last4: borrower.ic_number?.slice(-4) ?? null };
}

/** The domain event of a consent's new status. */
export function consentEvent(happened: ConsentStatus, consent: Consent): NewEvent {
  const { id, application_id, definition_id, code, version, status, environment } = consent;
  return {
    type: `consent.${happened}`,
    data: { id, application_id, definition_id, code, version, status, environment },
  };
}
