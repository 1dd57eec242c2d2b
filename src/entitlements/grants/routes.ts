import { myRoutes, route, routes } from "../../http/route.ts";
import { listEntitlements, removeEntitlement, setEntitlement } from "./service.ts";

const ENTITLEMENTS = [
  route("GET /subscriptions/:id/entitlements", listEntitlements, {
    summary: "List a subscription's entitlements with their use",
    my: "List the entitlements of one of my subscriptions with their use",
    description:
      "Those of its billing model, and in their place its own. Of a limit per a group key the values that are used are in groups.",
  }),
  route("PUT /subscriptions/:id/entitlements/:code", setEntitlement, {
    summary: "Give a subscription entitlements of its own to a feature",
    description:
      "In place of its billing model's and of its own before: one, or several limits of different windows in entitlements.",
  }),
  route("DELETE /subscriptions/:id/entitlements/:code", removeEntitlement, {
    summary: "Take a subscription's own entitlements to a feature away",
    description: "Those of its billing model count again.",
  }),
];

export const entitlementRoutes = routes({ tag: "Entitlements", admits: "company" }, ENTITLEMENTS);
export const myEntitlementRoutes = myRoutes(ENTITLEMENTS);
