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
    description:
      "The whole list, or one page when page or limit is given; search looks into names and external ids.",
  }),
  route("POST /subscriptions", createSubscription, {
    summary: "Create a subscription",
    description:
      "It starts now, or at started_at, at most 10 years in the past or 100 in the future. past_periods is the number of billing periods that have ended since: the next billing run bills them.",
    status: 201,
  }),
  route("GET /subscriptions/:id", getSubscription, {
    summary: "Get a subscription with its relations",
    my: "Get one of my subscriptions",
  }),
  route("PUT /subscriptions/:id", updateSubscription, { summary: "Rename a subscription", if_match: true }),
  route("POST /subscriptions/:id/cancel", cancelSubscription, {
    summary: "Cancel a subscription",
    description:
      "Now, or at the end of the running billing period; now also brings a later end forward. 409 when it has ended.",
    errors: [409],
  }),
];

export const subscriptionRoutes = routes({ tag: "Subscriptions", admits: "company" }, SUBSCRIPTIONS);
export const mySubscriptionRoutes = myRoutes(SUBSCRIPTIONS);
