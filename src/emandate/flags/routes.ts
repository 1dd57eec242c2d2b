import { route, routes } from "../../http/route.ts";
import { getMandateFlag, listMandateFlags, resolveMandateFlag } from "./service.ts";

export const mandateFlagRoutes = routes({ tag: "E-mandates", admits: "company" }, [
  route("GET /emandate/flags", listMandateFlags, {
    summary: "List flags for manual review",
    description:
      "Debits and mandates that a person must look at: the scheme's result cannot be applied, or never came. Newest first; status open lists what is left to do.",
  }),
  route("GET /emandate/flags/:id", getMandateFlag, { summary: "Get a flag" }),
  route("POST /emandate/flags/:id/resolve", resolveMandateFlag, {
    summary: "Resolve a flag",
    description: "Records the decision. Neither the payment nor the mandate changes.",
    errors: [409],
  }),
]);
