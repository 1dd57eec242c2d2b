import { route, routes } from "../../http/route.ts";
import { getCompany, updateCompany } from "./service.ts";

export const companyRoutes = routes({ tag: "Company", admits: "company" }, [
  route("GET /company", getCompany, { summary: "Get the company" }),
  route("PUT /company", updateCompany, {
    summary: "Update the company",
    description: "A new time zone applies from the next billing period.",
    if_match: true,
  }),
]);
