import { route, routes } from "../../http/route.ts";
import {
  cancelMandate,
  createMandate,
  getMandate,
  listMandates,
  resumeMandate,
  suspendMandate,
} from "./service.ts";
import {
  amendMandate,
  authorizeMandate,
  previewAmendment,
  terminateMandate,
  withdrawMandateRequest,
} from "./request_service.ts";

export const mandateRoutes = routes({ tag: "E-mandates", admits: "company" }, [
  route("GET /emandate/mandates", listMandates, {
    summary: "List mandates",
    description: "Newest first. search matches the customer's name and email, and the reference.",
  }),
  route("POST /emandate/mandates", createMandate, {
    summary: "Create a mandate",
    description:
      "The customer is found by email, or created; a known customer's empty fields are filled. Amount, frequency and debits per period follow from the product as it is now. Without a product the scheme's own limit holds, and without an amount debits are made by hand only.",
    status: 201,
  }),
  route("GET /emandate/mandates/:id", getMandate, {
    summary: "Get a mandate",
    description: "With its last payments and its history.",
  }),
  route("GET /emandate/mandates/:id/amend/preview", previewAmendment, {
    summary: "Preview an amendment",
    description:
      "The terms and the next collection days, if the bank agreed today. Nothing is sent and nothing changes.",
    errors: [409],
  }),
  route("POST /emandate/mandates/:id/authorize", authorizeMandate, {
    summary: "Request a mandate's authorization",
    description:
      "Send the customer to authorization_url. Without an authorization within 24 hours it fails, and a failed one can be requested again.",
    errors: [409],
  }),
  route("POST /emandate/mandates/:id/suspend", suspendMandate, {
    summary: "Suspend a mandate",
    description: "Nothing is debited until it is resumed.",
    errors: [409],
  }),
  route("POST /emandate/mandates/:id/resume", resumeMandate, {
    summary: "Resume a mandate",
    description: "Collections that fell due while it was suspended are not made up for.",
    errors: [409],
  }),
  route("POST /emandate/mandates/:id/cancel", cancelMandate, {
    summary: "Cancel a mandate",
    description: "Only before the customer has authorized it; a mandate in force is terminated instead.",
    errors: [409],
  }),
  route("POST /emandate/mandates/:id/terminate", terminateMandate, {
    summary: "Terminate a mandate",
    description:
      "Asks the bank to end it; the mandate is pending_termination until it has. Payments that are not yet submitted are cancelled.",
    errors: [409],
  }),
  route("POST /emandate/mandates/:id/withdraw", withdrawMandateRequest, {
    summary: "Withdraw a pending request to the bank",
    description:
      "Withdraws a termination, else an amendment, that the bank has not answered; the mandate returns to its state before. The bank cannot be told: an answer that comes all the same counts.",
    errors: [409],
  }),
  route("POST /emandate/mandates/:id/amend", amendMandate, {
    summary: "Amend a mandate",
    description:
      "Asks the bank for a new amount, frequency or last day, at least one of them. Until the bank answers, the mandate stays as it is, with the request in amendment.",
    status: 202,
    errors: [409],
  }),
]);
