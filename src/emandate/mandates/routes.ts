import { route, routes } from "../../http/route.ts";
import {
  amendMandate,
  authorizeMandate,
  cancelMandate,
  createMandate,
  getMandate,
  listMandates,
  previewAmendment,
  resumeMandate,
  suspendMandate,
  terminateMandate,
  withdrawMandateRequest,
} from "./service.ts";

export const mandateRoutes = routes({ tag: "E-mandates", admits: "company" }, [
  route("GET /emandate/mandates", listMandates, {
    summary: "List mandates",
    description: "Newest first. search looks into the customer's name and email and the reference.",
  }),
  route("POST /emandate/mandates", createMandate, {
    summary: "Create a mandate",
    description:
      "The customer is found by email, and made when new; of a known one blanks are filled. Amount, frequency and debits a period follow from the product, which later changes of the product do not touch; without a product the scheme's own limit holds, and without an amount debits are made by hand only.",
    status: 201,
  }),
  route("GET /emandate/mandates/:id", getMandate, {
    summary: "Get a mandate",
    description: "With its last payments and what happened to it.",
  }),
  route("GET /emandate/mandates/:id/amend/preview", previewAmendment, {
    summary: "Preview an amendment",
    description:
      "What the mandate would say and when it would be collected, if the bank took the change today. Nobody is asked and nothing changes.",
    errors: [409],
  }),
  route("POST /emandate/mandates/:id/authorize", authorizeMandate, {
    summary: "Request a mandate's authorization",
    description:
      "The customer goes to authorization_url. One that failed may be asked for again; without an answer within 24 hours it fails.",
    errors: [409],
  }),
  route("POST /emandate/mandates/:id/suspend", suspendMandate, {
    summary: "Suspend a mandate",
    description: "Nothing is debited until it is resumed.",
    errors: [409],
  }),
  route("POST /emandate/mandates/:id/resume", resumeMandate, {
    summary: "Resume a mandate",
    description: "What came due while it was suspended is not collected later.",
    errors: [409],
  }),
  route("POST /emandate/mandates/:id/cancel", cancelMandate, {
    summary: "Cancel a mandate",
    description: "Only until the customer authorized it; one in force is terminated.",
    errors: [409],
  }),
  route("POST /emandate/mandates/:id/terminate", terminateMandate, {
    summary: "Terminate a mandate",
    description:
      "The bank is asked to end it; until it has, the mandate is pending_termination. Payments that are not yet submitted are cancelled.",
    errors: [409],
  }),
  route("POST /emandate/mandates/:id/withdraw", withdrawMandateRequest, {
    summary: "Withdraw a pending request to the bank",
    description:
      "Takes back an end, else a change, that the bank has not answered: the mandate stands as before. Nothing can be called back at the bank: an answer that comes all the same counts.",
    errors: [409],
  }),
  route("POST /emandate/mandates/:id/amend", amendMandate, {
    summary: "Amend a mandate",
    description:
      "The bank is asked to take a new amount, frequency or last day, at least one of them. The mandate stays as it is, with what was asked for in amendment, until the bank has answered.",
    status: 202,
    errors: [409],
  }),
]);
