import type { Static } from "@sinclair/typebox";
import { findApiKey } from "../../access/api_keys/queries.ts";
import type { Context } from "../../app/context.ts";
import { operation } from "../../app/operation.ts";
import { interleave } from "../../core/chunk.ts";
import { AppError, invalid } from "../../core/errors.ts";
import { SHARED_LIMITS } from "../../core/limits.ts";
import { pagedList } from "../../core/pagination.ts";
import { ById, Nothing, paged } from "../../core/schema.ts";
import { iso } from "../../core/time.ts";
import { recordEvents } from "../../webhooks/events/queries.ts";
import { blankSubjects } from "../consents/queries.ts";
import { LIMITS } from "../limits.ts";
import { loanReadTx, loanTransaction } from "../scope.ts";
import { changeApplication, showApplication } from "./change_application.ts";
import {
  CreateLoanApplication,
  ListLoanApplications,
  LoanApplication,
  type Missing,
  UpdateLoanApplication,
} from "./model.ts";
import { voidEvidence } from "./on_borrower_changed.ts";
import { findOpenProgram, formOf, termsAfterEdit } from "./program_terms.ts";
import * as queries from "./queries.ts";
import { readRequest } from "./read_request.ts";
import { newReference } from "./reference.ts";
import { applicationEvent, blanked, expiryOf, isAnotherBorrower, masked, transition } from "./rules.ts";
import { checkComplete, checkSubmission, withMissing } from "./submission.ts";
import { applyTransition } from "./transition.ts";

/** Lists the lender's applications except drafts, newest first, with masked IC numbers. */
export const listLoanApplications = operation({
  name: "list_loan_applications",
  permission: "lending:read",
  input: ListLoanApplications,
  output: paged(LoanApplication),
  run: (ctx, query) => listMasked(ctx, query, { has_drafts: false }),
});

/** Finds an application, drafts included. Errors: not_found. */
export const getLoanApplication = operation({
  name: "get_loan_application",
  permission: "lending:read",
  input: ById,
  output: LoanApplication,
  run: findOne,
});

/** Lists the loan agent's applications, newest first, with masked IC numbers. */
export const listAgentApplications = operation({
  name: "list_agent_applications",
  permission: "borrowing:read",
  input: ListLoanApplications,
  output: paged(LoanApplication),
  run: (ctx, query) => listMasked(ctx, query, { has_drafts: true }),
});

/** Finds one of the loan agent's applications. Errors: not_found. */
export const getAgentApplication = operation({
  name: "get_agent_application",
  permission: "borrowing:read",
  input: ById,
  output: LoanApplication,
  run: findOne,
});

/**
 * Creates an application as a draft. Errors: invalid for malformed fields and answers that the form does not have,
 * conflict naming the loan agent's application that has the external_reference. Decision 0103.
 */
export const createLoanApplication = operation({
  name: "create_loan_application",
  permission: "borrowing:write",
  input: CreateLoanApplication,
  output: LoanApplication,
  run(ctx, { program_id, external_reference = null, ...input }) {
    const { actor } = ctx;
    const created = loanTransaction(ctx, async (tx) => {
      const program = await findOpenProgram(tx, program_id);
      const form = await formOf(tx, program);
      const request = readRequest({ purpose: null, answers: {}, ...input }, program, form);
      const key = actor.kind === "key" ? await findApiKey(tx, actor.key_id) : undefined;
      const application = await queries.insertApplication(tx, {
        ...request,
        program_id,
        program_snapshot: program,
        external_reference,
        reference: newReference(tx.now),
        agent_client_id: key?.clientId ?? null,
        expires_at: expiryOf("draft", tx.now, undefined),
      });
      await recordEvents(tx, [applicationEvent("created", application)]);
      return showApplication(tx, application);
    });
    return explainConflict(ctx, external_reference, created);
  },
});

/**
 * Changes a draft, or an application that the lender has sent back; fields left out keep their value. Another borrower
 * voids consents and reviews. Errors: not_found, conflict in another status or for an external_reference that is
 * taken, invalid as at its creation. Decision 0103.
 */
export const updateLoanApplication = operation({
  name: "update_loan_application",
  permission: "borrowing:write",
  input: UpdateLoanApplication,
  output: LoanApplication,
  run(ctx, { id, program_id, external_reference, ...change }) {
    const edited = changeApplication(ctx, id, "edit", async (tx, before) => {
      const { program, form } = await termsAfterEdit(tx, before, program_id);
      const request = readRequest({ ...before, ...change }, program, form);
      if (isAnotherBorrower(before.borrower, request.borrower)) await voidEvidence(tx, id);
      return {
        ...request,
        program_id: program.id,
        program_snapshot: program,
        ...(external_reference === undefined ? {} : { external_reference }),
      };
    });
    return explainConflict(ctx, external_reference ?? null, edited, id);
  },
});

/** Deletes a draft and its personal data. Errors: not_found, conflict once it was submitted. Decision 0103. */
export const deleteLoanApplication = operation({
  name: "delete_loan_application",
  permission: "borrowing:write",
  uses_reserve: true,
  input: ById,
  output: Nothing,
  async run(ctx, { id }) {
    await loanTransaction(ctx, async (tx) => {
      const before = await queries.requireApplication(tx, id);
      transition(before, "delete", tx.now);
      await blankSubjects(tx, id);
      await applyTransition(tx, before, "delete", { ...blanked(before), deleted_at: iso(tx.now) });
    });
    return {};
  },
});

/**
 * Submits an application to the lender, the first time or again. Errors: not_found, conflict in another status or when
 * the program takes no applications, invalid naming the program's rules that it breaks and, in `missing`, everything
 * it lacks. Decision 0103.
 */
export const submitLoanApplication = operation({
  name: "submit_loan_application",
  permission: "borrowing:write",
  input: ById,
  output: LoanApplication,
  run: (ctx, { id }) =>
    changeApplication(ctx, id, "submit", async (tx, before) => ({
      ...(await checkSubmission(tx, before)),
      missing: [],
    })),
});

/** Withdraws an application for good. Errors: not_found, conflict once an offer was accepted or it has ended. */
export const withdrawLoanApplication = operation({
  name: "withdraw_loan_application",
  permission: "borrowing:write",
  input: ById,
  output: LoanApplication,
  run: (ctx, { id }) => changeApplication(ctx, id, "withdraw"),
});

/**
 * Accepts the lender's offer. Errors: not_found; conflict without an offer, from the instant it expires, and when
 * evidence that the submission required is gone.
 */
export const acceptLoanOffer = operation({
  name: "accept_loan_offer",
  permission: "borrowing:write",
  target: "loan_application",
  input: ById,
  output: LoanApplication,
  run: (ctx, { id }) =>
    changeApplication(ctx, id, "accept", async (tx, before) => {
      await checkComplete(tx, before, "accept");
      return {};
    }),
});

/** Declines the lender's offer. Errors: not_found, conflict without an offer, and from the instant it expires. */
export const declineLoanOffer = operation({
  name: "decline_loan_offer",
  permission: "borrowing:write",
  target: "loan_application",
  input: ById,
  output: LoanApplication,
  run: (ctx, { id }) => changeApplication(ctx, id, "decline"),
});

async function findOne(ctx: Context, { id }: Static<typeof ById>): Promise<LoanApplication> {
  const tx = loanReadTx(ctx);
  return showApplication(tx, await queries.requireApplication(tx, id));
}

function listMasked(
  ctx: Context,
  { page, limit, missing, ...filter }: Static<typeof ListLoanApplications>,
  drafts: Pick<queries.ApplicationFilter, "has_drafts">,
) {
  const tx = loanReadTx(ctx);
  if (missing !== undefined)
    return pagedList({ page, limit }, SHARED_LIMITS.page_limit_default, async ({ offset, limit: rows }) => {
      const lacking = await listLacking(tx, { ...filter, ...drafts }, missing);
      return { rows: lacking.slice(offset, offset + rows).map(masked), total: lacking.length };
    });
  return pagedList({ page, limit }, SHARED_LIMITS.page_limit_default, async (slice) => {
    const { rows, total } = await queries.listApplications(tx, { ...filter, ...drafts }, slice);
    return { rows: (await withMissing(tx, rows)).map(masked), total };
  });
}

/**
 * The applications that lack something of a kind. What is missing is known by program, form, documents and consents only,
 * so each that may lack something is looked at. Errors: invalid where these are too many.
 */
async function listLacking(
  tx: ReturnType<typeof loanReadTx>,
  filter: queries.ApplicationFilter,
  kind: Missing["kind"],
): Promise<LoanApplication[]> {
  const most = LIMITS.loan_applications_looked_at;
  const waiting = await queries.listWaiting(tx, filter, most + 1);
  if (waiting.length > most)
    throw invalid("/missing", `must come with program_id, from or to: more than ${most} applications wait`);
  const lacking: LoanApplication[] = [];
  for await (const part of interleave(waiting, LIMITS.loan_applications_in_a_step))
    lacking.push(
      ...(await withMissing(tx, part)).filter(({ missing }) => missing.some((item) => item.kind === kind)),
    );
  return lacking;
}

/** Awaits `work`; a conflict over the external_reference names the application that has it. */
async function explainConflict<T>(
  ctx: Context,
  external_reference: string | null,
  work: Promise<T>,
  own_id?: number,
): Promise<T> {
  try {
    return await work;
  } catch (error) {
    if (external_reference === null || !(error instanceof AppError) || error.kind !== "conflict") throw error;
    const owner = await queries.findByExternalReference(loanReadTx(ctx), external_reference);
    if (!owner || owner.id === own_id) throw error;
    throw new AppError(
      "conflict",
      `Cannot use external_reference ${external_reference}: application ${owner.id} has it`,
    );
  }
}
