import type { Context } from "../../app/context.ts";
import { operation } from "../../app/operation.ts";
import { scopeOf } from "../../core/access.ts";
import { AppError, invalid, notFound } from "../../core/errors.ts";
import { SHARED_LIMITS } from "../../core/limits.ts";
import { LIMITS } from "../limits.ts";
import { pagedList, type Slice } from "../../core/pagination.ts";
import { ById, Nothing, paged } from "../../core/schema.ts";
import { instant, iso } from "../../core/time.ts";
import { exactlyOne } from "../../store/exactly_one.ts";
import type { Queries, ReadTx } from "../../store/store.ts";
import { findApiKey } from "../../access/api_keys/queries.ts";
import { recordSystemChange } from "../../audit/recorder.ts";
import { recordEvents } from "../../webhooks/events/queries.ts";
import { blankSubjects } from "../consents/queries.ts";
import { voidEvidence } from "./on_borrower_changed.ts";
import { readOffer } from "./eligibility.ts";
import {
  ApprovalById,
  CreateLoanApplication,
  DisbursementById,
  ListLoanApplications,
  LoanApplication,
  RejectionById,
  RequestActionById,
  UpdateLoanApplication,
} from "./model.ts";
import { applyTransition } from "./transition.ts";
import * as queries from "./queries.ts";
import { newReference } from "./reference.ts";
import { readItems, readRequest } from "./read_request.ts";
import {
  addRequested,
  applicationEvent,
  blanked,
  expiryOf,
  isAnotherBorrower,
  masked,
  transition,
  type Trigger,
} from "./rules.ts";
import { checkComplete, checkSubmission, dayOf, withMissing } from "./submission.ts";
import { findOpenProgram, formOf, termsAfterEdit } from "./program_terms.ts";
import { loanReadTx, type LoanScope, loanScopeOf, loanTransaction } from "../scope.ts";

/**
 * Lists the applications that came to the lender, newest first: all but drafts. Numbers of people are masked.
 */
export const listLoanApplications = operation({
  name: "list_loan_applications",
  permission: "lending:read",
  input: ListLoanApplications,
  output: paged(LoanApplication),
  run: (ctx, { page, limit, ...filter }) =>
    pagedList({ page, limit }, SHARED_LIMITS.page_limit_default, (slice) =>
      listMasked(ctx, { ...filter, sent: true }, slice),
    ),
});

/** Finds an application, also one that is a draft. Errors: not_found. */
export const getLoanApplication = operation({
  name: "get_loan_application",
  permission: "lending:read",
  input: ById,
  output: LoanApplication,
  run: (ctx, { id }) => showOne(ctx, id),
});

/** Lists the agent's own applications, newest first. Numbers of people are masked. */
export const listAgentApplications = operation({
  name: "list_agent_applications",
  permission: "borrowing:read",
  input: ListLoanApplications,
  output: paged(LoanApplication),
  run: (ctx, { page, limit, ...filter }) =>
    pagedList({ page, limit }, SHARED_LIMITS.page_limit_default, (slice) => listMasked(ctx, filter, slice)),
});

/** Finds one of the agent's own applications. Errors: not_found. */
export const getAgentApplication = operation({
  name: "get_agent_application",
  permission: "borrowing:read",
  input: ById,
  output: LoanApplication,
  run: (ctx, { id }) => showOne(ctx, id),
});

/**
 * Creates an application as a draft. Errors: invalid for what can't be read or is not asked, conflict naming the
 * agent's application that has the external_reference. Decision 0103.
 */
export const createLoanApplication = operation({
  name: "create_loan_application",
  permission: "borrowing:write",
  input: CreateLoanApplication,
  output: LoanApplication,
  run(ctx, { program_id, external_reference = null, ...input }) {
    const { store, actor, now } = ctx;
    const scope = loanScopeOf(actor);
    const made = store.tx(async (q) => {
      const program = await findOpenProgram({ q, scope, now }, program_id);
      const request = readRequest(
        { purpose: null, answers: {}, ...input },
        program,
        await formOf({ q, scope, now }, program),
      );
      const key = actor.kind === "key" ? await findApiKey({ q, scope, now }, actor.key_id) : undefined;
      const application = await queries.insertApplication(
        { q, scope, now },
        {
          ...request,
          program_id,
          program_snapshot: program,
          external_reference,
          reference: newReference(now),
          agent_client_id: key?.clientId ?? null,
          expires_at: expiryOf("draft", now, undefined),
        },
      );
      await recordEvents({ q, scope, now }, [applicationEvent("created", application)]);
      return exactlyOne(await withMissing({ q, scope, now }, [application]));
    });
    return explainConflict(ctx, external_reference, made);
  },
});

/**
 * Changes a draft, or an application that the lender has sent back; what is left out stays as it is. Another
 * borrower voids consents and reviews. Errors: not_found, conflict in another state or for an external_reference that is taken, invalid as at its creation.
 * Decision 0103.
 */
export const updateLoanApplication = operation({
  name: "update_loan_application",
  permission: "borrowing:write",
  input: UpdateLoanApplication,
  output: LoanApplication,
  run(ctx, { id, program_id, external_reference, ...change }) {
    const edited = move(ctx, id, "edit", async (q, scope, before) => {
      const { program, form } = await termsAfterEdit({ q, scope, now: ctx.now }, before, program_id);
      const request = readRequest({ ...before, ...change }, program, form);
      if (isAnotherBorrower(before.borrower, request.borrower))
        await voidEvidence({ q, scope, now: ctx.now }, id);
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

/**
 * Deletes a draft, and what it says of people. Errors: not_found, conflict once it was submitted. Decision 0103.
 */
export const deleteLoanApplication = operation({
  name: "delete_loan_application",
  permission: "borrowing:write",
  input: ById,
  output: Nothing,
  async run(ctx, { id }) {
    const { store, actor, now } = ctx;
    await store.tx(async (q) => {
      const scope = loanScopeOf(actor);
      const before = await findOne({ q, scope, now }, id);
      transition(before, "delete", now);
      await blankSubjects({ q, scope, now }, id);
      await applyTransition({ q, scope, now }, before, "delete", {
        ...blanked(before),
        deleted_at: iso(now),
      });
    });
    return {};
  },
});

/**
 * Sends an application to the lender, or back to it. Errors: not_found, conflict in another state or when the
 * program takes no applications, invalid naming the rules of the program that it breaks and, in `missing`, all
 * that is not there yet. Decision 0103.
 */
export const submitLoanApplication = operation({
  name: "submit_loan_application",
  permission: "borrowing:write",
  input: ById,
  output: LoanApplication,
  run: (ctx, { id }) =>
    move(ctx, id, "submit", async (q, scope, before) => ({
      ...(await checkSubmission({ q, scope, now: ctx.now }, before)),
      missing: [],
    })),
});

/** Takes an application back for good. Errors: not_found, conflict once an offer was accepted or it has ended. */
export const withdrawLoanApplication = operation({
  name: "withdraw_loan_application",
  permission: "borrowing:write",
  input: ById,
  output: LoanApplication,
  run: (ctx, { id }) => move(ctx, id, "withdraw"),
});

/**
 * Takes the lender's offer. Errors: not_found; conflict without an offer, from the instant it expires, and when
 * something that the submission needed is not there any more.
 */
export const acceptLoanOffer = operation({
  name: "accept_loan_offer",
  permission: "borrowing:write",
  target: "loan_application",
  input: ById,
  output: LoanApplication,
  run: (ctx, { id }) =>
    move(ctx, id, "accept", async (q, scope, before) => {
      await checkComplete({ q, scope, now: ctx.now }, before, "accept");
      return {};
    }),
});

/** Turns the lender's offer down. Errors: not_found, conflict without an offer, and from the instant it expires. */
export const declineLoanOffer = operation({
  name: "decline_loan_offer",
  permission: "borrowing:write",
  target: "loan_application",
  input: ById,
  output: LoanApplication,
  run: (ctx, { id }) => move(ctx, id, "decline"),
});

/** Begins to look at a submitted application. Errors: not_found, conflict. See docs/loans.md#states. */
export const reviewLoanApplication = operation({
  name: "review_loan_application",
  permission: "lending:write",
  input: ById,
  output: LoanApplication,
  run: (ctx, { id }) => move(ctx, id, "review"),
});

/** Sends an application back for what the lender needs. Errors: not_found, conflict, invalid. */
export const requestLoanAction = operation({
  name: "request_loan_action",
  permission: "lending:write",
  target: "loan_application",
  input: RequestActionById,
  output: LoanApplication,
  run: (ctx, { id, items }) =>
    move(ctx, id, "request_action", async (q, scope) => {
      const missing = readItems(items);
      const { requested } = await queries.findTerms({ q, scope, now: ctx.now }, id);
      return { missing, requested: addRequested(requested, missing) };
    }),
});

/**
 * Makes an offer; of many calls at once one succeeds. Errors: not_found; conflict, also when something that the
 * submission needed is not there any more; invalid for an offer outside of the program or in the past. Decision 0104.
 */
export const approveLoanApplication = operation({
  name: "approve_loan_application",
  permission: "lending:write",
  input: ApprovalById,
  output: LoanApplication,
  run: (ctx, { id, ...approval }) =>
    move(ctx, id, "approve", async (q, scope, before) => {
      await checkComplete({ q, scope, now: ctx.now }, before, "approve");
      return {
        offer: readOffer(approval, before.borrower, before.program_snapshot, ctx.now),
        decision: { outcome: "approved", reason_code: null, note: null, decided_at: iso(ctx.now) },
      };
    }),
});

/** Refuses an application. Errors: not_found, conflict, invalid. See docs/loans.md#states. */
export const rejectLoanApplication = operation({
  name: "reject_loan_application",
  permission: "lending:write",
  input: RejectionById,
  output: LoanApplication,
  run: (ctx, { id, reason_code, note = null }) =>
    move(ctx, id, "reject", async () => ({
      decision: { outcome: "rejected", reason_code, note, decided_at: iso(ctx.now) },
    })),
});

/**
 * Writes down that an accepted loan was paid out, by now. Errors: not_found; conflict, also when something that the
 * submission needed is not there any more; invalid.
 */
export const disburseLoanApplication = operation({
  name: "disburse_loan_application",
  permission: "lending:write",
  input: DisbursementById,
  output: LoanApplication,
  run: (ctx, { id, reference, disbursed_at = iso(ctx.now) }) =>
    move(ctx, id, "disburse", async (q, scope, before) => {
      const paid_at = instant(disbursed_at);
      if (Temporal.Instant.compare(paid_at, ctx.now) > 0)
        throw invalid("/disbursed_at", "must not be in the future");
      const accepted = await dayOf({ q, scope, now: ctx.now }, instant(before.accepted_at ?? disbursed_at));
      if (Temporal.PlainDate.compare(await dayOf({ q, scope, now: ctx.now }, paid_at), accepted) < 0)
        throw invalid(
          "/disbursed_at",
          `must not be before the day of the acceptance, ${accepted.toString()}`,
        );
      await checkComplete({ q, scope, now: ctx.now }, before, "disburse");
      return { disbursement_reference: reference, disbursed_at: iso(paid_at) };
    }),
});

/**
 * Ends the applications whose time has run out: offers that nobody took, and drafts and questions that nobody came
 * back to. May run twice at once: each is ended once, with its event. See docs/loans.md#states.
 */
export const expireLoanApplications = operation({
  name: "expire_loan_applications",
  permission: "lending:write",
  unaudited: true,
  input: Nothing,
  output: Nothing,
  async run(ctx) {
    const { store, actor, now, background } = ctx;
    const { company_id } = scopeOf(actor);
    let ended: number = LIMITS.loan_expiry_batch;
    while (ended === LIMITS.loan_expiry_batch && !background.is_stopping) {
      ended = await store.tx(async (q) => {
        const run_out = await queries.listExpired(
          { q, scope: { company_id }, now },
          LIMITS.loan_expiry_batch,
        );
        for (const application of run_out) {
          const { id, environment } = application;
          await applyTransition({ q, scope: { company_id, environment }, now }, application, "expire");
          const target = { type: "loan_application", id };
          await recordSystemChange(ctx, q, { company_id }, "expire_loan_application", target);
        }
        return run_out.length;
      });
    }
    return {};
  },
});

/** Leads an application through a trigger, in one transaction with what `prepare` says is written beside. */
function move(
  ctx: Context,
  id: number,
  trigger: Trigger,
  prepare: (
    q: Queries,
    scope: LoanScope,
    before: LoanApplication,
  ) => Promise<queries.ApplicationChange> = async () => ({}),
): Promise<LoanApplication> {
  return loanTransaction(ctx, async (tx) => {
    const before = await findOne(tx, id);
    transition(before, trigger, ctx.now);
    const after = await applyTransition(tx, before, trigger, await prepare(tx.q, tx.scope, before));
    ctx.annotateAudit({ before, after });
    return exactlyOne(await withMissing(tx, [after]));
  });
}

/** Errors: not_found. */
async function findOne(tx: ReadTx<LoanScope>, id: number): Promise<LoanApplication> {
  const application = await queries.findApplication(tx, id);
  if (!application) throw notFound("Application", id);
  return application;
}

async function showOne(ctx: Context, id: number): Promise<LoanApplication> {
  const application = await findOne(loanReadTx(ctx), id);
  return exactlyOne(await withMissing(loanReadTx(ctx), [application]));
}

async function listMasked(ctx: Context, filter: queries.ApplicationFilter, slice: Slice) {
  const { rows, total } = await queries.listApplications(loanReadTx(ctx), filter, slice);
  return { rows: (await withMissing(loanReadTx(ctx), rows)).map(masked), total };
}

/** The work's outcome; where it is refused since another application has the reference, the conflict names that. */
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
