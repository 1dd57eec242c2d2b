import { type ErrorDetail, invalidAll } from "../../core/errors.ts";
import { LIMITS } from "../limits.ts";
import { ageOn } from "../../core/malaysia.ts";
import { compare, multiply, roundMoney } from "../../core/money.ts";
import { instant, iso } from "../../core/time.ts";
import type { FormStructure } from "../../forms/model.ts";
import { unanswered } from "../../forms/rules.ts";
import type { LoanProgram } from "../programs/model.ts";
import { amountProblems } from "../programs/rules.ts";
import { type Loan, monthlyInstalment } from "./instalments.ts";
import type { Approval, Borrower, LoanApplication, Missing, Offer } from "./model.ts";

/** The documents and consents that count for an application. */
export interface Evidence {
  /** Document types. */
  documents: ReadonlySet<string>;
  /** Consent codes. */
  consents: ReadonlySet<string>;
}

/** An application with everything its completeness depends on. */
export interface Submission extends Evidence {
  application: Pick<LoanApplication, "borrower" | "answers" | "missing">;
  program: LoanProgram;
  /** The program's form; undefined where it has none. */
  form: FormStructure | undefined;
}

/**
 * Everything an application lacks, each once: documents and consents that the program or the lender requires, borrower
 * fields that the eligibility rules need, and required fields of the form.
 */
export function missingOf({ application, program, form, documents, consents }: Submission): Missing[] {
  const requested = (kind: Missing["kind"]) =>
    application.missing.filter((item) => item.kind === kind).map(({ code }) => code);
  const needed_documents = new Set([...program.required_documents, ...requested("document")]);
  const needed_consents = new Set([...program.required_consents, ...requested("consent")]);
  const fields = [
    ...missingFields(application.borrower, program),
    ...(form ? unanswered(form, application.answers) : []),
  ];
  return [
    ...[...needed_documents.difference(documents)].map((code) => ({ kind: "document" as const, code })),
    ...[...needed_consents.difference(consents)].map((code) => ({ kind: "consent" as const, code })),
    ...fields.map((code) => ({ kind: "field" as const, code })),
  ];
}

function missingFields(borrower: Borrower, { eligibility }: LoanProgram): string[] {
  const { min_age, max_age, min_monthly_income, max_dsr_percent, citizenship } = eligibility;
  const asks_age = min_age !== undefined || max_age !== undefined;
  const number = borrower.type === "individual" ? "ic_number" : "registration_number";
  // Foreigners have no IC number: with any citizenship accepted, only an age rule needs one.
  const needs_number = borrower.type === "business" || citizenship !== "any" || asks_age;
  const needs_income = min_monthly_income !== undefined || max_dsr_percent !== undefined;
  return [
    ...(needs_number && borrower[number] === null ? [`borrower.${number}`] : []),
    ...(needs_income && borrower.monthly_income === null ? ["borrower.monthly_income"] : []),
  ];
}

/**
 * The program's rules that an application breaks on `day`: ranges, age and income. The debt service ratio takes the
 * instalment at the program's lowest rate; other debts are unknown. Decision 0103.
 */
export function brokenRules(
  { borrower, amount, tenor_months }: Pick<LoanApplication, "borrower" | "amount" | "tenor_months">,
  program: LoanProgram,
  day: Temporal.PlainDate,
): ErrorDetail[] {
  return [
    ...(borrower.type === program.borrower_type
      ? []
      : [{ path: "/borrower/type", message: `must be ${program.borrower_type}, as the program's` }]),
    ...loanProblems({ amount, tenor_months }, program),
    ...ageProblems(borrower, program, day),
    ...incomeProblems(borrower, program),
    ...serviceRatioProblems(
      { amount, tenor_months, annual_rate: program.annual_rate_min },
      borrower,
      program,
    ),
  ];
}

/**
 * The offer of an approval, with its instalment. Errors: invalid, naming every value outside the program's ranges or
 * its debt service ratio, and an expiry in the past. Decision 0104.
 */
export function readOffer(
  { amount, tenor_months, annual_rate, expires_at }: Approval,
  borrower: Borrower,
  program: LoanProgram,
  now: Temporal.Instant,
): Offer {
  const { currency, rate_type } = program;
  const ends_at =
    expires_at === undefined ? now.add({ hours: 24 * LIMITS.loan_offer_days }) : instant(expires_at);
  const loan = { amount, tenor_months, annual_rate };
  const problems = [
    ...offerProblems(loan, borrower, program),
    ...(Temporal.Instant.compare(ends_at, now) > 0
      ? []
      : [{ path: "/expires_at", message: "must be in the future" }]),
  ];
  if (problems.length > 0) throw invalidAll(problems);
  return {
    ...loan,
    amount: roundMoney(amount, currency),
    monthly_instalment: monthlyInstalment({ ...loan, currency, rate_type }),
    expires_at: iso(ends_at),
  };
}

function offerProblems(
  offer: Pick<Loan, "amount" | "tenor_months" | "annual_rate">,
  borrower: Borrower,
  program: LoanProgram,
): ErrorDetail[] {
  const { annual_rate_min, annual_rate_max } = program;
  const is_rate =
    compare(offer.annual_rate, annual_rate_min) >= 0 && compare(offer.annual_rate, annual_rate_max) <= 0;
  return [
    ...loanProblems(offer, program),
    ...(is_rate
      ? []
      : [{ path: "/annual_rate", message: `must be from ${annual_rate_min} to ${annual_rate_max}` }]),
    ...serviceRatioProblems(offer, borrower, program),
  ];
}

/** What is wrong with an amount and a term under a program. */
export function loanProblems(
  { amount, tenor_months }: Pick<Loan, "amount" | "tenor_months">,
  program: LoanProgram,
): ErrorDetail[] {
  const { min_amount, max_amount, min_tenor_months, max_tenor_months, currency } = program;
  const is_amount = compare(amount, min_amount) >= 0 && compare(amount, max_amount) <= 0;
  const is_tenor = tenor_months >= min_tenor_months && tenor_months <= max_tenor_months;
  return [
    ...amountProblems("/amount", amount, currency),
    ...(is_amount
      ? []
      : [{ path: "/amount", message: `must be from ${min_amount} to ${max_amount} ${currency}` }]),
    ...(is_tenor
      ? []
      : [{ path: "/tenor_months", message: `must be from ${min_tenor_months} to ${max_tenor_months}` }]),
  ];
}

function ageProblems(
  { ic_number }: Borrower,
  { eligibility }: LoanProgram,
  day: Temporal.PlainDate,
): ErrorDetail[] {
  const { min_age = 0, max_age = Infinity } = eligibility;
  if (ic_number === null) return [];
  const age = ageOn(ic_number, day);
  if (age >= min_age && age <= max_age) return [];
  const ages = max_age === Infinity ? `at least ${min_age}` : `${min_age} to ${max_age}`;
  return [{ path: "/borrower/ic_number", message: `must be of a person aged ${ages} years today` }];
}

function incomeProblems(
  { monthly_income }: Borrower,
  { eligibility: { min_monthly_income }, currency }: LoanProgram,
): ErrorDetail[] {
  if (min_monthly_income === undefined || monthly_income === null) return [];
  if (compare(monthly_income, min_monthly_income) >= 0) return [];
  const message = `must be at least ${min_monthly_income} ${currency}`;
  return [{ path: "/borrower/monthly_income", message }];
}

function serviceRatioProblems(
  { amount, tenor_months, annual_rate }: Pick<Loan, "amount" | "tenor_months" | "annual_rate">,
  { monthly_income }: Borrower,
  { eligibility: { max_dsr_percent }, currency, rate_type }: LoanProgram,
): ErrorDetail[] {
  if (max_dsr_percent === undefined || monthly_income === null) return [];
  const instalment = monthlyInstalment({ amount, tenor_months, annual_rate, rate_type, currency });
  if (compare(multiply(instalment, "100"), multiply(monthly_income, max_dsr_percent)) <= 0) return [];
  const message = `must be less: its instalment of ${instalment} ${currency} takes more than ${max_dsr_percent} % of the monthly income`;
  return [{ path: "/amount", message }];
}
