import { myRoutes, route, routes } from "../../http/route.ts";
import {
  addSubscriptionAddOn,
  changeSubscriptionAddOn,
  listSubscriptionAddOns,
  removeSubscriptionAddOn,
} from "./service.ts";

const SUBSCRIPTION_ADD_ONS = [
  route("GET /subscriptions/:id/add-ons", listSubscriptionAddOns, {
    summary: "List a subscription's add-ons",
    my: "List the add-ons of one of my subscriptions",
    description:
      "Its bookings, ended ones too, by their beginning. The whole list, or one page when page or limit is given.",
  }),
  route("POST /subscriptions/:id/add-ons", addSubscriptionAddOn, {
    summary: "Book an add-on for a subscription",
    description:
      "From now, or from an instant of its life on; until ends it, to the instant. Closed periods are adjusted, and adjustment_billing_record_ids names the adjustments. To change a quantity from some day on, end the booking and make another.",
    status: 201,
    errors: [409, 503],
  }),
  route("PUT /subscriptions/:id/add-ons/:bookingId", changeSubscriptionAddOn, {
    summary: "Change a subscription's add-on",
    description:
      "From its beginning on, as if it had been booked so; what is left out stays, until null is for good. One that ends where it begins is charged nowhere. Closed periods are adjusted.",
    errors: [409, 503],
  }),
  route("DELETE /subscriptions/:id/add-ons/:bookingId", removeSubscriptionAddOn, {
    summary: "Remove a subscription's add-on",
    description: "It ends now; one that has not begun never does. 409 when it has ended.",
    errors: [409, 503],
  }),
];

export const subscriptionAddOnRoutes = routes({ tag: "Add-ons", admits: "company" }, SUBSCRIPTION_ADD_ONS);
export const mySubscriptionAddOnRoutes = myRoutes(SUBSCRIPTION_ADD_ONS);
