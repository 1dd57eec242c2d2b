import type { LoanScope } from "../../core/access.ts";
import { AppError, type ErrorDetail, wordsOf } from "../../core/errors.ts";
import type { Reads } from "../../store/store.ts";
import { findCompany } from "../companies/queries.ts";
import type { FormStructure } from "../forms/model.ts";
import { findFormStructure } from "../forms/queries.ts";
import { listCurrentCodes } from "../loan_consents/queries.ts";
import { listPresentTypes } from "../loan_documents/queries.ts";
import type { LoanProgram } from "../loan_programs/model.ts";
import { findLoanProgram } from "../loan_programs/queries.ts";
import { brokenRules, missingOf, type Submission } from "./eligibility.ts";
import type { LoanApplication, Missing } from "./model.ts";

/**
 * Holds an application against its program on the day of `now`. Returns the program that it goes by from now on:
 * a draft goes by the program as it is, a later submission by the one that the first went by.
 * Errors: conflict when a draft's program takes none, invalid naming the broken rules and everything missing.
 */
export async function checkSubmission(
  q: Reads,
  scope: LoanScope,
  now: Temporal.Instant,
  application: LoanApplication,
): Promise<LoanProgram> {
  const { id, status, program_id, program_snapshot } = application;
  const program = status === "draft" ? await findLoanProgram(q, scope, program_id) : program_snapshot;
  if (status === "draft" && program?.status !== "active") {
    throw new AppError(
      "conflict",
      `Cannot submit application ${id}: loan program ${program_id} takes no applications`,
    );
  }
  const company = await findCompany(q, scope);
  if (!program || !company) throw new Error(`Application ${id} has no program or no company`);
  const submission: Submission = {
    application,
    program,
    form: await formOf(q, scope, program),
    documents: await listPresentTypes(q, scope, id),
    consents: await listCurrentCodes(q, scope, now, id),
    day: now.toZonedDateTimeISO(company.timezone).toPlainDate(),
  };
  const missing = missingOf(submission);
  const broken = brokenRules(submission);
  if (missing.length > 0 || broken.length > 0) throw refused(id, broken, missing);
  return program;
}

/** The form that a program asks by; one that was deleted or put out of use since still counts. */
export async function formOf(
  q: Reads,
  { company_id }: LoanScope,
  { form_config_id }: LoanProgram,
): Promise<FormStructure | undefined> {
  return form_config_id === null ? undefined : findFormStructure(q, { company_id }, form_config_id);
}

/** How many missing things the words of a refusal name; all of them are listed beside. */
const NAMED = 5;

function refused(id: number, details: ErrorDetail[], missing: Missing[]): AppError {
  const named = missing.slice(0, NAMED).map(({ kind, code }) => `${kind} ${code}`);
  if (missing.length > NAMED) named.push(`and ${missing.length - NAMED} more`);
  const reasons = [
    ...(missing.length > 0 ? [`missing are ${named.join(", ")}`] : []),
    ...(details.length > 0 ? [wordsOf(details)] : []),
  ];
  return new AppError("invalid", `Cannot submit application ${id}: ${reasons.join("; ")}`, {
    ...(details.length > 0 ? { details } : {}),
    ...(missing.length > 0 ? { missing } : {}),
  });
}
