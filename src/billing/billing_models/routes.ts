import { myRoutes, route, routes } from "../../http/route.ts";
import {
  copyBillingModel,
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

const BILLING_MODELS = [
  route("GET /billing-models", listBillingModels, {
    summary: "List billing models",
    my: "List the prices made for me",
    description:
      "The whole list, or one page when page or limit is given. plan_code finds the models of a price book, with currency the one of them; for_client_id those for one client.",
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
      "Name and description at any time; the price and for_client_id only while no subscription has ever used it. Fields that are left out stay as they are; 0, false, [] or null clears one.",
    errors: [409],
    if_match: true,
  }),
  route("DELETE /billing-models/:id", deleteBillingModel, {
    summary: "Delete a billing model",
    description: "Refused while subscriptions that have not ended use it.",
    errors: [409],
  }),
  route("POST /billing-models/:id/copy", copyBillingModel, {
    summary: "Copy a billing model for one client",
    description:
      "Only subscriptions of for_client_id can take the copy. Fields that are left out are the original's, but for plan_code.",
    status: 201,
  }),
];

export const billingModelRoutes = routes({ tag: "Billing models", admits: "company" }, BILLING_MODELS);
export const myBillingModelRoutes = myRoutes(BILLING_MODELS);
