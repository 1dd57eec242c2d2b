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
 * What may happen to an application: from which states, and to which state it leads. An edit leaves the state as
 * it is; a lost consent is one that the program asks for and the borrower takes back. See docs/loans.md#states.
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

/** States that nothing leads out of. */
export const FINAL_STATUSES = ["disbursed", "rejected", "declined", "withdrawn", "expired"] as const;

export function isFinal(status: ApplicationStatus): boolean {
  return FINAL_STATUSES.some((final) => final === status);
}

/** The state that a trigger leads to; undefined where the state forbids it. */
export function nextStatus(status: ApplicationStatus, trigger: Trigger): ApplicationStatus | undefined {
  return TRANSITIONS[trigger][status];
}

/** As it is said in an error: "Cannot approve application 7: it is a draft". */
export const SAID: Record<Trigger, string> = {
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

/** The state at `now`: an application whose time has run out is expired, also before that is written down. */
export function stateAt(
  { status, expires_at }: Omit<ApplicationState, "id">,
  now: Temporal.Instant,
): ApplicationStatus {
  const has_run_out = expires_at !== null && Temporal.Instant.compare(instant(expires_at), now) <= 0;
  return has_run_out ? "expired" : status;
}

/** The state that a trigger leads an application to at `now`. Errors: conflict where the state forbids it. */
export function transition(
  application: ApplicationState,
  trigger: Trigger,
  now: Temporal.Instant,
): ApplicationStatus {
  const stands = trigger === "expire" ? application.status : stateAt(application, now);
  const next = nextStatus(stands, trigger);
  if (next !== undefined) return next;
  const action = `${SAID[trigger]} application ${application.id}`;
  throw new AppError("conflict", `Cannot ${action}: its status is ${stands.replaceAll("_", " ")}`);
}

/**
 * When an application that comes into this state at `now` expires if nothing happens until then; null for never.
 * `offered_until`: when its offer ends. See docs/loans.md#states.
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

/** What is written when an application comes into a state at `now`. */
export function arrival(
  status: ApplicationStatus,
  now: Temporal.Instant,
): Partial<Record<`${Exclude<ApplicationStatus, "draft">}_at`, IsoInstant>> {
  return status === "draft" ? {} : { [`${status}_at`]: iso(now) };
}

/**
 * What an application still waits for: what it lacks now, and the fields that the lender asked about, of which only
 * the lender can tell whether they were mended. The lender's notes stay with what they are about.
 */
export function stillMissing(requested: readonly ActionItem[], lacks: readonly Missing[]): ActionItem[] {
  const open = requested.filter((item) => item.kind === "field" || includesItem(lacks, item));
  const rest = lacks.filter((item) => !includesItem(requested, item));
  return [...open, ...rest.map((item) => ({ ...item, note: null }))];
}

/** All that the lender has asked for so far, and what it asks for now; a later note counts. */
export function addRequested(before: readonly ActionItem[], requested: readonly ActionItem[]): ActionItem[] {
  return [...before.filter((item) => !includesItem(requested, item)), ...requested];
}

function includesItem(items: readonly Missing[], { kind, code }: Missing): boolean {
  return items.some((item) => item.kind === kind && item.code === code);
}

/** What is left of a deleted draft: nothing that anybody said of themselves, so that the row alone remains. */
export function blanked({ borrower: { type } }: LoanApplication) {
  const nobody = { ic_number: null, registration_number: null, email: null, phone: null };
  const borrower: Borrower = { type, name: "", ...nobody, monthly_income: null, employment_type: null };
  return { borrower, purpose: null, answers: {}, external_reference: null };
}

/** Whether somebody else borrows: what was consented to, and what documents show, is about a person. */
export function isAnotherBorrower(before: Borrower, after: Borrower): boolean {
  return !isDeepStrictEqual(identityOf(before), identityOf(after));
}

function identityOf({ type, name, ic_number, registration_number }: Borrower) {
  return { type, name, ic_number, registration_number };
}

/** An application for those who look at many: without the borrower's number. */
export function masked(application: LoanApplication): LoanApplication {
  const { borrower } = application;
  if (borrower.ic_number === null) return application;
  return { ...application, borrower: { ...borrower, ic_number: maskIcNumber(borrower.ic_number) } };
}

/** What is told of an application that was created or has come into a state. */
export function applicationEvent(
  change: "created" | Exclude<ApplicationStatus, "draft">,
  { id, reference, status, program_id, environment }: LoanApplication,
): NewEvent {
  const type: EventType = `application.${change}`;
  return { type, data: { id, reference, status, program_id, environment } };
}
