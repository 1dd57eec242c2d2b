import { type Static, Type } from "@sinclair/typebox";
import type { Context } from "../../app/context.ts";
import { operation } from "../../app/operation.ts";
import { AppError, invalid, invalidAll, notFound, orNotFound } from "../../core/errors.ts";
import { listPage } from "../../core/pagination.ts";
import { ById, listed, Nothing } from "../../core/schema.ts";
import { findForm } from "../../forms/queries.ts";
import type { ReadTx, Tx } from "../../store/store.ts";
import { loanProblems } from "../applications/eligibility.ts";
import { monthlyInstalment } from "../applications/instalments.ts";
import { countOpenApplications } from "../applications/queries.ts";
import { changedMeanwhile } from "../conflict.ts";
import { loanReadTx, type LoanScope, loanTransaction } from "../scope.ts";
import {
  CreateLoanProgram,
  InstalmentRow,
  ListInstalments,
  ListLoanPrograms,
  ListOpenLoanPrograms,
  LoanProgram,
  UpdateLoanProgram,
} from "./model.ts";
import * as queries from "./queries.ts";
import { newTerms, type ProgramTrigger, programTransition, readTerms, tenorsOf } from "./rules.ts";

/** Lists the lender's programs by id; whole unless a page is requested. */
export const listLoanPrograms = operation({
  name: "list_loan_programs",
  permission: "lending:read",
  input: ListLoanPrograms,
  output: listed(LoanProgram),
  run: list,
});

/** Finds one of the lender's programs. Errors: not_found, also in the other environment. */
export const getLoanProgram = operation({
  name: "get_loan_program",
  permission: "lending:read",
  input: ById,
  output: LoanProgram,
  run: (ctx, { id }) => findProgram(loanReadTx(ctx), id),
});

/**
 * Lists what a loan of an amount costs a month, by its term: each whole year in the program's range, the shortest and the
 * longest. Errors: not_found; invalid for an amount outside of the program's range.
 */
export const listLoanInstalments = operation({
  name: "list_loan_instalments",
  permission: "lending:read",
  input: ListInstalments,
  output: Type.Object({ data: Type.Array(InstalmentRow) }),
  async run(ctx, { id, amount }) {
    const program = await findProgram(loanReadTx(ctx), id);
    const { min_tenor_months, annual_rate_min, annual_rate_max } = program;
    const problems = loanProblems({ amount, tenor_months: min_tenor_months }, program);
    if (problems.length > 0) throw invalidAll(problems);
    const data = tenorsOf(program).map((tenor_months) => ({
      tenor_months,
      at_min_rate: monthlyInstalment({ ...program, amount, tenor_months, annual_rate: annual_rate_min }),
      at_max_rate: monthlyInstalment({ ...program, amount, tenor_months, annual_rate: annual_rate_max }),
    }));
    return { data };
  },
});

/** Lists the active programs, which loan agents may apply to, by id. */
export const listOpenLoanPrograms = operation({
  name: "list_open_loan_programs",
  permission: "borrowing:read",
  input: ListOpenLoanPrograms,
  output: listed(LoanProgram),
  run: (ctx, query) => list(ctx, { ...query, status: "active" }),
});

/** Finds an active program. Errors: not_found, also when it is not active. */
export const getOpenLoanProgram = operation({
  name: "get_open_loan_program",
  permission: "borrowing:read",
  input: ById,
  output: LoanProgram,
  async run(ctx, { id }) {
    const program = await findProgram(loanReadTx(ctx), id);
    if (program.status !== "active") throw notFound("Loan program", id);
    return program;
  },
});

/**
 * Creates a program as a draft, which loan agents do not see. Errors: invalid, naming every broken rule, also for a
 * code that is taken and a form that is not an active one of the company. Decision 0102.
 */
export const createLoanProgram = operation({
  name: "create_loan_program",
  permission: "lending:write",
  input: CreateLoanProgram,
  output: LoanProgram,
  async run(ctx, input) {
    const terms = newTerms(input);
    return loanTransaction(ctx, async (tx) => {
      await checkForm(tx, terms.form_config_id);
      return queries.insertLoanProgram(tx, terms);
    });
  },
});

/**
 * Changes a program; fields left out keep their value, and submitted applications keep their terms. Errors:
 * not_found, invalid as at its creation. Decision 0102.
 */
export const updateLoanProgram = operation({
  name: "update_loan_program",
  permission: "lending:write",
  input: UpdateLoanProgram,
  output: LoanProgram,
  run: (ctx, { id, ...change }) =>
    changeProgram(ctx, id, "edit", async (tx, before) => {
      const { min_amount, max_amount, eligibility, form_config_id } = readTerms({ ...before, ...change });
      if (form_config_id !== before.form_config_id) await checkForm(tx, form_config_id);
      return { ...change, min_amount, max_amount, eligibility };
    }),
});

/** Opens a program to applications. Errors: not_found, conflict when it is active already. */
export const activateLoanProgram = operation({
  name: "activate_loan_program",
  permission: "lending:write",
  input: ById,
  output: LoanProgram,
  run: (ctx, { id }) => changeProgram(ctx, id, "activate"),
});

/** Closes a program to new applications; submitted ones continue. Errors: not_found, conflict. */
export const pauseLoanProgram = operation({
  name: "pause_loan_program",
  permission: "lending:write",
  input: ById,
  output: LoanProgram,
  run: (ctx, { id }) => changeProgram(ctx, id, "pause"),
});

/**
 * Deletes a program; its applications keep its terms. Errors: not_found, conflict while one of them is open.
 * Decision 0102.
 */
export const deleteLoanProgram = operation({
  name: "delete_loan_program",
  permission: "lending:write",
  uses_reserve: true,
  input: ById,
  output: Nothing,
  async run(ctx, { id }) {
    await changeProgram(ctx, id, "archive", async (tx) => {
      const open = await countOpenApplications(tx, id);
      if (open === 0) return {};
      const applications = open === 1 ? "1 open application" : `${open} open applications`;
      throw new AppError("conflict", `Cannot delete loan program ${id}: it has ${applications}`);
    });
    return {};
  },
});

function list(ctx: Context, { page, limit, ...filter }: Static<typeof ListLoanPrograms>) {
  return listPage({ page, limit }, (slice) => queries.listLoanPrograms(loanReadTx(ctx), filter, slice));
}

/** Errors: not_found. */
async function findProgram(tx: ReadTx<LoanScope>, id: number): Promise<LoanProgram> {
  return orNotFound(await queries.findLoanProgram(tx, id), "Loan program", id);
}

/** Applies a trigger to a program, with the changes that `prepare` returns. Errors: not_found, conflict. */
function changeProgram(
  ctx: Context,
  id: number,
  trigger: ProgramTrigger,
  prepare?: (tx: Tx<LoanScope>, before: LoanProgram) => Promise<Partial<LoanProgram>>,
): Promise<LoanProgram> {
  return loanTransaction(ctx, async (tx) => {
    const before = await findProgram(tx, id);
    const status = programTransition(before, trigger);
    const after = await queries.updateLoanProgram(tx, before, { ...(await prepare?.(tx, before)), status });
    if (!after) throw changedMeanwhile(`${trigger} loan program ${id}`);
    ctx.annotateAudit({ before, after });
    return after;
  });
}

/** Errors: invalid for a form that is not an active one of the company. */
async function checkForm(tx: Tx<LoanScope>, form_id: number | null): Promise<void> {
  if (form_id === null) return;
  const form = await findForm(tx, form_id);
  if (form?.is_active !== true) throw invalid("/form_config_id", "must be an active form of the company");
}
