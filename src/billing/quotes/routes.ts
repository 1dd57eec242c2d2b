import { route, routes } from "../../http/route.ts";
import { quoteBillingModel } from "./service.ts";

export const quoteRoutes = routes({ tag: "Billing models", admits: "company", keeps_answers: false }, [
  route("POST /billing-models/quote", quoteBillingModel, {
    summary: "Quote a billing model",
    description:
      "What a stored model, or one that is sent along as POST /billing-models takes it, makes of a month's units, of quantities by its meters, or of what a subscription used in a month, by the functions that bill: a whole month without a trial, and with the fee of an interval that begins. curve has the total for other units. Nothing is written.",
    errors: [409, 503],
  }),
]);
