import { Elysia } from "elysia";
import type { Deps } from "../../app/deps.ts";
import { call } from "../../app/operation.ts";
import { listed, Nothing } from "../../core/schema.ts";
import { answers, data, dataOf, ErrorBody } from "../../http/answers.ts";
import { fromText, IdPath } from "../../http/params.ts";
import { session } from "../../http/session.ts";
import {
  CreateEmandateProduct,
  EmandateProduct,
  EmandateProductChange,
  ListEmandateProducts,
} from "./model.ts";
import {
  createEmandateProduct,
  deleteEmandateProduct,
  getEmandateProduct,
  listEmandateProducts,
  updateEmandateProduct,
} from "./service.ts";

export const emandateProductRoutes = (deps: Deps) =>
  new Elysia({ prefix: "/emandate/products", tags: ["E-mandates"] })
    .use(session(deps, "company"))
    .get("", ({ ctx, query }) => call(ctx, listEmandateProducts, query), {
      query: fromText(ListEmandateProducts),
      response: answers({ 200: listed(EmandateProduct) }),
      detail: {
        operationId: listEmandateProducts.name,
        summary: "List e-mandate products",
        description: "Whole, or one page when page or limit is given; search looks into codes and names.",
      },
    })
    .post(
      "",
      async ({ ctx, body, status }) => status(201, await data(call(ctx, createEmandateProduct, body))),
      {
        body: CreateEmandateProduct,
        response: answers({ 201: dataOf(EmandateProduct) }),
        detail: {
          operationId: createEmandateProduct.name,
          summary: "Create an e-mandate product",
          description:
            "Amounts are text, never numbers. A code is given once in a company, also where its product was deleted. Left out, max_no_debit is 1.",
        },
      },
    )
    .get("/:id", ({ ctx, params }) => data(call(ctx, getEmandateProduct, params)), {
      params: IdPath,
      response: answers({ 200: dataOf(EmandateProduct), 404: ErrorBody }),
      detail: { operationId: getEmandateProduct.name, summary: "Get an e-mandate product" },
    })
    .put("/:id", ({ ctx, params, body }) => data(call(ctx, updateEmandateProduct, { ...params, ...body })), {
      params: IdPath,
      body: EmandateProductChange,
      response: answers({ 200: dataOf(EmandateProduct), 404: ErrorBody }),
      detail: {
        operationId: updateEmandateProduct.name,
        summary: "Replace an e-mandate product",
        description:
          "Mandates keep what they were made with. The code stays once a mandate was made under it; is_active stays when it is left out.",
      },
    })
    .delete("/:id", ({ ctx, params }) => data(call(ctx, deleteEmandateProduct, params)), {
      params: IdPath,
      response: answers({ 200: dataOf(Nothing), 404: ErrorBody, 409: ErrorBody }),
      detail: {
        operationId: deleteEmandateProduct.name,
        summary: "Delete an e-mandate product",
        description: "Refused while a mandate that was made after it has not ended. Its code stays taken.",
      },
    });
