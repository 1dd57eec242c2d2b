import { Type } from "@sinclair/typebox";
import { getEmandateCustomer, listEmandateCustomers } from "./service.ts";
import { search } from "../../mcp/params.ts";
import { finder } from "../../mcp/shapes.ts";
import { tool } from "../../mcp/tool.ts";
import { describe } from "../../mcp/wire_schema.ts";
import { customer_id, emandate_page } from "../tools.ts";

const findCustomers = tool({
  name: "emandate_find_customers",
  title: "Find customers with mandates",
  description:
    "Finds the people to debit by text in name or email, or one by its id. Start here when a person is named; then call emandate_find_mandates with the customer_id.",
  ...finder("customer_id", listEmandateCustomers, getEmandateCustomer),
  // Personal data is returned only on request.
  details: ["ic_number"],
  input: {
    customer_id: Type.Optional(customer_id),
    search: describe(search, "Text in the name or email"),
    ...emandate_page,
  },
});

export const emandateCustomerTools = [findCustomers];
