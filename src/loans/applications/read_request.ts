import type { Static } from "@sinclair/typebox";
import { type ErrorDetail, invalidAll } from "../../core/errors.ts";
import { readIcNumber, readPhone } from "../../core/malaysia.ts";
import { compare, roundMoney } from "../../core/money.ts";
import type { Answers, FormStructure } from "../../forms/model.ts";
import { areAnswers, checkAnswers } from "../../forms/rules.ts";
import { amountProblems } from "../programs/rules.ts";
import { DOCUMENT_TYPES, type LoanProgram } from "../programs/model.ts";
import type { ActionItem, Borrower, BorrowerInput, LoanApplication, RequestAction } from "./model.ts";

/** The requested loan as it was sent. */
export interface RequestInput {
  borrower: BorrowerInput;
  amount: string;
  tenor_months: number;
  purpose: string | null;
  answers: unknown;
}

/** The requested loan, validated and normalised. */
export type LoanRequest = Pick<
  LoanApplication,
  "borrower" | "amount" | "tenor_months" | "purpose" | "answers"
>;

/** Stands in for the form of a program without one. */
const NO_FORM: FormStructure = { title: "None", fields: [] };

/**
 * Validates the format of a requested loan; eligibility and completeness are checked on submission. Errors: invalid,
 * naming the broken rules. Decision 0103.
 */
export function readRequest(
  { borrower, amount, tenor_months, purpose, answers }: RequestInput,
  { borrower_type, currency }: Pick<LoanProgram, "borrower_type" | "currency">,
  form: FormStructure = NO_FORM,
): LoanRequest {
  const problems = [
    ...(borrower.type === borrower_type
      ? []
      : [{ path: "/borrower/type", message: `must be ${borrower_type}, as the program's` }]),
    ...amountProblems("/amount", amount, currency),
    ...(compare(amount, "0") > 0 ? [] : [{ path: "/amount", message: "must be above zero" }]),
    ...amountProblems("/borrower/monthly_income", borrower.monthly_income ?? undefined, currency),
    ...numberProblems(borrower),
  ];
  if (problems.length > 0) throw invalidAll(problems);
  return {
    borrower: readBorrower(borrower, currency),
    amount: roundMoney(amount, currency),
    tenor_months,
    purpose,
    answers: readAnswers(answers, form),
  };
}

/** Individuals have IC numbers, businesses registration numbers. */
function numberProblems({ type, ic_number, registration_number }: BorrowerInput): ErrorDetail[] {
  const [name, value] =
    type === "individual"
      ? (["registration_number", registration_number] as const)
      : (["ic_number", ic_number] as const);
  if (value === undefined || value === null) return [];
  return [{ path: `/borrower/${name}`, message: `must be left out for a borrower of type ${type}` }];
}

function readBorrower(input: BorrowerInput, currency: string): Borrower {
  const { type, name, ic_number = null, registration_number = null, email = null, phone = null } = input;
  const { monthly_income = null, employment_type = null } = input;
  return {
    type,
    name,
    ic_number: ic_number === null ? null : readIcNumber(ic_number, "/borrower/ic_number"),
    registration_number,
    email,
    phone: phone === null ? null : readPhone(phone, "/borrower/phone"),
    monthly_income: monthly_income === null ? null : roundMoney(monthly_income, currency),
    employment_type,
  };
}

function readAnswers(answers: unknown, form: FormStructure): Answers {
  if (areAnswers(form, answers)) return answers;
  const problems = checkAnswers(form, answers);
  throw invalidAll(problems.map(({ path, message }) => ({ path: `/answers${path}`, message })));
}

const isDocumentType = (code: string) => DOCUMENT_TYPES.some((type) => type === code);

/** The items a lender requests. Errors: invalid for unknown document types. */
export function readItems(items: Static<typeof RequestAction>["items"]): ActionItem[] {
  const problems = items.flatMap(({ kind, code }, index) =>
    kind === "document" && !isDocumentType(code)
      ? [{ path: `/items/${index}/code`, message: `must be one of ${DOCUMENT_TYPES.join(", ")}` }]
      : [],
  );
  if (problems.length > 0) throw invalidAll(problems);
  return items.map(({ note = null, ...item }) => ({ ...item, note }));
}
