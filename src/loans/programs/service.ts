import type { Context } from "../../app/context.ts";
import { operation } from "../../app/operation.ts";
import { AppError, invalid, notFound } from "../../core/errors.ts";
import { listPage } from "../../core/pagination.ts";
import { ById, listed, Nothing } from "../../core/schema.ts";
import type { Queries, Tx } from "../../store/store.ts";
import { findForm } from "../../forms/queries.ts";
import { countOpenApplications } from "../applications/queries.ts";
import {
  CreateLoanProgram,
  ListLoanPrograms,
  ListOpenLoanPrograms,
  LoanProgram,
  UpdateLoanProgram,
} from "./model.ts";
import * as queries from "./queries.ts";
import { newTerms, type ProgramTrigger, programTransition, readTerms } from "./rules.ts";
import { loanReadTx, type LoanScope, loanTransaction } from "../scope.ts";

/** Lists the lender's programs by id; whole when no page is asked for. */
export const listLoanPrograms = operation({
  name: "list_loan_programs",
  permission: "lending:read",
  input: ListLoanPrograms,
  output: listed(LoanProgram),
  run: (ctx, { page, limit, ...filter }) =>
    listPage({ page, limit }, (slice) => queries.listLoanPrograms(loanReadTx(ctx), filter, slice)),
});

/** Finds one of the lender's programs. Errors: not_found, also when it is of the other environment. */
export const getLoanProgram = operation({
  name: "get_loan_program",
  permission: "lending:read",
  input: ById,
  output: LoanProgram,
  async run(ctx, { id }) {
    const program = await queries.findLoanProgram(loanReadTx(ctx), id);
    if (!program) throw notFound("Loan program", id);
    return program;
  },
});

/** Lists the programs that agents may apply to, by id. */
export const listOpenLoanPrograms = operation({
  name: "list_open_loan_programs",
  permission: "borrowing:read",
  input: ListOpenLoanPrograms,
  output: listed(LoanProgram),
  run: (ctx, { page, limit, ...filter }) =>
    listPage({ page, limit }, (slice) =>
      queries.listLoanPrograms(loanReadTx(ctx), { ...filter, status: "active" }, slice),
    ),
});

/** Finds a program that agents may apply to. Errors: not_found, also when it is not active. */
export const getOpenLoanProgram = operation({
  name: "get_open_loan_program",
  permission: "borrowing:read",
  input: ById,
  output: LoanProgram,
  async run(ctx, { id }) {
    const program = await queries.findLoanProgram(loanReadTx(ctx), id);
    if (program?.status !== "active") throw notFound("Loan program", id);
    return program;
  },
});

/**
 * Creates a program as a draft, which agents do not see. Errors: invalid, naming every broken rule, also for a
 * code that is taken and a form that the company does not have in use. Decision 0102.
 */
export const createLoanProgram = operation({
  name: "create_loan_program",
  permission: "lending:write",
  input: CreateLoanProgram,
  output: LoanProgram,
  run(ctx, input) {
    const terms = newTerms(input);
    return loanTransaction(ctx, async (tx) => {
      await checkForm(tx, terms.form_config_id);
      return queries.insertLoanProgram(tx, terms);
    });
  },
});

/**
 * Changes a program; what is left out stays as it is, and so do applications that were submitted. Errors:
 * not_found, invalid as at its creation. Decision 0102.
 */
export const updateLoanProgram = operation({
  name: "update_loan_program",
  permission: "lending:write",
  input: UpdateLoanProgram,
  output: LoanProgram,
  run: (ctx, { id, ...change }) =>
    changed(ctx, id, "edit", async (q, before, scope) => {
      const { min_amount, max_amount, eligibility, form_config_id } = readTerms({ ...before, ...change });
      if (form_config_id !== before.form_config_id)
        await checkForm({ q, scope, now: ctx.now }, form_config_id);
      return { ...change, min_amount, max_amount, eligibility };
    }),
});

/** Lets agents apply to a program. Errors: not_found, conflict when it is active already. */
export const activateLoanProgram = operation({
  name: "activate_loan_program",
  permission: "lending:write",
  input: ById,
  output: LoanProgram,
  run: (ctx, { id }) => changed(ctx, id, "activate"),
});

/** Takes no more applications to a program; those that were submitted go on. Errors: not_found, conflict. */
export const pauseLoanProgram = operation({
  name: "pause_loan_program",
  permission: "lending:write",
  input: ById,
  output: LoanProgram,
  run: (ctx, { id }) => changed(ctx, id, "pause"),
});

/**
 * Deletes a program; applications to it still tell of it. Errors: not_found, conflict while an application to it
 * is open. Decision 0102.
 */
export const deleteLoanProgram = operation({
  name: "delete_loan_program",
  permission: "lending:write",
  input: ById,
  output: Nothing,
  async run(ctx, { id }) {
    await changed(ctx, id, "archive", async (q, _, scope) => {
      const open = await countOpenApplications({ q, scope, now: ctx.now }, id);
      if (open === 0) return {};
      const applications = open === 1 ? "1 open application" : `${open} open applications`;
      throw new AppError("conflict", `Cannot delete loan program ${id}: it has ${applications}`);
    });
    return {};
  },
});

/** Leads a program through a trigger, in one transaction with what comes with it. */
function changed(
  ctx: Context,
  id: number,
  trigger: ProgramTrigger,
  prepare: (
    q: Queries,
    before: LoanProgram,
    scope: LoanScope,
  ) => Promise<Partial<LoanProgram>> = async () => ({}),
): Promise<LoanProgram> {
  return loanTransaction(ctx, async (tx) => {
    const before = await queries.findLoanProgram(tx, id);
    if (!before) throw notFound("Loan program", id);
    const status = programTransition(before, trigger);
    const change = { ...(await prepare(tx.q, before, tx.scope)), status };
    const after = await queries.updateLoanProgram(tx, { id, from: before.status }, change);
    if (!after) throw new AppError("conflict", `Cannot ${trigger} loan program ${id}: it has just changed`);
    ctx.annotateAudit({ before, after });
    return after;
  });
}

/** Errors: invalid for a form that the company does not have in use. */
async function checkForm(tx: Tx<LoanScope>, form_id: number | null): Promise<void> {
  if (form_id === null) return;
  const form = await findForm({ ...tx, scope: { company_id: tx.scope.company_id } }, form_id);
  if (form?.is_active !== true) throw invalid("/form_config_id", "must be an active form of the company");
}
