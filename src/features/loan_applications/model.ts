import { type Static, Type } from "@sinclair/typebox";
import { ENVIRONMENTS } from "../../core/access.ts";
import { At, Id, nullable, oneOf } from "../../core/schema.ts";
import { Amount, BORROWER_TYPES, LoanProgram, Percent, Tenor } from "../loan_programs/model.ts";

export const APPLICATION_STATUSES = [
  "draft",
  "submitted",
  "under_review",
  "action_required",
  "approved",
  "accepted",
  "disbursed",
  "rejected",
  "declined",
  "withdrawn",
  "expired",
] as const;
export type ApplicationStatus = (typeof APPLICATION_STATUSES)[number];

const EMPLOYMENT_TYPES = [
  "salaried",
  "self_employed",
  "business_owner",
  "retired",
  "student",
  "unemployed",
] as const;

const REJECTION_REASONS = [
  "income",
  "credit",
  "documents",
  "eligibility",
  "fraud",
  "policy",
  "other",
] as const;

export const MISSING_KINDS = ["document", "consent", "field"] as const;

/** What an application lacks: a document's type, a consent's code, or a field's name. */
export const Missing = Type.Object(
  { kind: oneOf(MISSING_KINDS), code: Type.String() },
  { title: "LoanMissing" },
);
export type Missing = Static<typeof Missing>;

/** What the lender asks for before it goes on. */
const ActionItem = Type.Object(
  { ...Missing.properties, note: nullable(Type.String()) },
  { title: "LoanActionItem" },
);
export type ActionItem = Static<typeof ActionItem>;

/** Who borrows. The IC number is masked in lists. */
export const Borrower = Type.Object(
  {
    type: oneOf(BORROWER_TYPES),
    name: Type.String(),
    ic_number: nullable(Type.String({ description: "12 digits, of an individual; masked in lists" })),
    registration_number: nullable(Type.String({ description: "of a business" })),
    email: nullable(Type.String()),
    phone: nullable(Type.String({ description: "in E.164" })),
    monthly_income: nullable(Amount),
    employment_type: nullable(oneOf(EMPLOYMENT_TYPES)),
  },
  { title: "Borrower" },
);
export type Borrower = Static<typeof Borrower>;

const Decision = Type.Object(
  {
    outcome: oneOf(["approved", "rejected"]),
    reason_code: nullable(oneOf(REJECTION_REASONS)),
    note: nullable(Type.String()),
    decided_at: At,
  },
  { title: "LoanDecision" },
);
export type Decision = Static<typeof Decision>;

const Offer = Type.Object(
  {
    amount: Amount,
    tenor_months: Tenor,
    annual_rate: Percent,
    monthly_instalment: Amount,
    expires_at: At,
  },
  { title: "LoanOffer" },
);
export type Offer = Static<typeof Offer>;

/** What a form's fields were answered with, by their names. */
export type Answers = Record<string, string | number | boolean>;

/** A borrower's wish for a loan, and what became of it. Source: loans.md, Records. */
export const LoanApplication = Type.Object(
  {
    id: Id,
    reference: Type.String({ description: "for people: LA-20261121-7K3M9Q2X" }),
    environment: oneOf(ENVIRONMENTS),
    company_id: Id,
    agent_client_id: nullable(
      Type.String({ description: "clientId of the agent's key; null when a user made it" }),
    ),
    program_id: Id,
    program_snapshot: Type.Unsafe<LoanProgram>(
      Type.Object(LoanProgram.properties, {
        title: "LoanProgramSnapshot",
        description: "the program as it was at the submission; before it, at the last edit",
      }),
    ),
    external_reference: nullable(Type.String()),
    status: oneOf(APPLICATION_STATUSES),
    borrower: Borrower,
    amount: Amount,
    tenor_months: Tenor,
    purpose: nullable(Type.String()),
    answers: Type.Unsafe<Answers>(
      Type.Record(Type.String(), Type.Unknown(), { description: "by the names of the form's fields" }),
    ),
    missing: Type.Array(ActionItem, { description: "what the lender asked for and still waits for" }),
    decision: nullable(Decision),
    offer: nullable(Offer),
    disbursement_reference: nullable(Type.String()),
    expires_at: nullable(
      Type.String({
        description: "when it expires if nothing happens until then",
        "x-schema": { type: "string", format: "date-time" },
      }),
    ),
    submitted_at: nullable(At),
    under_review_at: nullable(At),
    action_required_at: nullable(At),
    approved_at: nullable(At),
    rejected_at: nullable(At),
    accepted_at: nullable(At),
    declined_at: nullable(At),
    withdrawn_at: nullable(At),
    expired_at: nullable(At),
    disbursed_at: nullable(At),
    created_at: At,
    updated_at: At,
  },
  { title: "LoanApplication" },
);
export type LoanApplication = Static<typeof LoanApplication>;
