import { AppError, type ErrorDetail, invalidAll } from "../../core/errors.ts";
import { compare, currencyDigits, fitsCurrency, roundMoney } from "../../core/money.ts";
import type { CreateLoanProgram, LoanProgram, ProgramStatus } from "./model.ts";

export const PROGRAM_TRIGGERS = ["edit", "activate", "pause", "archive"] as const;
export type ProgramTrigger = (typeof PROGRAM_TRIGGERS)[number];

/** The transitions of a program, by trigger; an edit keeps the status. */
const TRANSITIONS: Readonly<Record<ProgramTrigger, Partial<Record<ProgramStatus, ProgramStatus>>>> = {
  edit: { draft: "draft", active: "active", paused: "paused" },
  activate: { draft: "active", paused: "active" },
  pause: { active: "paused" },
  archive: { draft: "archived", active: "archived", paused: "archived" },
};

/** The status after a trigger. Errors: conflict where the status forbids it. */
export function programTransition(
  { id, status }: Pick<LoanProgram, "id" | "status">,
  trigger: ProgramTrigger,
): ProgramStatus {
  const next = TRANSITIONS[trigger][status];
  if (next !== undefined) return next;
  throw new AppError("conflict", `Cannot ${trigger} loan program ${id}: its status is ${status}`);
}

/** The fields of a program that its lender sets. */
export type ProgramTerms = Omit<
  LoanProgram,
  "id" | "company_id" | "environment" | "status" | "created_at" | "updated_at"
>;

/** The terms of a new program, with defaults for the fields left out. */
export function newTerms(input: CreateLoanProgram): ProgramTerms {
  const nothing = { description: null, eligibility: {}, required_documents: [], required_consents: [] };
  return readTerms({ form_config_id: null, ...nothing, ...input });
}

/** Validates a program's terms and rounds its amounts to the currency. Errors: invalid, naming every broken rule. */
export function readTerms(terms: ProgramTerms): ProgramTerms {
  const { currency, eligibility, min_amount, max_amount } = terms;
  const { min_monthly_income } = eligibility;
  const problems = [
    ...amountProblems("/min_amount", min_amount, currency),
    ...amountProblems("/max_amount", max_amount, currency),
    ...amountProblems("/eligibility/min_monthly_income", min_monthly_income, currency),
    ...rangeProblems(terms),
  ];
  if (problems.length > 0) throw invalidAll(problems);
  const income = min_monthly_income && { min_monthly_income: roundMoney(min_monthly_income, currency) };
  return {
    ...terms,
    min_amount: roundMoney(min_amount, currency),
    max_amount: roundMoney(max_amount, currency),
    eligibility: { ...eligibility, ...income },
  };
}

/** The problem of an amount with more decimals than its currency has. */
export function amountProblems(path: string, amount: string | undefined, currency: string): ErrorDetail[] {
  if (amount === undefined || fitsCurrency(amount, currency)) return [];
  const digits = currencyDigits(currency);
  return [{ path, message: `must have at most ${digits} decimals: it is an amount in ${currency}` }];
}

function rangeProblems(terms: ProgramTerms): ErrorDetail[] {
  const { min_amount, max_amount, min_tenor_months, max_tenor_months } = terms;
  const { annual_rate_min, annual_rate_max, eligibility } = terms;
  const { min_age = 0, max_age = Infinity } = eligibility;
  return [
    ...(compare(min_amount, "0") > 0 ? [] : [{ path: "/min_amount", message: "must be above zero" }]),
    ...rangeProblem("/max_amount", compare(min_amount, max_amount) > 0, "min_amount"),
    ...rangeProblem("/max_tenor_months", min_tenor_months > max_tenor_months, "min_tenor_months"),
    ...rangeProblem("/annual_rate_max", compare(annual_rate_min, annual_rate_max) > 0, "annual_rate_min"),
    ...rangeProblem("/eligibility/max_age", min_age > max_age, "min_age"),
  ];
}

function rangeProblem(path: string, is_reversed: boolean, lower: string): ErrorDetail[] {
  return is_reversed ? [{ path, message: `must not be below ${lower}` }] : [];
}

/** The terms that a table of instalments shows: each whole year in the program's range, and its ends. */
export function tenorsOf({
  min_tenor_months: from,
  max_tenor_months: to,
}: Pick<LoanProgram, "min_tenor_months" | "max_tenor_months">): number[] {
  const first = Math.floor(from / 12) + 1;
  const years = Array.from({ length: Math.max(0, Math.ceil(to / 12) - first) }, (_, i) => (first + i) * 12);
  return [...new Set([from, ...years, to])];
}
