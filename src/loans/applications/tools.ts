import { Type } from "@sinclair/typebox";
import { call } from "../../app/operation.ts";
import { may } from "../../core/access.ts";
import { Id, oneOf, paged } from "../../core/schema.ts";
import { Consent } from "../consents/model.ts";
import { listConsents } from "../consents/service.ts";
import { LoanDocument } from "../documents/model.ts";
import { listLoanDocuments } from "../documents/service.ts";
import { data, dataOf } from "../../http/responses.ts";
import { page } from "../../mcp/params.ts";
import { action, saver } from "../../mcp/shapes.ts";
import { describe } from "../../mcp/wire_schema.ts";
import { application_id, loanTool, program_id } from "../tools.ts";
import { LoanApplication } from "./model.ts";
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
  getLoanApplication,
  listAgentApplications,
  listLoanApplications,
  submitLoanApplication,
  updateLoanApplication,
  withdrawLoanApplication,
} from "./service.ts";

/** Fields of detailed results only: the program's terms, times and personal data. */
const DETAILS = [
  "environment",
  "program_snapshot",
  "answers",
  "agent_client_id",
  "purpose",
  "ic_number",
  "registration_number",
  "email",
  "phone",
  "submitted_at",
  "under_review_at",
  "action_required_at",
  "approved_at",
  "rejected_at",
  "accepted_at",
  "declined_at",
  "withdrawn_at",
  "expired_at",
  "disbursed_at",
];

const filter = listAgentApplications.input.properties;

const findApplications = loanTool({
  name: "loan_find_applications",
  title: "Find loan applications",
  description: "Lists loan applications, newest first. loan_get_application shows one in full.",
  finds: ["application_id"],
  operations: [listLoanApplications],
  details: DETAILS,
  input: {
    status: describe(filter.status, "Only in this state"),
    program_id: Type.Optional(program_id),
    missing: describe(filter.missing, "Only those that wait for such things"),
    search: describe(filter.search, "Text in a reference or a borrower's name"),
    from: describe(filter.from, "Created at or after"),
    to: describe(filter.to, "Created before"),
    ...page,
  },
  output: paged(LoanApplication),
  // A loan officer sees no drafts, as on REST.
  run: (ctx, query) =>
    call(ctx, may(ctx.actor, "borrowing:read") ? listAgentApplications : listLoanApplications, query),
});

const getApplication = loanTool({
  name: "loan_get_application",
  title: "Get a loan application",
  description:
    "Shows one application: what is missing, decision, offer, documents and consents. detailed adds the program's terms, answers, times, evidence and personal data.",
  finds: ["document_id", "consent_id"],
  operations: [getLoanApplication, listLoanDocuments, listConsents],
  details: [
    ...DETAILS,
    "sha256",
    "text_sha256",
    "size",
    "uploaded_by",
    "evidence",
    "subject_name",
    "subject_ic_last4",
    "application_id",
  ],
  input: { application_id },
  output: dataOf(
    Type.Object({
      ...LoanApplication.properties,
      documents: Type.Array(LoanDocument),
      consents: Type.Array(Consent),
    }),
  ),
  async run(ctx, { application_id: id }) {
    const [application, documents, consents] = await Promise.all([
      call(ctx, getLoanApplication, { id }),
      call(ctx, listLoanDocuments, { id }),
      call(ctx, listConsents, { id }),
    ]);
    return { data: { ...application, documents: documents.data, consents: consents.data } };
  },
});

const fields = updateLoanApplication.input.properties;

const saveApplication = loanTool({
  name: "loan_save_application",
  title: "Create or change a loan application",
  description:
    "Creates an application as a draft, or changes one in draft or action_required: fields left out keep their value. A new one needs program_id, borrower, amount and tenor_months. Then loan_advance_application.",
  ...saver("application_id", createLoanApplication, updateLoanApplication),
  takes_request_id: true,
  details: DETAILS,
  input: {
    application_id: Type.Optional(describe(Id, "The one to change; omit it to create one")),
    program_id: Type.Optional(program_id),
    external_reference: describe(fields.external_reference, "Your own id for it"),
    borrower: describe(fields.borrower, "The borrower; replaces the current one"),
    amount: describe(fields.amount, "In the program's currency"),
    tenor_months: describe(fields.tenor_months, "Months"),
    purpose: describe(fields.purpose, "What the loan is for"),
    answers: describe(fields.answers, "To the program's form, by field name"),
  },
});

const STEPS = { submit: submitLoanApplication, accept_offer: acceptLoanOffer };

const advanceApplication = loanTool({
  name: "loan_advance_application",
  title: "Advance a loan application",
  description:
    "submit sends one in draft or action_required to the lender; an error names all that is missing (documents are uploaded over REST). accept_offer: only when the borrower has said so.",
  operations: Object.values(STEPS),
  details: DETAILS,
  input: { application_id, step: describe(oneOf(["submit", "accept_offer"]), "Which step") },
  output: dataOf(LoanApplication),
  run: (ctx, { application_id: id, step }) => data(call(ctx, STEPS[step], { id })),
});

const startReview = loanTool({
  name: "loan_start_review",
  title: "Start a loan review",
  description: "Takes a submitted application under review.",
  ...action(reviewLoanApplication, "application_id"),
  details: DETAILS,
  input: { application_id },
});

const requestAction = loanTool({
  name: "loan_request_action",
  title: "Send a loan application back",
  description: "Sends one under review back to the borrower, who supplies the items and submits again.",
  ...action(requestLoanAction, "application_id"),
  details: DETAILS,
  input: { application_id, items: describe(requestLoanAction.input.properties.items, "What is requested") },
});

const offered = approveLoanApplication.input.properties;

const approveApplication = loanTool({
  name: "loan_approve_application",
  title: "Approve a loan application",
  description:
    "Approves one under review with an offer within its program's ranges; the instalment is calculated. Ask the person for the terms.",
  ...action(approveLoanApplication, "application_id"),
  details: DETAILS,
  input: {
    application_id,
    amount: describe(offered.amount, "Offered amount"),
    tenor_months: describe(offered.tenor_months, "Months"),
    annual_rate: describe(offered.annual_rate, "Annual rate"),
    expires_at: describe(offered.expires_at, "Default: in 30 days"),
  },
});

const rejectApplication = loanTool({
  name: "loan_reject_application",
  title: "Reject a loan application",
  description: "Rejects one under review, for good. Ask the person first.",
  ...action(rejectLoanApplication, "application_id"),
  is_destructive: true,
  details: DETAILS,
  input: {
    application_id,
    reason_code: describe(rejectLoanApplication.input.properties.reason_code, "Why"),
    note: describe(rejectLoanApplication.input.properties.note, "A note"),
  },
});

const ENDINGS = { withdraw: withdrawLoanApplication, decline_offer: declineLoanOffer };

const endApplication = loanTool({
  name: "loan_end_application",
  title: "Withdraw or decline",
  description: "Ends an application for good, as the borrower wants it. Ask the person first.",
  operations: Object.values(ENDINGS),
  is_destructive: true,
  details: DETAILS,
  input: { application_id, how: describe(oneOf(["withdraw", "decline_offer"]), "Which of these") },
  output: dataOf(LoanApplication),
  run: (ctx, { application_id: id, how }) => data(call(ctx, ENDINGS[how], { id })),
});

const disburseApplication = loanTool({
  name: "loan_disburse_application",
  title: "Record a loan's disbursement",
  description:
    "Records that an accepted loan was paid out. It can't be undone and moves no money. Ask the person first.",
  ...action(disburseLoanApplication, "application_id"),
  is_destructive: true,
  details: DETAILS,
  input: {
    application_id,
    reference: describe(disburseLoanApplication.input.properties.reference, "The payment's reference"),
    disbursed_at: describe(disburseLoanApplication.input.properties.disbursed_at, "Default: now"),
  },
  async asks(ctx, { application_id: id, reference: paid_under }) {
    const { reference, borrower, offer, program_snapshot } = await call(ctx, getLoanApplication, { id });
    const amount = offer === null ? "" : ` ${program_snapshot.currency} ${offer.amount}`;
    return `Records that the loan${amount} of ${reference} was paid out to ${borrower.name}, as ${paid_under}. It can't be undone.`;
  },
});

export const loanApplicationTools = [
  findApplications,
  getApplication,
  saveApplication,
  advanceApplication,
  startReview,
  requestAction,
  approveApplication,
  rejectApplication,
  endApplication,
  disburseApplication,
];
