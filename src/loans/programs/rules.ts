import { AppError, type ErrorDetail, invalidAll } from "../../core/errors.ts";
import { compare, currencyDigits, fitsCurrency, roundMoney } from "../../core/money.ts";
import type { CreateLoanProgram, Eligibility, LoanProgram, ProgramStatus } from "./model.ts";

export const PROGRAM_TRIGGERS = ["edit", "activate", "pause", "archive"] as const;
export type ProgramTrigger = (typeof PROGRAM_TRIGGERS)[number];

/** From which states what may happen to a program, and to which it leads; an edit leaves the state as it is. */
const TRANSITIONS: Readonly<Record<ProgramTrigger, Partial<Record<ProgramStatus, ProgramStatus>>>> = {
  edit: { draft: "draft", active: "active", paused: "paused" },
  activate: { draft: "active", paused: "active" },
  pause: { active: "paused" },
  archive: { draft: "archived", active: "archived", paused: "archived" },
};

/** The state that a trigger leads to. Errors: conflict where the state forbids it. */
export function programTransition(
  { id, status }: Pick<LoanProgram, "id" | "status">,
  trigger: ProgramTrigger,
): ProgramStatus {
  const next = TRANSITIONS[trigger][status];
  if (next !== undefined) return next;
  throw new AppError("conflict", `Cannot ${trigger} loan program ${id}: its status is ${status}`);
}

/** What of a program its lender says. */
export type ProgramTerms = Omit<
  LoanProgram,
  "id" | "company_id" | "environment" | "status" | "created_at" | "updated_at"
>;

/** A program as it is told first: what may be left out is none. */
export function newTerms(input: CreateLoanProgram): ProgramTerms {
  const nothing = { description: null, eligibility: {}, required_documents: [], required_consents: [] };
  return readTerms({ form_config_id: null, ...nothing, ...input });
}

/**
 * Checks what is said of a program as a whole, and writes its amounts in the currency's digits. Errors: invalid,
 * naming every broken rule.
 */
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
  const income =
    min_monthly_income === undefined ? {} : { min_monthly_income: roundMoney(min_monthly_income, currency) };
  return {
    ...terms,
    min_amount: roundMoney(min_amount, currency),
    max_amount: roundMoney(max_amount, currency),
    eligibility: { ...eligibility, ...income },
  };
}

/** What is wrong with an amount that may not have more digits than its currency's. */
export function amountProblems(path: string, amount: string | undefined, currency: string): ErrorDetail[] {
  if (amount === undefined || fitsCurrency(amount, currency)) return [];
  const digits = currencyDigits(currency);
  return [{ path, message: `must have at most ${digits} decimals: it is an amount in ${currency}` }];
}

function rangeProblems(terms: ProgramTerms): ErrorDetail[] {
  const { min_amount, max_amount, min_tenor_months, max_tenor_months } = terms;
  const { annual_rate_min, annual_rate_max, eligibility } = terms;
  return [
    ...(compare(min_amount, "0") > 0 ? [] : [{ path: "/min_amount", message: "must be above zero" }]),
    ...upsideDown("/max_amount", compare(min_amount, max_amount) > 0, "min_amount"),
    ...upsideDown("/max_tenor_months", min_tenor_months > max_tenor_months, "min_tenor_months"),
    ...upsideDown("/annual_rate_max", compare(annual_rate_min, annual_rate_max) > 0, "annual_rate_min"),
    ...upsideDown("/eligibility/max_age", agesUpsideDown(eligibility), "min_age"),
  ];
}

function agesUpsideDown({ min_age = 0, max_age = Infinity }: Eligibility): boolean {
  return min_age > max_age;
}

function upsideDown(path: string, is_so: boolean, lower: string): ErrorDetail[] {
  return is_so ? [{ path, message: `must not be below ${lower}` }] : [];
}
