import { Elysia } from "elysia";
import type { Deps } from "../../app/deps.ts";
import { call } from "../../app/operation.ts";
import { paged } from "../../core/schema.ts";
import { answers, data, dataOf, ErrorBody } from "../../http/answers.ts";
import { fromText, IdPath } from "../../http/params.ts";
import { session } from "../../http/session.ts";
import { EmandateCustomer, ListEmandateCustomers } from "./model.ts";
import { getEmandateCustomer, listEmandateCustomers } from "./service.ts";

export const emandateCustomerRoutes = (deps: Deps) =>
  new Elysia({ prefix: "/emandate/customers", tags: ["E-mandates"] })
    .use(session(deps, "company"))
    .get("", ({ ctx, query }) => call(ctx, listEmandateCustomers, query), {
      query: fromText(ListEmandateCustomers),
      response: answers({ 200: paged(EmandateCustomer) }),
      detail: {
        operationId: listEmandateCustomers.name,
        summary: "List e-mandate customers",
        description:
          "By id, always one page; search looks into names and emails. IC numbers are masked but for their last four digits.",
      },
    })
    .get("/:id", ({ ctx, params }) => data(call(ctx, getEmandateCustomer, params)), {
      params: IdPath,
      response: answers({ 200: dataOf(EmandateCustomer), 404: ErrorBody }),
      detail: {
        operationId: getEmandateCustomer.name,
        summary: "Get an e-mandate customer",
        description: "With the whole IC number.",
      },
    });
