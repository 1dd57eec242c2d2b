import { operation } from "../../app/operation.ts";
import { invalid } from "../../core/errors.ts";
import { ById } from "../../core/schema.ts";
import { instant, iso } from "../../core/time.ts";
import { changeApplication } from "./change_application.ts";
import { readOffer } from "./eligibility.ts";
import { Approval, Disbursement, LoanApplication, Offer, Rejection, RequestAction } from "./model.ts";
import { findTerms, requireApplication } from "./queries.ts";
import { readItems } from "./read_request.ts";
import { addRequested } from "./rules.ts";
import { loanReadTx } from "../scope.ts";
import { checkComplete, dayOf } from "./submission.ts";

// The lender's decisions on an application, from its review to the disbursement.

/** Takes a submitted application under review. Errors: not_found, conflict. See docs/loans.md#states. */
export const reviewLoanApplication = operation({
  name: "review_loan_application",
  permission: "lending:write",
  input: ById,
  output: LoanApplication,
  run: (ctx, { id }) => changeApplication(ctx, id, "review"),
});

/** Sends an application back for documents, consents or fields. Errors: not_found, conflict, invalid. */
export const requestLoanAction = operation({
  name: "request_loan_action",
  permission: "lending:write",
  target: "loan_application",
  input: RequestAction,
  output: LoanApplication,
  run: (ctx, { id, items }) =>
    changeApplication(ctx, id, "request_action", async (tx) => {
      const missing = readItems(items);
      const { requested } = await findTerms(tx, id);
      return { missing, requested: addRequested(requested, missing) };
    }),
});

/**
 * Approves an application with an offer; of concurrent calls one succeeds. Errors: not_found; conflict, also when
 * evidence that the submission required is gone; invalid for an offer outside the program or in the past.
 * Decision 0104.
 */
export const approveLoanApplication = operation({
  name: "approve_loan_application",
  permission: "lending:write",
  input: Approval,
  output: LoanApplication,
  run: (ctx, { id, ...approval }) =>
    changeApplication(ctx, id, "approve", async (tx, before) => {
      await checkComplete(tx, before, "approve");
      return {
        offer: readOffer(approval, before.borrower, before.program_snapshot, tx.now),
        decision: { outcome: "approved", reason_code: null, note: null, decided_at: iso(tx.now) },
      };
    }),
});

/** Previews the offer of an approval. Errors: not_found; invalid, as of the approval. */
export const previewLoanOffer = operation({
  name: "preview_loan_offer",
  permission: "lending:read",
  input: Approval,
  output: Offer,
  async run(ctx, { id, ...approval }) {
    const { borrower, program_snapshot } = await requireApplication(loanReadTx(ctx), id);
    return readOffer(approval, borrower, program_snapshot, ctx.now);
  },
});

/** Rejects an application. Errors: not_found, conflict, invalid. See docs/loans.md#states. */
export const rejectLoanApplication = operation({
  name: "reject_loan_application",
  permission: "lending:write",
  input: Rejection,
  output: LoanApplication,
  run: (ctx, { id, reason_code, note = null }) =>
    changeApplication(ctx, id, "reject", async (tx) => ({
      decision: { outcome: "rejected", reason_code, note, decided_at: iso(tx.now) },
    })),
});

/**
 * Records that an accepted loan was paid out. Errors: not_found; conflict, also when evidence that the submission
 * required is gone; invalid for a date in the future or before the acceptance.
 */
export const disburseLoanApplication = operation({
  name: "disburse_loan_application",
  permission: "lending:write",
  input: Disbursement,
  output: LoanApplication,
  run: (ctx, { id, reference, disbursed_at = iso(ctx.now) }) =>
    changeApplication(ctx, id, "disburse", async (tx, before) => {
      const paid_at = instant(disbursed_at);
      if (Temporal.Instant.compare(paid_at, tx.now) > 0)
        throw invalid("/disbursed_at", "must not be in the future");
      const accepted = await dayOf(tx, instant(before.accepted_at ?? disbursed_at));
      if (Temporal.PlainDate.compare(await dayOf(tx, paid_at), accepted) < 0)
        throw invalid(
          "/disbursed_at",
          `must not be before the day of the acceptance, ${accepted.toString()}`,
        );
      await checkComplete(tx, before, "disburse");
      return { disbursement_reference: reference, disbursed_at: iso(paid_at) };
    }),
});
