import { route, routes } from "../../http/route.ts";
import { getBillingProfile, saveBillingProfile } from "./service.ts";

export const billingProfileRoutes = routes({ tag: "Clients", admits: "company" }, [
  route("GET /clients/:id/billing-profile", getBillingProfile, { summary: "Get how a client is billed" }),
  route("PUT /clients/:id/billing-profile", saveBillingProfile, {
    summary: "Save how a client is billed",
    description:
      "With interim_at, an amount in currency (the company's by default): when the usage of the client's running periods costs so much, the next billing run bills it in records of kind interim. A full replacement: what is left out is unset.",
    if_match: true,
  }),
]);
