import { Type } from "@sinclair/typebox";
import { Elysia } from "elysia";
import type { Deps } from "../../app/deps.ts";
import { call } from "../../app/operation.ts";
import { Nothing, paged } from "../../core/schema.ts";
import { answers, data, dataOf, ErrorBody, named } from "../../http/answers.ts";
import { InvalidBody } from "../../http/errors.ts";
import { fromText, IdPath } from "../../http/params.ts";
import { session } from "../../http/session.ts";
import {
  Approval,
  CreateLoanApplication,
  Disbursement,
  ListLoanApplications,
  LoanApplication,
  LoanApplicationChange,
  Missing,
  Rejection,
  RequestAction,
} from "./model.ts";
import {
  acceptLoanOffer,
  approveLoanApplication,
  createLoanApplication,
  declineLoanOffer,
  deleteLoanApplication,
  disburseLoanApplication,
  getAgentApplication,
  getLoanApplication,
  listAgentApplications,
  listLoanApplications,
  rejectLoanApplication,
  requestLoanAction,
  reviewLoanApplication,
  submitLoanApplication,
  updateLoanApplication,
  withdrawLoanApplication,
} from "./service.ts";

const ONE = answers({ 200: dataOf(LoanApplication), 404: ErrorBody });
const MOVED = answers({ 200: dataOf(LoanApplication), 404: ErrorBody, 409: ErrorBody });

/** A path that moves an application on and takes no more than its id. */
const moves = (detail: ReturnType<typeof named>) => ({
  params: IdPath,
  body: Nothing,
  response: MOVED,
  detail,
});

/** The 422 of a submission: the rules that are broken, and everything that is missing. */
const SubmissionRefused = Type.Object(
  { ...InvalidBody.properties, missing: Type.Optional(Type.Array(Missing)) },
  { title: "SubmissionError" },
);

const FILTERS =
  "One page, newest first; search looks into references and borrowers' names, from (included) and to (not) into created_at. IC numbers are masked.";

export const lenderApplicationRoutes = (deps: Deps) =>
  new Elysia({ prefix: "/lender/applications", tags: ["Lending"] })
    .use(session(deps, "lender"))
    .get("", ({ ctx, query }) => call(ctx, listLoanApplications, query), {
      query: fromText(ListLoanApplications),
      response: answers({ 200: paged(LoanApplication) }),
      detail: named(listLoanApplications, "List loan applications", `${FILTERS} Drafts are left out.`),
    })
    .get("/:id", ({ ctx, params }) => data(call(ctx, getLoanApplication, params)), {
      params: IdPath,
      response: ONE,
      detail: named(getLoanApplication, "Get a loan application", "Also one that is a draft."),
    })
    .post(
      "/:id/review",
      ({ ctx, params }) => data(call(ctx, reviewLoanApplication, params)),
      moves(named(reviewLoanApplication, "Begin to review a loan application", "From submitted.")),
    )
    .post(
      "/:id/request-action",
      ({ ctx, params, body }) => data(call(ctx, requestLoanAction, { ...params, ...body })),
      {
        params: IdPath,
        body: RequestAction,
        response: MOVED,
        detail: named(
          requestLoanAction,
          "Send a loan application back",
          "From under_review, for documents, consents or fields; the agent submits it again when they are there.",
        ),
      },
    )
    .post(
      "/:id/approve",
      ({ ctx, params, body }) => data(call(ctx, approveLoanApplication, { ...params, ...body })),
      {
        params: IdPath,
        body: Approval,
        response: MOVED,
        detail: named(
          approveLoanApplication,
          "Approve a loan application",
          "From under_review. The offer must be within the program; it expires at expires_at, or after 30 days. Of many calls at once one succeeds.",
        ),
      },
    )
    .post(
      "/:id/reject",
      ({ ctx, params, body }) => data(call(ctx, rejectLoanApplication, { ...params, ...body })),
      {
        params: IdPath,
        body: Rejection,
        response: MOVED,
        detail: named(rejectLoanApplication, "Reject a loan application", "From under_review."),
      },
    )
    .post(
      "/:id/disburse",
      ({ ctx, params, body }) => data(call(ctx, disburseLoanApplication, { ...params, ...body })),
      {
        params: IdPath,
        body: Disbursement,
        response: MOVED,
        detail: named(
          disburseLoanApplication,
          "Record that a loan was paid out",
          "From accepted. disbursed_at is now unless told, and not in the future.",
        ),
      },
    );

export const agentApplicationRoutes = (deps: Deps) =>
  new Elysia({ prefix: "/agent/applications", tags: ["Borrowing"] })
    .use(session(deps, "agent"))
    .get("", ({ ctx, query }) => call(ctx, listAgentApplications, query), {
      query: fromText(ListLoanApplications),
      response: answers({ 200: paged(LoanApplication) }),
      detail: named(listAgentApplications, "List the agent's loan applications", FILTERS),
    })
    .post(
      "",
      async ({ ctx, body, status }) => status(201, await data(call(ctx, createLoanApplication, body))),
      {
        body: CreateLoanApplication,
        response: answers({ 201: dataOf(LoanApplication), 409: ErrorBody }),
        detail: named(
          createLoanApplication,
          "Create a loan application",
          "As a draft. Formats are checked; the program's ranges, age, income, documents and consents when it is submitted. external_reference is the agent's own, unique among its applications.",
        ),
      },
    )
    .get("/:id", ({ ctx, params }) => data(call(ctx, getAgentApplication, params)), {
      params: IdPath,
      response: ONE,
      detail: named(getAgentApplication, "Get one of the agent's loan applications"),
    })
    .put("/:id", ({ ctx, params, body }) => data(call(ctx, updateLoanApplication, { ...params, ...body })), {
      params: IdPath,
      body: LoanApplicationChange,
      response: MOVED,
      detail: named(
        updateLoanApplication,
        "Change a loan application",
        "In draft or action_required. What is left out stays as it is; borrower and answers are replaced as a whole.",
      ),
    })
    .delete("/:id", ({ ctx, params }) => data(call(ctx, deleteLoanApplication, params)), {
      params: IdPath,
      response: answers({ 200: dataOf(Nothing), 404: ErrorBody, 409: ErrorBody }),
      detail: named(deleteLoanApplication, "Delete a loan application", "Only a draft."),
    })
    .post("/:id/submit", ({ ctx, params }) => data(call(ctx, submitLoanApplication, params)), {
      params: IdPath,
      body: Nothing,
      response: { ...MOVED, 422: SubmissionRefused },
      detail: named(
        submitLoanApplication,
        "Submit a loan application",
        "From draft, or from action_required back to the review. A 422 names the program's rules that it breaks in details, and every document, consent and field that is not there in missing.",
      ),
    })
    .post(
      "/:id/withdraw",
      ({ ctx, params }) => data(call(ctx, withdrawLoanApplication, params)),
      moves(named(withdrawLoanApplication, "Withdraw a loan application", "Until an offer was accepted.")),
    )
    .post(
      "/:id/accept",
      ({ ctx, params }) => data(call(ctx, acceptLoanOffer, params)),
      moves(named(acceptLoanOffer, "Accept an offer", "From approved, until the offer expires.")),
    )
    .post(
      "/:id/decline",
      ({ ctx, params }) => data(call(ctx, declineLoanOffer, params)),
      moves(named(declineLoanOffer, "Decline an offer", "From approved, until the offer expires.")),
    );
