import { invalid } from "../../core/errors.ts";
import type { ReadTx } from "../../store/store.ts";
import type { FormStructure } from "../../forms/model.ts";
import { findFormStructure } from "../../forms/queries.ts";
import type { LoanProgram } from "../programs/model.ts";
import { findLoanProgram } from "../programs/queries.ts";
import type { LoanScope } from "../scope.ts";
import type { LoanApplication } from "./model.ts";
import { findTerms } from "./queries.ts";

/** A program's form as it is now, even if it was deleted or deactivated since. */
export async function formOf(
  tx: ReadTx<LoanScope>,
  { form_config_id }: LoanProgram,
): Promise<FormStructure | undefined> {
  return form_config_id === null ? undefined : findFormStructure(tx, form_config_id);
}

/** An active program. Errors: invalid for any other. */
export async function findOpenProgram(tx: ReadTx<LoanScope>, program_id: number): Promise<LoanProgram> {
  const program = await findLoanProgram(tx, program_id);
  if (program?.status === "active") return program;
  throw invalid("/program_id", "must be the id of an active loan program");
}

/** The program and form that govern an edited application: once submitted, the snapshots. */
export async function termsAfterEdit(
  tx: ReadTx<LoanScope>,
  { id, status, program_id, program_snapshot }: LoanApplication,
  requested_program_id: number = program_id,
): Promise<{ program: LoanProgram; form: FormStructure | undefined }> {
  if (status !== "draft") {
    if (requested_program_id !== program_id)
      throw invalid("/program_id", "must stay as it is: the application was submitted");
    const { form_snapshot } = await findTerms(tx, id);
    return { program: program_snapshot, form: form_snapshot ?? undefined };
  }
  const current =
    requested_program_id === program_id
      ? await findLoanProgram(tx, program_id)
      : await findOpenProgram(tx, requested_program_id);
  const program = current ?? program_snapshot;
  return { program, form: await formOf(tx, program) };
}
