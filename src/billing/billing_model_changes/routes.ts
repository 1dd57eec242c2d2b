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
      "Scheduled, applied and cancelled ones, ordered by effective_at. The whole list, or one page when page or limit is given.",
  }),
  route("POST /subscriptions/:id/billing-model-changes", createBillingModelChange, {
    summary: "Change a subscription's billing model",
    description:
      "With effective_at now or in the past the change is applied before the response: closed periods are adjusted, and adjustment_billing_record_ids names the adjustments. With effective_at in the future it is scheduled, and applied when it is due.",
    errors: [409, 503],
  }),
  route("DELETE /subscriptions/:id/billing-model-changes/:changeId", cancelBillingModelChange, {
    summary: "Cancel a scheduled billing model change",
    description:
      "404 when it has been applied or cancelled. A scheduled change after it that would then lead to the model already in force is cancelled too.",
  }),
  route("POST /subscriptions/:id/billing-model-changes/:changeId/void", voidBillingModelChange, {
    summary: "Void an applied billing model change",
    description:
      "The subscription is billed as if the change had never been made: closed periods are adjusted, credits that it added are removed, and those already used become overage. The change becomes cancelled, with voided_at. A later change that would then lead to the model already in force is voided too, or cancelled if it is scheduled. 409 when the change is not applied, or when a deleted billing model would be in force again.",
    errors: [409, 503],
  }),
];

export const billingModelChangeRoutes = routes({ tag: "Billing model changes", admits: "company" }, CHANGES);
export const myBillingModelChangeRoutes = myRoutes(CHANGES);
