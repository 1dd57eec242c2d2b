import { Type } from "@sinclair/typebox";
import { InvalidBody } from "../../http/errors.ts";
import { lendingRoutes, route, routes } from "../../http/route.ts";
import { Missing } from "./model.ts";
import {
  approveLoanApplication,
  disburseLoanApplication,
  previewLoanOffer,
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

/** The 422 of a submission: the broken rules, and everything missing. */
const SubmissionRefused = Type.Object(
  { ...InvalidBody.properties, missing: Type.Optional(Type.Array(Missing)) },
  { title: "SubmissionError" },
);

const FILTERS =
  "One page, newest first. search matches references and borrowers' names; from (inclusive) and to (exclusive) filter by created_at. IC numbers are masked.";

const lenderRows = [
  route("GET /lender/applications", listLoanApplications, {
    summary: "List loan applications",
    description: `${FILTERS} Drafts are not listed.`,
  }),
  route("GET /lender/applications/:id", getLoanApplication, {
    summary: "Get a loan application",
    description: "Drafts included.",
  }),
  route("POST /lender/applications/:id/review", reviewLoanApplication, {
    summary: "Start reviewing a loan application",
    description: "From status submitted.",
    errors: [409],
  }),
  route("POST /lender/applications/:id/request-action", requestLoanAction, {
    summary: "Request action on a loan application",
    description:
      "From status under_review, for documents, consents or fields; the loan agent supplies them and submits it again.",
    errors: [409],
  }),
  route("POST /lender/applications/:id/approve", approveLoanApplication, {
    summary: "Approve a loan application",
    description:
      "From status under_review. The offer must be within the program's ranges; it expires at expires_at, by default in 30 days. Of concurrent calls, one succeeds.",
    errors: [409],
  }),
  route("POST /lender/applications/:id/approve/preview", previewLoanOffer, {
    summary: "Preview the offer of an approval",
    description:
      "With its instalment, by the terms that the application was submitted under. Nothing is written.",
  }),
  route("POST /lender/applications/:id/reject", rejectLoanApplication, {
    summary: "Reject a loan application",
    description: "From status under_review.",
    errors: [409],
  }),
  route("POST /lender/applications/:id/disburse", disburseLoanApplication, {
    summary: "Record a loan's disbursement",
    description: "From status accepted. disbursed_at defaults to now and cannot be in the future.",
    errors: [409],
  }),
];

export const lenderApplicationRoutes = routes({ tag: "Lending", admits: "lender" }, lenderRows);
export const lendingApplicationRoutes = lendingRoutes(lenderRows);

export const agentApplicationRoutes = routes({ tag: "Borrowing", admits: "agent" }, [
  route("GET /agent/applications", listAgentApplications, {
    summary: "List the loan agent's applications",
    description: FILTERS,
  }),
  route("POST /agent/applications", createLoanApplication, {
    summary: "Create a loan application",
    description:
      "Creates a draft. Formats are checked now; the program's ranges, age, income, documents and consents on submission. external_reference is your own id, unique among the loan agent's applications.",
    status: 201,
    errors: [409],
  }),
  route("GET /agent/applications/:id", getAgentApplication, {
    summary: "Get one of the loan agent's applications",
  }),
  route("PUT /agent/applications/:id", updateLoanApplication, {
    summary: "Change a loan application",
    description:
      "In status draft or action_required. Fields left out keep their value; borrower and answers are replaced as a whole.",
    errors: [409],
    if_match: true,
  }),
  route("DELETE /agent/applications/:id", deleteLoanApplication, {
    summary: "Delete a loan application",
    description: "Only drafts can be deleted.",
    errors: [409],
  }),
  route("POST /agent/applications/:id/submit", submitLoanApplication, {
    summary: "Submit a loan application",
    description:
      "From status draft, or from action_required back to under_review. A 422 lists the broken rules of the program in details, and every missing document, consent and field in missing.",
    errors: [409],
    refused: SubmissionRefused,
  }),
  route("POST /agent/applications/:id/withdraw", withdrawLoanApplication, {
    summary: "Withdraw a loan application",
    description: "Possible until an offer is accepted.",
    errors: [409],
  }),
  route("POST /agent/applications/:id/accept", acceptLoanOffer, {
    summary: "Accept an offer",
    description: "From status approved, until the offer expires.",
    errors: [409],
  }),
  route("POST /agent/applications/:id/decline", declineLoanOffer, {
    summary: "Decline an offer",
    description: "From status approved, until the offer expires.",
    errors: [409],
  }),
]);
