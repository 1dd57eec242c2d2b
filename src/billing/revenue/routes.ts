import { route, routes } from "../../http/route.ts";
import { reportRevenue } from "./service.ts";

export const revenueRoutes = routes({ tag: "Billing", admits: "company" }, [
  route("GET /revenue", reportRevenue, {
    summary: "Report what was billed",
    description:
      "The sums of the records whose periods begin in a range of time, adjustments counted with the period that they adjust: by currency, and by client, product, billing model, subscription or kind. from and to, or relative, or month; the last twelve months unless given. Months are cut as bills were, by the company's time zone.",
  }),
]);
