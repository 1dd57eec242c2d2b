import { myRoutes, route, routes } from "../../http/route.ts";
import {
  cancelSubscription,
  createSubscription,
  getSubscription,
  listSubscriptions,
  updateSubscription,
} from "./service.ts";

const SUBSCRIPTIONS = [
  route("GET /subscriptions", listSubscriptions, {
    summary: "List subscriptions with their relations",
    my: "List my subscriptions",
    description: "Whole, or one page when page or limit is given; search looks into names and external ids.",
  }),
  route("POST /subscriptions", createSubscription, {
    summary: "Create a subscription",
    description:
      "It starts now unless started_at says otherwise, at most 10 years in the past or 100 in the future. past_periods says how many billing periods have ended since: the next billing run bills them.",
    status: 201,
  }),
  route("GET /subscriptions/:id", getSubscription, {
    summary: "Get a subscription with its relations",
    my: "Get one of my subscriptions",
  }),
  route("PUT /subscriptions/:id", updateSubscription, { summary: "Rename a subscription" }),
  route("POST /subscriptions/:id/cancel", cancelSubscription, {
    summary: "Cancel a subscription",
    description:
      "Now, or at the end of the running billing period; now also brings a coming end forward. Refused when it has ended.",
    errors: [409],
  }),
];

export const subscriptionRoutes = routes({ tag: "Subscriptions", admits: "company" }, SUBSCRIPTIONS);
export const mySubscriptionRoutes = myRoutes(SUBSCRIPTIONS);
