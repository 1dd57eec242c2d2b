import { isDeepStrictEqual } from "node:util";
import { AppError } from "../../core/errors.ts";
import { LIMITS } from "../limits.ts";
import { maskIcNumber } from "../../core/malaysia.ts";
import { type IsoInstant, instant, iso } from "../../core/time.ts";
import type { EventType, NewEvent } from "../../webhooks/events/model.ts";
import type { ActionItem, ApplicationStatus, Borrower, LoanApplication, Missing } from "./model.ts";

export const TRIGGERS = [
  "edit",
  "delete",
  "submit",
  "review",
  "request_action",
  "lose_consent",
  "approve",
  "reject",
  "accept",
  "decline",
  "disburse",
  "withdraw",
  "expire",
] as const;
export type Trigger = (typeof TRIGGERS)[number];

/**
 * The transitions of an application, by trigger. An edit keeps the status; lose_consent follows a revoked consent that
 * the application requires. See docs/loans.md#states.
 */
const TRANSITIONS: Readonly<Record<Trigger, Partial<Record<ApplicationStatus, ApplicationStatus>>>> = {
  edit: { draft: "draft", action_required: "action_required" },
  delete: { draft: "draft" },
  submit: { draft: "submitted", action_required: "under_review" },
  review: { submitted: "under_review" },
  request_action: { under_review: "action_required" },
  lose_consent: { submitted: "action_required", under_review: "action_required" },
  approve: { under_review: "approved" },
  reject: { under_review: "rejected" },
  accept: { approved: "accepted" },
  decline: { approved: "declined" },
  disburse: { accepted: "disbursed" },
  withdraw: {
    draft: "withdrawn",
    submitted: "withdrawn",
    under_review: "withdrawn",
    action_required: "withdrawn",
    approved: "withdrawn",
  },
  expire: { draft: "expired", action_required: "expired", approved: "expired" },
};

/** Statuses without a transition out of them. */
export const FINAL_STATUSES = ["disbursed", "rejected", "declined", "withdrawn", "expired"] as const;

/** Statuses in which something may be missing. */
export const WAITING_STATUSES: ReadonlySet<ApplicationStatus> = new Set(["draft", "action_required"]);

export function isFinal(status: ApplicationStatus): boolean {
  return FINAL_STATUSES.some((final) => final === status);
}

/** The status after a trigger; undefined where the status forbids it. */
export function nextStatus(status: ApplicationStatus, trigger: Trigger): ApplicationStatus | undefined {
  return TRANSITIONS[trigger][status];
}

/** The trigger in an error message: "Cannot approve application 7: its status is draft". */
export const VERBS: Record<Trigger, string> = {
  edit: "edit",
  delete: "delete",
  submit: "submit",
  review: "review",
  request_action: "request action on",
  lose_consent: "ask again for a consent of",
  approve: "approve",
  reject: "reject",
  accept: "accept the offer of",
  decline: "decline the offer of",
  disburse: "disburse",
  withdraw: "withdraw",
  expire: "end",
};

type ApplicationState = Pick<LoanApplication, "id" | "status" | "expires_at">;

/** The status at `now`: expired past the expiry, whether or not the job has marked it. */
export function stateAt(
  { status, expires_at }: Omit<ApplicationState, "id">,
  now: Temporal.Instant,
): ApplicationStatus {
  const has_run_out = expires_at !== null && Temporal.Instant.compare(instant(expires_at), now) <= 0;
  return has_run_out ? "expired" : status;
}

/** The status after a trigger at `now`. Errors: conflict where the status forbids it. */
export function transition(
  application: ApplicationState,
  trigger: Trigger,
  now: Temporal.Instant,
): ApplicationStatus {
  const current = trigger === "expire" ? application.status : stateAt(application, now);
  const next = nextStatus(current, trigger);
  if (next !== undefined) return next;
  const action = `${VERBS[trigger]} application ${application.id}`;
  throw new AppError("conflict", `Cannot ${action}: its status is ${current.replaceAll("_", " ")}`);
}

/**
 * The expiry of an application that enters this status at `now`; null for never. `offered_until` is the offer's expiry.
 * See docs/loans.md#states.
 */
export function expiryOf(
  status: ApplicationStatus,
  now: Temporal.Instant,
  offered_until: IsoInstant | undefined,
): IsoInstant | null {
  if (status === "approved") return offered_until ?? null;
  const is_idle = status === "draft" || status === "action_required";
  return is_idle ? iso(now.add({ hours: 24 * LIMITS.loan_idle_days })) : null;
}

/** The timestamp of the status that an application enters at `now`. */
export function arrival(
  status: ApplicationStatus,
  now: Temporal.Instant,
): Partial<Record<`${Exclude<ApplicationStatus, "draft">}_at`, IsoInstant>> {
  return status === "draft" ? {} : { [`${status}_at`]: iso(now) };
}

/**
 * Everything an application still lacks, with the lender's notes. Requested fields stay until it is submitted again:
 * only the lender can judge whether they were corrected.
 */
export function stillMissing(requested: readonly ActionItem[], lacks: readonly Missing[]): ActionItem[] {
  const open = requested.filter((item) => item.kind === "field" || includesItem(lacks, item));
  const rest = lacks.filter((item) => !includesItem(requested, item));
  return [...open, ...rest.map((item) => ({ ...item, note: null }))];
}

/** All items the lender has requested, the new ones included; a later note replaces an earlier one. */
export function addRequested(before: readonly ActionItem[], requested: readonly ActionItem[]): ActionItem[] {
  return [...before.filter((item) => !includesItem(requested, item)), ...requested];
}

function includesItem(items: readonly Missing[], { kind, code }: Missing): boolean {
  return items.some((item) => item.kind === kind && item.code === code);
}

/** The fields of a deleted draft: without any personal data. */
export function blanked({ borrower: { type } }: LoanApplication) {
  const nobody = { ic_number: null, registration_number: null, email: null, phone: null };
  const borrower: Borrower = { type, name: "", ...nobody, monthly_income: null, employment_type: null };
  return { borrower, purpose: null, answers: {}, external_reference: null };
}

/** Whether the borrower is another person or business, whom consents and documents are not about. */
export function isAnotherBorrower(before: Borrower, after: Borrower): boolean {
  return !isDeepStrictEqual(identityOf(before), identityOf(after));
}

function identityOf({ type, name, ic_number, registration_number }: Borrower) {
  return { type, name, ic_number, registration_number };
}

/** An application as lists show it: with a masked IC number. */
export function masked(application: LoanApplication): LoanApplication {
  const { borrower } = application;
  if (borrower.ic_number === null) return application;
  return { ...application, borrower: { ...borrower, ic_number: maskIcNumber(borrower.ic_number) } };
}

/** The domain event of an application that was created or has entered a status. */
export function applicationEvent(
  change: "created" | Exclude<ApplicationStatus, "draft">,
  { id, reference, status, program_id, environment }: LoanApplication,
): NewEvent {
  const type: EventType = `application.${change}`;
  return { type, data: { id, reference, status, program_id, environment } };
}
