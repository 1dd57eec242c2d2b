import { myRoutes, route, routes } from "../../http/route.ts";
import { getSpendLimit, removeSpendLimit, setSpendLimit } from "./service.ts";

const SPEND_LIMITS = [
  route("GET /subscriptions/:id/spend-limit", getSpendLimit, {
    summary: "Get a subscription's spend limits",
    my: "Get the spend limits of one of my subscriptions",
    description:
      "The company's and the client's own, with what the running period has come to, as its preview has it, and when that was rated.",
  }),
  route("PUT /subscriptions/:id/spend-limit", setSpendLimit, {
    summary: "Set a subscription's spend limit",
    my: "Set my own spend limit of one of my subscriptions",
    description:
      "Once the running charges have come to a hard limit checks refuse, within seconds after the usage; a soft one is told of. Both limits hold, the company's and the client's own, which is at most the company's.",
  }),
  route("DELETE /subscriptions/:id/spend-limit", removeSpendLimit, {
    summary: "Take a subscription's spend limit away",
    my: "Take my own spend limit away",
    description: "The company's; the client's own stays.",
  }),
];

export const spendLimitRoutes = routes({ tag: "Entitlements", admits: "company" }, SPEND_LIMITS);
export const mySpendLimitRoutes = myRoutes(SPEND_LIMITS);
