import { AppError, invalid } from "../../core/errors.ts";
import { LIMITS } from "../limits.ts";
import { type IsoInstant, instant, iso } from "../../core/time.ts";
import type { NewEvent } from "../../webhooks/events/model.ts";
import type { LoanApplication } from "../applications/model.ts";
import type {
  Consent,
  ConsentDefinition,
  ConsentStatus,
  ConsentText,
  DefinitionStatus,
  Evidence,
  GivenEvidence,
} from "./model.ts";

// What becomes of a definition.

export const DEFINITION_TRIGGERS = ["edit", "publish", "retire"] as const;
export type DefinitionTrigger = (typeof DEFINITION_TRIGGERS)[number];

/**
 * Where each trigger leads from each status; what is not here is refused. A version that is published retires the
 * one before.
 */
export const DEFINITION_STEPS: Record<
  DefinitionStatus,
  Partial<Record<DefinitionTrigger, DefinitionStatus>>
> = {
  draft: { edit: "draft", publish: "published" },
  published: { retire: "retired" },
  retired: {},
};

/** Errors: conflict, when the trigger leads nowhere from the definition's status. */
export function nextDefinitionStatus(
  { id, status }: Pick<ConsentDefinition, "id" | "status">,
  trigger: DefinitionTrigger,
): DefinitionStatus {
  const next = DEFINITION_STEPS[status][trigger];
  if (next !== undefined) return next;
  const why = trigger === "edit" ? `${status}; make a new version` : status;
  throw new AppError("conflict", `Cannot ${trigger} consent definition ${id}: it is ${why}`);
}

/**
 * What `text_sha256` is made of: the JSON of what the borrower is shown, with its keys in the order of the
 * alphabet and no white space (RFC 8785), in UTF-8. Decision 0106.
 */
export function canonicalText(text: ConsentText): string {
  return JSON.stringify(textOf(text));
}

/** What the borrower is shown, and nothing else; keys in the order in which they are hashed. */
export function textOf(definition: ConsentText): ConsentText {
  const { audience, code, data_categories, data_life_days, data_text } = definition;
  const { locale, purpose_text, title, validity_days } = definition;
  const content = { data_categories, data_life_days, data_text, locale, purpose_text, title, validity_days };
  return { audience, code, ...content };
}

/** The SHA-256 of a definition's text, in hex. */
export function textSha256(text: ConsentText): string {
  return new Bun.CryptoHasher("sha256").update(canonicalText(text)).digest("hex");
}

// What becomes of a consent.

export const CONSENT_TRIGGERS = ["revoke", "expire"] as const;
export type ConsentTrigger = (typeof CONSENT_TRIGGERS)[number];

/** Where each trigger leads from each status; what is not here is refused. See docs/loans.md#states. */
export const CONSENT_STEPS: Record<ConsentStatus, Partial<Record<ConsentTrigger, ConsentStatus>>> = {
  granted: { revoke: "revoked", expire: "expired" },
  revoked: {},
  expired: {},
};

type ConsentState = Pick<Consent, "id" | "status" | "expires_at">;

/** Whether a consent holds at `now`, also before its end was written down. */
export function holds({ status, expires_at }: Omit<ConsentState, "id">, now: Temporal.Instant): boolean {
  return status === "granted" && (expires_at === null || expires_at > iso(now));
}

/** Errors: conflict for one that is revoked or expired, also before the latter was written down. */
export function checkRevocable(consent: ConsentState, now: Temporal.Instant): void {
  const status = consent.status === "granted" && !holds(consent, now) ? "expired" : consent.status;
  if (CONSENT_STEPS[status].revoke !== undefined) return;
  throw new AppError("conflict", `Cannot revoke consent ${consent.id}: it is ${status}`);
}

/**
 * What is kept of the evidence. Errors: invalid for what was captured in the future, or so long ago that the
 * consent has run out.
 */
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
      `must be less than ${validity_days} days ago: the consent has run out`,
    );
  }
  return { method, captured_at: iso(captured), ip, user_agent };
}

/** When a consent that was given at `granted_at` ends; null for one that holds until it is revoked. */
export function endOf(granted_at: Temporal.Instant, validity_days: number | null): IsoInstant | null {
  return validity_days === null ? null : iso(granted_at.add({ hours: 24 * validity_days }));
}

/** Who consents: the application's borrower as it stands. Of the IC number only the end is kept. */
export function subjectOf({ borrower }: Pick<LoanApplication, "borrower">) {
  return { subject_name: borrower.name, subject_ic_last4: borrower.ic_number?.slice(-4) ?? null };
}

/** What is told of a consent. */
export function consentEvent(happened: ConsentStatus, consent: Consent): NewEvent {
  const { id, application_id, definition_id, code, version, status, environment } = consent;
  return {
    type: `consent.${happened}`,
    data: { id, application_id, definition_id, code, version, status, environment },
  };
}
