import { route, routes } from "../../http/route.ts";
import { createFeature, deleteFeature, getFeature, listFeatures, updateFeature } from "./service.ts";

export const featureRoutes = routes({ tag: "Entitlements", admits: "company" }, [
  route("GET /features", listFeatures, {
    summary: "List features",
    description: "The whole list, or one page when page or limit is given.",
  }),
  route("POST /features", createFeature, {
    summary: "Create a feature",
    description:
      "Something that plans grant: a switch, a value, or a limit on what a meter counts; without a meter on all usage.",
    status: 201,
  }),
  route("GET /features/:id", getFeature, { summary: "Get a feature" }),
  route("PUT /features/:id", updateFeature, {
    summary: "Change a feature",
    description:
      "What is left out stays. Its kind and its meter are frozen once a billing model or a subscription has an entitlement to it.",
    errors: [409],
    if_match: true,
  }),
  route("DELETE /features/:id", deleteFeature, {
    summary: "Delete a feature",
    description: "Refused while a billing model or a subscription has an entitlement to it.",
    errors: [409],
  }),
]);
