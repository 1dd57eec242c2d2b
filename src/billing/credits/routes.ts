import { myRoutes, route, routes } from "../../http/route.ts";
import { listCredits } from "./list_credits.ts";
import { downgradeSubscription, getCredits, upgradeSubscription } from "./service.ts";

const CREDITS = [
  route("GET /credits", listCredits, {
    summary: "List the credits of all subscriptions",
    my: "List the credits of my subscriptions",
    description:
      "The running billing month of every subscription on a credit plan, those that have used most first, one page. runs_out_on is the day on which the credits run out if they are used as they were.",
    errors: [503],
  }),
  route("GET /subscriptions/:id/credits", getCredits, {
    summary: "Get a subscription's credits",
    my: "Get the credits of one of my subscriptions",
    description:
      "The running billing month's credits, by the same rule as its bill. 400 when the subscription is not credit-based.",
    errors: [400, 503],
  }),
  route("POST /subscriptions/:id/upgrade", upgradeSubscription, {
    summary: "Upgrade a credit plan",
    description:
      "At once, to a plan with more credits. credits_added is the difference, prorated by the days left in the month, today included, and rounded up. A waiting downgrade is cancelled.",
    errors: [409, 503],
  }),
  route("POST /subscriptions/:id/downgrade", downgradeSubscription, {
    summary: "Downgrade a credit plan",
    description:
      "From the next billing month on, to a plan with fewer credits: a scheduled change, which can be cancelled like any other. It replaces a waiting downgrade.",
    errors: [409, 503],
  }),
];

export const creditRoutes = routes({ tag: "Credits", admits: "company" }, CREDITS);
export const myCreditRoutes = myRoutes(CREDITS);
