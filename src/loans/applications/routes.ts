import { Type } from "@sinclair/typebox";
import { InvalidBody } from "../../http/errors.ts";
import { route, routes } from "../../http/route.ts";
import { Missing } from "./model.ts";
import {
  approveLoanApplication,
  disburseLoanApplication,
  rejectLoanApplication,
  requestLoanAction,
  reviewLoanApplication,
} from "./review.ts";
import {
  acceptLoanOffer,
  createLoanApplication,
  declineLoanOffer,
  deleteLoanApplication,
  getAgentApplication,
  getLoanApplication,
  listAgentApplications,
  listLoanApplications,
  submitLoanApplication,
  updateLoanApplication,
  withdrawLoanApplication,
} from "./service.ts";

/** The 422 of a submission: the rules that are broken, and everything that is missing. */
const SubmissionRefused = Type.Object(
  { ...InvalidBody.properties, missing: Type.Optional(Type.Array(Missing)) },
  { title: "SubmissionError" },
);

const FILTERS =
  "One page, newest first; search looks into references and borrowers' names, from (included) and to (not) into created_at. IC numbers are masked.";

export const lenderApplicationRoutes = routes({ tag: "Lending", admits: "lender" }, [
  route("GET /lender/applications", listLoanApplications, {
    summary: "List loan applications",
    description: `${FILTERS} Drafts are left out.`,
  }),
  route("GET /lender/applications/:id", getLoanApplication, {
    summary: "Get a loan application",
    description: "Also one that is a draft.",
  }),
  route("POST /lender/applications/:id/review", reviewLoanApplication, {
    summary: "Start reviewing a loan application",
    description: "From submitted.",
    errors: [409],
  }),
  route("POST /lender/applications/:id/request-action", requestLoanAction, {
    summary: "Request action on a loan application",
    description:
      "From under_review, for documents, consents or fields; the agent submits it again when they are there.",
    errors: [409],
  }),
  route("POST /lender/applications/:id/approve", approveLoanApplication, {
    summary: "Approve a loan application",
    description:
      "From under_review. The offer must be within the program; it expires at expires_at, or after 30 days. Of many calls at once one succeeds.",
    errors: [409],
  }),
  route("POST /lender/applications/:id/reject", rejectLoanApplication, {
    summary: "Reject a loan application",
    description: "From under_review.",
    errors: [409],
  }),
  route("POST /lender/applications/:id/disburse", disburseLoanApplication, {
    summary: "Record a loan's disbursement",
    description: "From accepted. disbursed_at is now unless told, and not in the future.",
    errors: [409],
  }),
]);

export const agentApplicationRoutes = routes({ tag: "Borrowing", admits: "agent" }, [
  route("GET /agent/applications", listAgentApplications, {
    summary: "List the agent's loan applications",
    description: FILTERS,
  }),
  route("POST /agent/applications", createLoanApplication, {
    summary: "Create a loan application",
    description:
      "As a draft. Formats are checked; the program's ranges, age, income, documents and consents when it is submitted. external_reference is the agent's own, unique among its applications.",
    status: 201,
    errors: [409],
  }),
  route("GET /agent/applications/:id", getAgentApplication, {
    summary: "Get one of the agent's loan applications",
  }),
  route("PUT /agent/applications/:id", updateLoanApplication, {
    summary: "Change a loan application",
    description:
      "In draft or action_required. What is left out stays as it is; borrower and answers are replaced as a whole.",
    errors: [409],
  }),
  route("DELETE /agent/applications/:id", deleteLoanApplication, {
    summary: "Delete a loan application",
    description: "Only a draft.",
    errors: [409],
  }),
  route("POST /agent/applications/:id/submit", submitLoanApplication, {
    summary: "Submit a loan application",
    description:
      "From draft, or from action_required back to the review. A 422 names the program's rules that it breaks in details, and every document, consent and field that is not there in missing.",
    errors: [409],
    refused: SubmissionRefused,
  }),
  route("POST /agent/applications/:id/withdraw", withdrawLoanApplication, {
    summary: "Withdraw a loan application",
    description: "Until an offer was accepted.",
    errors: [409],
  }),
  route("POST /agent/applications/:id/accept", acceptLoanOffer, {
    summary: "Accept an offer",
    description: "From approved, until the offer expires.",
    errors: [409],
  }),
  route("POST /agent/applications/:id/decline", declineLoanOffer, {
    summary: "Decline an offer",
    description: "From approved, until the offer expires.",
    errors: [409],
  }),
]);
