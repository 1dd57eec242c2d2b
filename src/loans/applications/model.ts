import { type Static, Type } from "@sinclair/typebox";
import { ENVIRONMENTS } from "../../core/access.ts";
import { SHARED_LIMITS } from "../../core/limits.ts";
import { LIMITS as FORM_LIMITS } from "../../forms/limits.ts";
import { LIMITS } from "../limits.ts";
import { InstantText, rangeFields } from "../../core/instants.ts";
import {
  At,
  Email,
  Id,
  Name,
  nullable,
  oneOf,
  pageFields,
  Search,
  strict,
  textUpTo,
  trimmedText,
  sortedBy,
} from "../../core/schema.ts";
import type { Answers } from "../../forms/model.ts";
import { Amount, BORROWER_TYPES, LoanProgram, Percent, Tenor } from "../programs/model.ts";

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

/** Something an application lacks: a document type, a consent code or a field name. */
export const Missing = Type.Object(
  { kind: oneOf(MISSING_KINDS), code: Type.String() },
  { title: "LoanMissing" },
);
export type Missing = Static<typeof Missing>;

/** Something the lender requests before the review continues. */
const ActionItem = Type.Object(
  { ...Missing.properties, note: nullable(Type.String()) },
  { title: "LoanActionItem" },
);
export type ActionItem = Static<typeof ActionItem>;

/** The person or business that borrows. */
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

/** The terms on which a lender approved an application. */
export const Offer = Type.Object(
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

/** A borrower's application for a loan. */
export const LoanApplication = Type.Object(
  {
    id: Id,
    reference: Type.String({ description: "for people: LA-20261121-7K3M9Q2X" }),
    environment: oneOf(ENVIRONMENTS),
    company_id: Id,
    agent_client_id: nullable(
      Type.String({ description: "the clientId of the loan agent's key; null for a user's application" }),
    ),
    program_id: Id,
    program_snapshot: Type.Unsafe<LoanProgram>(
      Type.Object(LoanProgram.properties, {
        title: "LoanProgramSnapshot",
        description: "the program as of the submission; in a draft, as of the last edit",
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
    missing: Type.Array(ActionItem, {
      description: "what the application still lacks, with the lender's notes",
    }),
    decision: nullable(Decision),
    offer: nullable(Offer),
    disbursement_reference: nullable(Type.String()),
    expires_at: nullable(
      Type.String({
        description: "when it expires unless something happens before",
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

const BorrowerInput = strict(
  {
    type: oneOf(BORROWER_TYPES),
    name: Name,
    ic_number: Type.Optional(
      nullable(Type.String({ maxLength: 14, description: "an IC number such as 900131-14-5678" })),
    ),
    registration_number: Type.Optional(
      nullable(
        Type.String({
          pattern: "^[A-Za-z0-9][A-Za-z0-9 ()./-]{0,29}$",
          description: "a business registration number of at most 30 characters",
        }),
      ),
    ),
    email: Type.Optional(nullable(Email)),
    phone: Type.Optional(nullable(Type.String({ maxLength: 30, description: "a phone number" }))),
    monthly_income: Type.Optional(nullable(Amount)),
    employment_type: Type.Optional(nullable(oneOf(EMPLOYMENT_TYPES))),
  },
  { title: "BorrowerInput" },
);
export type BorrowerInput = Static<typeof BorrowerInput>;

export const CreateLoanApplication = strict(
  {
    program_id: Id,
    external_reference: Type.Optional(nullable(trimmedText(LIMITS.loan_reference_length))),
    borrower: BorrowerInput,
    amount: Amount,
    tenor_months: Tenor,
    purpose: Type.Optional(nullable(trimmedText(LIMITS.loan_purpose_length))),
    /** Not checked here: `checkAnswers` knows the form. */
    answers: Type.Optional(Type.Unknown({ "x-schema": { type: "object", additionalProperties: true } })),
  },
  { title: "CreateLoanApplication" },
);
export type CreateLoanApplication = Static<typeof CreateLoanApplication>;

/** Fields left out keep their value; a borrower is replaced as a whole. */
export const UpdateLoanApplication = strict(
  { id: Id, ...Type.Partial(CreateLoanApplication).properties },
  { title: "LoanApplicationChange" },
);

const Note = Type.Optional(nullable(textUpTo(SHARED_LIMITS.description_length)));

export const RequestAction = strict(
  {
    id: Id,
    items: Type.Array(
      strict(
        {
          kind: oneOf(MISSING_KINDS),
          code: Type.String({
            minLength: 1,
            maxLength: FORM_LIMITS.form_name_length,
            description: "a document's type, a consent's code or a field's name",
          }),
          note: Note,
        },
        { title: "LoanActionRequest" },
      ),
      { minItems: 1, maxItems: LIMITS.loan_action_items },
    ),
  },
  { title: "RequestLoanAction" },
);

export const Approval = strict(
  {
    id: Id,
    amount: Amount,
    tenor_months: Tenor,
    annual_rate: Percent,
    expires_at: Type.Optional(InstantText),
  },
  { title: "LoanApproval" },
);
export type Approval = Omit<Static<typeof Approval>, "id">;

export const Rejection = strict(
  { id: Id, reason_code: oneOf(REJECTION_REASONS), note: Note },
  { title: "LoanRejection" },
);

export const Disbursement = strict(
  { id: Id, reference: trimmedText(LIMITS.loan_reference_length), disbursed_at: Type.Optional(InstantText) },
  { title: "LoanDisbursement" },
);

/** `from` is inclusive, `to` is exclusive; both are about created_at. */
export const ListLoanApplications = strict({
  status: Type.Optional(oneOf(APPLICATION_STATUSES)),
  program_id: Type.Optional(Id),
  search: Type.Optional(Search),
  missing: Type.Optional(
    oneOf(
      ["document", "consent", "field"],
      "those that wait for something of this kind: drafts, and where action is required",
    ),
  ),
  sort: sortedBy(["id", "created_at", "updated_at"]),
  ...rangeFields,
  ...pageFields,
});
