import { myRoutes, route, routes } from "../../http/route.ts";
import {
  cancelBillingModelChange,
  createBillingModelChange,
  listBillingModelChanges,
  voidBillingModelChange,
} from "./service.ts";

const CHANGES = [
  route("GET /subscriptions/:id/billing-model-changes", listBillingModelChanges, {
    summary: "List a subscription's billing model changes",
    my: "List one of my subscriptions' billing model changes",
    description:
      "Scheduled, applied and cancelled ones, ordered by effective_at. Whole, or one page when page or limit is given.",
  }),
  route("POST /subscriptions/:id/billing-model-changes", createBillingModelChange, {
    summary: "Change a subscription's billing model",
    description:
      "With effective_at now or in the past the change is applied before the answer: periods that are closed already are adjusted, and their adjustments named in adjustment_billing_record_ids. With effective_at in the future it is scheduled, and applied when its time comes.",
    errors: [409, 503],
  }),
  route("DELETE /subscriptions/:id/billing-model-changes/:changeId", cancelBillingModelChange, {
    summary: "Cancel a scheduled billing model change",
    description:
      "Only while it is scheduled: an applied or cancelled one answers 404. A scheduled change after it that would then turn to the model already in force is cancelled with it.",
  }),
  route("POST /subscriptions/:id/billing-model-changes/:changeId/void", voidBillingModelChange, {
    summary: "Void an applied billing model change",
    description:
      "The subscription is billed as if the change had not been made: periods that are closed already are adjusted, credits that it added are gone, and what was used of them is overage. The change is then cancelled, with voided_at; an applied change after it that would turn to the model already in force is voided with it, a scheduled one cancelled. 409 when it is not applied, or when a billing model that was deleted would be in force again.",
    errors: [409, 503],
  }),
];

export const billingModelChangeRoutes = routes({ tag: "Billing model changes", admits: "company" }, CHANGES);
export const myBillingModelChangeRoutes = myRoutes(CHANGES);
