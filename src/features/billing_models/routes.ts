import { Type } from "@sinclair/typebox";
import { Elysia } from "elysia";
import type { Deps } from "../../app/deps.ts";
import { call } from "../../app/operation.ts";
import { listed, Nothing } from "../../core/schema.ts";
import { answers, data, dataOf, ErrorBody } from "../../http/answers.ts";
import { fromText, IdPath } from "../../http/params.ts";
import { session } from "../../http/session.ts";
import {
  BillingModel,
  BillingTypeInfo,
  CreateBillingModel,
  ListBillingModels,
  UpdateBillingModelBody,
} from "./model.ts";
import {
  createBillingModel,
  deleteBillingModel,
  getBillingModel,
  listBillingModels,
  listBillingTypes,
  updateBillingModel,
} from "./service.ts";

const TAGS = ["Billing models"];

export const billingTypeRoutes = (deps: Deps) =>
  new Elysia({ prefix: "/billing-types", tags: TAGS })
    .use(session(deps, "company"))
    .get("", ({ ctx }) => data(call(ctx, listBillingTypes, {})), {
      response: answers({ 200: dataOf(Type.Array(BillingTypeInfo)) }),
      detail: {
        operationId: listBillingTypes.name,
        summary: "List the billing types",
        description: "What price means under each, and which price fields it takes.",
      },
    });

export const billingModelRoutes = (deps: Deps) =>
  new Elysia({ prefix: "/billing-models", tags: TAGS })
    .use(session(deps, "company"))
    .get("", ({ ctx, query }) => call(ctx, listBillingModels, query), {
      query: fromText(ListBillingModels),
      response: answers({ 200: listed(BillingModel) }),
      detail: {
        operationId: listBillingModels.name,
        summary: "List billing models",
        description: "Whole, or one page when page or limit is given.",
      },
    })
    .post("", async ({ ctx, body, status }) => status(201, await data(call(ctx, createBillingModel, body))), {
      body: CreateBillingModel,
      response: answers({ 201: dataOf(BillingModel) }),
      detail: {
        operationId: createBillingModel.name,
        summary: "Create a billing model",
        description:
          "GET /billing-types tells which fields each type takes. Decimals are read exactly from strings, and from numbers of at most 15 significant digits.",
      },
    })
    .get("/:id", ({ ctx, params }) => data(call(ctx, getBillingModel, params)), {
      params: IdPath,
      response: answers({ 200: dataOf(BillingModel), 404: ErrorBody }),
      detail: { operationId: getBillingModel.name, summary: "Get a billing model with its usage tiers" },
    })
    .put("/:id", ({ ctx, params, body }) => data(call(ctx, updateBillingModel, { ...params, ...body })), {
      params: IdPath,
      body: UpdateBillingModelBody,
      response: answers({ 200: dataOf(BillingModel), 404: ErrorBody, 409: ErrorBody }),
      detail: {
        operationId: updateBillingModel.name,
        summary: "Change a billing model",
        description:
          "Name and description always; the price only while no subscription has ever used it. Price fields left out stay as they are; 0, false, [] or null clears one.",
      },
    })
    .delete("/:id", ({ ctx, params }) => data(call(ctx, deleteBillingModel, params)), {
      params: IdPath,
      response: answers({ 200: dataOf(Nothing), 404: ErrorBody, 409: ErrorBody }),
      detail: {
        operationId: deleteBillingModel.name,
        summary: "Delete a billing model",
        description: "Refused while subscriptions that have not ended use it.",
      },
    });
