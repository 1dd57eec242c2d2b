import { Elysia } from "elysia";
import type { Deps } from "../../app/deps.ts";
import { call } from "../../app/operation.ts";
import { listed, Nothing } from "../../core/schema.ts";
import { answers, data, dataOf, ErrorBody } from "../../http/answers.ts";
import { fromText, IdPath } from "../../http/params.ts";
import { session } from "../../http/session.ts";
import { CreateProduct, ListProducts, Product } from "./model.ts";
import { createProduct, deleteProduct, getProduct, listProducts, updateProduct } from "./service.ts";

export const productRoutes = (deps: Deps) =>
  new Elysia({ prefix: "/products", tags: ["Products"] })
    .use(session(deps, "company"))
    .get("", ({ ctx, query }) => call(ctx, listProducts, query), {
      query: fromText(ListProducts),
      response: answers({ 200: listed(Product) }),
      detail: {
        operationId: listProducts.name,
        summary: "List products",
        description: "Whole, or one page when page or limit is given.",
      },
    })
    .post("", async ({ ctx, body, status }) => status(201, await data(call(ctx, createProduct, body))), {
      body: CreateProduct,
      response: answers({ 201: dataOf(Product) }),
      detail: { operationId: createProduct.name, summary: "Create a product" },
    })
    .get("/:id", ({ ctx, params }) => data(call(ctx, getProduct, params)), {
      params: IdPath,
      response: answers({ 200: dataOf(Product), 404: ErrorBody }),
      detail: { operationId: getProduct.name, summary: "Get a product" },
    })
    .put("/:id", ({ ctx, params, body }) => data(call(ctx, updateProduct, { ...params, ...body })), {
      params: IdPath,
      body: CreateProduct,
      response: answers({ 200: dataOf(Product), 404: ErrorBody }),
      detail: { operationId: updateProduct.name, summary: "Rename a product" },
    })
    .delete("/:id", ({ ctx, params }) => data(call(ctx, deleteProduct, params)), {
      params: IdPath,
      response: answers({ 200: dataOf(Nothing), 404: ErrorBody, 409: ErrorBody }),
      detail: {
        operationId: deleteProduct.name,
        summary: "Delete a product",
        description: "Refused while active subscriptions use it.",
      },
    });
