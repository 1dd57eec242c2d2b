import { AppError, type ErrorDetail, summarize } from "../../core/errors.ts";
import type { ReadTx } from "../../store/store.ts";
import { findCompany } from "../../tenancy/companies/queries.ts";
import type { FormStructure } from "../../forms/model.ts";
import { listActiveConsents } from "../consents/queries.ts";
import { listDocumentStates } from "../documents/queries.ts";
import { decidedTypes, presentTypes } from "../documents/rules.ts";
import type { LoanProgram } from "../programs/model.ts";
import { findLoanProgram } from "../programs/queries.ts";
import type { LoanScope } from "../scope.ts";
import { brokenRules, missingOf, type Submission } from "./eligibility.ts";
import type { LoanApplication, Missing } from "./model.ts";
import { type ApplicationTerms, findTerms, listTerms } from "./queries.ts";
import { VERBS, WAITING_STATUSES, stillMissing, type Trigger } from "./rules.ts";
import { formOf } from "./program_terms.ts";

/** The snapshots that govern an application from its submission on. */
type SubmittedTerms = Pick<LoanApplication, "program_snapshot"> & Pick<ApplicationTerms, "form_snapshot">;

/**
 * Checks an application against its program today, and returns the terms that govern it from now on: of a draft the
 * current program and form, later the snapshots of the first submission. Errors: conflict when a draft's program is not
 * active, invalid naming the broken rules and everything missing.
 */
export async function checkSubmission(
  tx: ReadTx<LoanScope>,
  application: LoanApplication,
): Promise<SubmittedTerms> {
  const { id, status, program_id } = application;
  const [submission] = await listSubmissions(tx, [application]);
  if (!submission) throw new Error(`Application ${id} has no terms`);
  const { program, form } = submission;
  if (status === "draft" && program.status !== "active") {
    throw new AppError(
      "conflict",
      `Cannot submit application ${id}: loan program ${program_id} takes no applications`,
    );
  }
  const missing = missingOf(submission);
  const broken = brokenRules(application, program, await dayOf(tx, tx.now));
  if (missing.length > 0 || broken.length > 0) throw refused(id, broken, missing);
  return { program_snapshot: program, form_snapshot: form ?? null };
}

/** The day of an instant in the company's time zone. */
export async function dayOf(tx: ReadTx<LoanScope>, at: Temporal.Instant): Promise<Temporal.PlainDate> {
  const company = await findCompany(tx);
  if (!company) throw new Error(`Company ${tx.scope.company_id} does not exist`);
  return at.toZonedDateTimeISO(company.timezone).toPlainDate();
}

/**
 * Checks that a submitted application still has the evidence its submission required: consents may have been revoked
 * and documents replaced since. A consent to an older version counts; a document that replaced a verified one, or came
 * after the approval, counts once it is verified. Errors: conflict naming everything missing.
 */
export async function checkComplete(
  tx: ReadTx<LoanScope>,
  application: LoanApplication,
  trigger: Trigger,
): Promise<void> {
  const { id, approved_at, program_snapshot: program } = application;
  const { requested } = await findTerms(tx, id);
  const consents = await listActiveConsents(tx, [id]);
  const missing = missingOf({
    application: { ...application, missing: requested },
    program,
    // The answers and the form of a submitted application cannot change.
    form: undefined,
    documents: decidedTypes(await listDocumentStates(tx, [id]), approved_at),
    consents: new Set(consents.map(({ code }) => code)),
  });
  if (missing.length === 0) return;
  throw new AppError("conflict", `Cannot ${VERBS[trigger]} application ${id}: ${namesOf(missing)}`, {
    missing,
  });
}

/**
 * Applications as they are shown: in draft or action_required, `missing` is everything a submission now would lack, with
 * the lender's notes. Decision 0103.
 */
export async function withMissing(
  tx: ReadTx<LoanScope>,
  applications: readonly LoanApplication[],
): Promise<LoanApplication[]> {
  const waiting = applications.filter(({ status }) => WAITING_STATUSES.has(status));
  const lacks = new Map(
    (await listSubmissions(tx, waiting)).map((submission) => [
      submission.application.id,
      missingOf(submission),
    ]),
  );
  return applications.map((application) => {
    const lacking = lacks.get(application.id);
    return lacking ? { ...application, missing: stillMissing(application.missing, lacking) } : application;
  });
}

/**
 * Applications with everything their completeness depends on: drafts with the current program and form, even a deleted
 * one; others with the snapshots of their submission.
 */
async function listSubmissions(
  tx: ReadTx<LoanScope>,
  applications: readonly LoanApplication[],
): Promise<(Submission & { application: LoanApplication })[]> {
  if (applications.length === 0) return [];
  const ids = applications.map(({ id }) => id);
  const terms = await listTerms(tx, ids);
  const documents = Map.groupBy(await listDocumentStates(tx, ids), (row) => row.application_id);
  const consents = Map.groupBy(await listActiveConsents(tx, ids), (row) => row.application_id);
  const current = await currentPrograms(
    tx,
    applications.filter(({ status }) => status === "draft"),
  );
  return applications.map((application) => {
    const { id, status, program_id, program_snapshot } = application;
    const live = status === "draft" ? current.get(program_id) : undefined;
    const held = consents.get(id) ?? [];
    return {
      application: { ...application, missing: terms.get(id)?.requested ?? [] },
      program: live?.program ?? program_snapshot,
      form: live ? live.form : (terms.get(id)?.form_snapshot ?? undefined),
      documents: presentTypes(documents.get(id) ?? []),
      consents: new Set(
        held.filter(({ version_status }) => version_status === "published").map(({ code }) => code),
      ),
    };
  });
}

/** The current programs of the applications, with their forms, by id. */
async function currentPrograms(tx: ReadTx<LoanScope>, applications: readonly LoanApplication[]) {
  const found = new Map<number, { program: LoanProgram; form: FormStructure | undefined }>();
  for (const id of new Set(applications.map(({ program_id }) => program_id))) {
    const program = await findLoanProgram(tx, id);
    if (program) found.set(id, { program, form: await formOf(tx, program) });
  }
  return found;
}

/** The number of missing items named in an error message; `missing` lists them all. */
const NAMED = 5;

function namesOf(missing: readonly Missing[]): string {
  const named = missing.slice(0, NAMED).map(({ kind, code }) => `${kind} ${code}`);
  if (missing.length > NAMED) named.push(`and ${missing.length - NAMED} more`);
  return `missing are ${named.join(", ")}`;
}

function refused(id: number, details: ErrorDetail[], missing: Missing[]): AppError {
  const reasons = [
    ...(missing.length > 0 ? [namesOf(missing)] : []),
    ...(details.length > 0 ? [summarize(details)] : []),
  ];
  return new AppError("invalid", `Cannot submit application ${id}: ${reasons.join("; ")}`, {
    ...(details.length > 0 ? { details } : {}),
    ...(missing.length > 0 ? { missing } : {}),
  });
}
