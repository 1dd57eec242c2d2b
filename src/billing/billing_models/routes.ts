import { route, routes } from "../../http/route.ts";
import {
  createBillingModel,
  deleteBillingModel,
  getBillingModel,
  listBillingModels,
  listBillingTypes,
  updateBillingModel,
} from "./service.ts";

export const billingTypeRoutes = routes({ tag: "Billing models", admits: "company" }, [
  route("GET /billing-types", listBillingTypes, {
    summary: "List the billing types",
    description: "For each: the meaning of price, and the price fields it takes.",
  }),
]);

export const billingModelRoutes = routes({ tag: "Billing models", admits: "company" }, [
  route("GET /billing-models", listBillingModels, {
    summary: "List billing models",
    description: "The whole list, or one page when page or limit is given.",
  }),
  route("POST /billing-models", createBillingModel, {
    summary: "Create a billing model",
    description:
      "GET /billing-types lists the fields that each type takes. Decimals are read exactly from strings, and from numbers of at most 15 significant digits.",
    status: 201,
  }),
  route("GET /billing-models/:id", getBillingModel, { summary: "Get a billing model with its usage tiers" }),
  route("PUT /billing-models/:id", updateBillingModel, {
    summary: "Change a billing model",
    description:
      "Name and description at any time; the price only while no subscription has ever used it. Price fields that are left out stay as they are; 0, false, [] or null clears one.",
    errors: [409],
  }),
  route("DELETE /billing-models/:id", deleteBillingModel, {
    summary: "Delete a billing model",
    description: "Refused while subscriptions that have not ended use it.",
    errors: [409],
  }),
]);
