import { type Static, Type } from "@sinclair/typebox";
import { ENVIRONMENTS } from "../../core/access.ts";
import { SHARED_LIMITS } from "../../core/limits.ts";
import { LIMITS } from "../limits.ts";
import {
  At,
  Id,
  Name,
  nullable,
  oneOf,
  pageFields,
  Search,
  sortedBy,
  strict,
  textUpTo,
} from "../../core/schema.ts";
import { Currency } from "../../tenancy/companies/model.ts";

export const BORROWER_TYPES = ["individual", "business"] as const;
export const RATE_TYPES = ["flat", "reducing"] as const;
/** An archived program is deleted: only its applications still show it. */
export const PROGRAM_STATUSES = ["draft", "active", "paused", "archived"] as const;
export type ProgramStatus = (typeof PROGRAM_STATUSES)[number];

/** The types of documents that a lender may require. */
export const DOCUMENT_TYPES = [
  "ic_front",
  "ic_back",
  "passport",
  "payslip",
  "bank_statement",
  "epf_statement",
  "ea_form",
  "tax_return",
  "employment_letter",
  "ssm_registration",
  "financial_statement",
  "utility_bill",
  "other",
] as const;
export type DocumentType = (typeof DOCUMENT_TYPES)[number];

const CITIZENSHIPS = ["MY", "PR", "any"] as const;

/** An amount on the wire: a string. Its number of decimals depends on the currency. */
export const Amount = Type.String({
  pattern: "^(0|[1-9][0-9]{0,14})([.][0-9]{1,4})?$",
  description: 'an amount as a string, such as "1500.00"',
});

/** A percentage on the wire: a string. */
export const Percent = Type.String({
  pattern: "^(0|[1-9][0-9]{0,2})([.][0-9]{1,4})?$",
  description: 'a percentage as a string, such as "8.5", below 1000 and with at most 4 decimals',
});

/** The term of a loan in months. */
export const Tenor = Type.Integer({ minimum: 1, maximum: LIMITS.loan_tenor_months });

/** The code of a program, or of all versions of a consent definition. */
export const Code = Type.String({
  pattern: `^[A-Za-z0-9][A-Za-z0-9_.-]{0,${LIMITS.loan_code_length - 1}}$`,
  description: `letters, digits, _, - and ., at most ${LIMITS.loan_code_length} characters`,
});

const Age = Type.Integer({ minimum: 0, maximum: 150 });

/** The eligibility rules of a program; rules left out are not checked. */
const Eligibility = strict(
  {
    min_age: Type.Optional(Age),
    max_age: Type.Optional(Age),
    min_monthly_income: Type.Optional(Amount),
    max_dsr_percent: Type.Optional(Percent),
    citizenship: Type.Optional(oneOf(CITIZENSHIPS)),
  },
  { title: "LoanEligibility" },
);
export type Eligibility = Static<typeof Eligibility>;

/** A loan product of a lender, with its eligibility rules. */
export const LoanProgram = Type.Object(
  {
    id: Id,
    company_id: Id,
    environment: oneOf(ENVIRONMENTS),
    code: Type.String(),
    name: Type.String(),
    description: nullable(Type.String()),
    borrower_type: oneOf(BORROWER_TYPES),
    currency: Type.String(),
    min_amount: Amount,
    max_amount: Amount,
    min_tenor_months: Tenor,
    max_tenor_months: Tenor,
    annual_rate_min: Percent,
    annual_rate_max: Percent,
    rate_type: oneOf(RATE_TYPES),
    eligibility: Eligibility,
    required_documents: Type.Array(oneOf(DOCUMENT_TYPES)),
    required_consents: Type.Array(Type.String(), { description: "codes of consent definitions" }),
    form_config_id: nullable(Id),
    status: oneOf(PROGRAM_STATUSES),
    created_at: At,
    updated_at: At,
  },
  { title: "LoanProgram" },
);
export type LoanProgram = Static<typeof LoanProgram>;

export const CreateLoanProgram = strict(
  {
    code: Code,
    name: Name,
    borrower_type: oneOf(BORROWER_TYPES),
    currency: Currency,
    min_amount: Amount,
    max_amount: Amount,
    min_tenor_months: Tenor,
    max_tenor_months: Tenor,
    annual_rate_min: Percent,
    annual_rate_max: Percent,
    rate_type: oneOf(RATE_TYPES),
    description: Type.Optional(nullable(textUpTo(SHARED_LIMITS.description_length))),
    eligibility: Type.Optional(Eligibility),
    required_documents: Type.Optional(
      Type.Array(oneOf(DOCUMENT_TYPES), { maxItems: DOCUMENT_TYPES.length, uniqueItems: true }),
    ),
    required_consents: Type.Optional(
      Type.Array(Code, { maxItems: LIMITS.loan_required_consents, uniqueItems: true }),
    ),
    form_config_id: Type.Optional(nullable(Id)),
  },
  { title: "CreateLoanProgram" },
);
export type CreateLoanProgram = Static<typeof CreateLoanProgram>;

/** Fields left out keep their value. */
export const LoanProgramChange = Type.Partial(CreateLoanProgram, { title: "LoanProgramChange" });
export const UpdateLoanProgram = strict(
  { id: Id, ...LoanProgramChange.properties },
  { title: "LoanProgramChange" },
);

export const ListOpenLoanPrograms = strict({
  search: Type.Optional(Search),
  sort: sortedBy(["id", "name", "code", "created_at"]),
  ...pageFields,
});
export const ListLoanPrograms = strict({
  status: Type.Optional(oneOf(["draft", "active", "paused"])),
  ...ListOpenLoanPrograms.properties,
});

/** What a loan of an amount costs a month, by its term, at the program's rates. */
export const InstalmentRow = Type.Object(
  {
    tenor_months: Tenor,
    at_min_rate: { ...Amount, description: "the instalment at the program's lowest rate" },
    at_max_rate: { ...Amount, description: "the instalment at its highest" },
  },
  { title: "LoanInstalments" },
);
export type InstalmentRow = Static<typeof InstalmentRow>;

export const ListInstalments = strict({ id: Id, amount: Amount });
