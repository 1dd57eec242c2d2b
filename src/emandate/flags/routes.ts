import { route, routes } from "../../http/route.ts";
import { getMandateFlag, listMandateFlags, resolveMandateFlag } from "./service.ts";

export const mandateFlagRoutes = routes({ tag: "E-mandates", admits: "company" }, [
  route("GET /emandate/flags", listMandateFlags, {
    summary: "List flags for manual review",
    description:
      "Debits and mandates of which the scheme said something that can't be applied, or nothing at all. Newest first; status open is what is left to do.",
  }),
  route("GET /emandate/flags/:id", getMandateFlag, { summary: "Get a flag" }),
  route("POST /emandate/flags/:id/resolve", resolveMandateFlag, {
    summary: "Resolve a flag",
    description: "Notes what was decided. Neither the payment nor the mandate changes by it.",
    errors: [409],
  }),
]);
