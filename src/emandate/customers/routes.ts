import { route, routes } from "../../http/route.ts";
import { getEmandateCustomer, listEmandateCustomers } from "./service.ts";

export const emandateCustomerRoutes = routes({ tag: "E-mandates", admits: "company" }, [
  route("GET /emandate/customers", listEmandateCustomers, {
    summary: "List e-mandate customers",
    description:
      "By id, one page at a time. search matches names and emails. IC numbers show only their last four digits.",
  }),
  route("GET /emandate/customers/:id", getEmandateCustomer, {
    summary: "Get an e-mandate customer",
    description: "With the whole IC number.",
  }),
]);
