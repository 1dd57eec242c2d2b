import { Elysia } from "elysia";
import type { Deps } from "../../app/deps.ts";
import { call } from "../../app/operation.ts";
import { listed } from "../../core/schema.ts";
import { answers, data, dataOf, ErrorBody } from "../../http/answers.ts";
import { fromText, IdPath } from "../../http/params.ts";
import { session } from "../../http/session.ts";
import { CreatedSubscription, SubscriptionDetail } from "./detail.ts";
import {
  CancelSubscriptionBody,
  CreateSubscription,
  ListMySubscriptions,
  ListSubscriptions,
  UpdateSubscriptionBody,
} from "./model.ts";
import {
  cancelSubscription,
  createSubscription,
  getSubscription,
  listSubscriptions,
  updateSubscription,
} from "./service.ts";

const WHOLE_OR_PAGE =
  "Whole, or one page when page or limit is given; search looks into names and external ids.";

export const subscriptionRoutes = (deps: Deps) =>
  new Elysia({ prefix: "/subscriptions", tags: ["Subscriptions"] })
    .use(session(deps, "company"))
    .get("", ({ ctx, query }) => call(ctx, listSubscriptions, query), {
      query: fromText(ListSubscriptions),
      response: answers({ 200: listed(SubscriptionDetail) }),
      detail: {
        operationId: listSubscriptions.name,
        summary: "List subscriptions with their relations",
        description: WHOLE_OR_PAGE,
      },
    })
    .post("", async ({ ctx, body, status }) => status(201, await data(call(ctx, createSubscription, body))), {
      body: CreateSubscription,
      response: answers({ 201: dataOf(CreatedSubscription) }),
      detail: {
        operationId: createSubscription.name,
        summary: "Create a subscription",
        description:
          "It starts now unless started_at says otherwise, at most 10 years in the past or 100 in the future. past_periods says how many billing periods have ended since: the next billing run bills them.",
      },
    })
    .get("/:id", ({ ctx, params }) => data(call(ctx, getSubscription, params)), {
      params: IdPath,
      response: answers({ 200: dataOf(SubscriptionDetail), 404: ErrorBody }),
      detail: { operationId: getSubscription.name, summary: "Get a subscription with its relations" },
    })
    .put("/:id", ({ ctx, params, body }) => data(call(ctx, updateSubscription, { ...params, ...body })), {
      params: IdPath,
      body: UpdateSubscriptionBody,
      response: answers({ 200: dataOf(SubscriptionDetail), 404: ErrorBody }),
      detail: { operationId: updateSubscription.name, summary: "Rename a subscription" },
    })
    .post(
      "/:id/cancel",
      ({ ctx, params, body }) => data(call(ctx, cancelSubscription, { ...params, ...body })),
      {
        params: IdPath,
        body: CancelSubscriptionBody,
        response: answers({ 200: dataOf(SubscriptionDetail), 404: ErrorBody, 409: ErrorBody }),
        detail: {
          operationId: cancelSubscription.name,
          summary: "Cancel a subscription",
          description:
            "Now, or at the end of the running billing period; now also brings a coming end forward. Refused when it has ended.",
        },
      },
    );

export const mySubscriptionRoutes = (deps: Deps) =>
  new Elysia({ prefix: "/my/subscriptions", tags: ["Self-service"] })
    .use(session(deps, "client"))
    .get("", ({ ctx, query }) => call(ctx, listSubscriptions, query), {
      query: fromText(ListMySubscriptions),
      response: answers({ 200: listed(SubscriptionDetail) }),
      detail: {
        operationId: listSubscriptions.name,
        summary: "List my subscriptions",
        description: WHOLE_OR_PAGE,
      },
    })
    .get("/:id", ({ ctx, params }) => data(call(ctx, getSubscription, params)), {
      params: IdPath,
      response: answers({ 200: dataOf(SubscriptionDetail), 404: ErrorBody }),
      detail: { operationId: getSubscription.name, summary: "Get one of my subscriptions" },
    });
