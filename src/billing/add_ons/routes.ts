import { route, routes } from "../../http/route.ts";
import { createAddOn, deleteAddOn, getAddOn, listAddOns, updateAddOn } from "./service.ts";

export const addOnRoutes = routes({ tag: "Add-ons", admits: "company" }, [
  route("GET /add-ons", listAddOns, {
    summary: "List add-ons",
    description: "The whole list, or one page when page or limit is given.",
  }),
  route("POST /add-ons", createAddOn, {
    summary: "Create an add-on",
    description:
      "charge is a charge as billing models have them, without code, name and quantity: fixed is so much a month, the other types charge what a meter counts.",
    status: 201,
  }),
  route("GET /add-ons/:id", getAddOn, { summary: "Get an add-on" }),
  route("PUT /add-ons/:id", updateAddOn, {
    summary: "Change an add-on",
    description:
      "The name at any time; code, currency and charge only while no subscription has ever booked it. What is left out stays as it is.",
    errors: [409],
    if_match: true,
  }),
  route("DELETE /add-ons/:id", deleteAddOn, {
    summary: "Delete an add-on",
    description: "Refused while active subscriptions have it.",
    errors: [409],
  }),
]);
