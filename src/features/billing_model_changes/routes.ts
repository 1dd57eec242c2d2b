import { Elysia } from "elysia";
import type { Deps } from "../../app/deps.ts";
import { call } from "../../app/operation.ts";
import { listed, Nothing } from "../../core/schema.ts";
import { answers, data, dataOf, ErrorBody } from "../../http/answers.ts";
import { fromText, IdPath } from "../../http/params.ts";
import { session } from "../../http/session.ts";
import { BillingModelChange, ChangePath, CreateBillingModelChangeBody, ListChangesQuery } from "./model.ts";
import {
  cancelBillingModelChange,
  createBillingModelChange,
  listBillingModelChanges,
  voidBillingModelChange,
} from "./service.ts";

const ORDER =
  "Scheduled, applied and cancelled ones, ordered by effective_at. Whole, or one page when page or limit is given.";

export const billingModelChangeRoutes = (deps: Deps) =>
  new Elysia({ prefix: "/subscriptions/:id/billing-model-changes", tags: ["Billing model changes"] })
    .use(session(deps, "company"))
    .get("", ({ ctx, params, query }) => call(ctx, listBillingModelChanges, { ...params, ...query }), {
      params: IdPath,
      query: fromText(ListChangesQuery),
      response: answers({ 200: listed(BillingModelChange), 404: ErrorBody }),
      detail: {
        operationId: listBillingModelChanges.name,
        summary: "List a subscription's billing model changes",
        description: ORDER,
      },
    })
    .post("", ({ ctx, params, body }) => data(call(ctx, createBillingModelChange, { ...params, ...body })), {
      params: IdPath,
      body: CreateBillingModelChangeBody,
      response: answers({ 200: dataOf(BillingModelChange), 404: ErrorBody, 409: ErrorBody, 503: ErrorBody }),
      detail: {
        operationId: createBillingModelChange.name,
        summary: "Change a subscription's billing model",
        description:
          "With effective_at now or in the past the change is applied before the answer: periods that are closed already are adjusted, and their adjustments named in adjustment_billing_record_ids. With effective_at in the future it is scheduled, and applied when its time comes.",
      },
    })
    .delete("/:changeId", ({ ctx, params }) => data(call(ctx, cancelBillingModelChange, params)), {
      params: fromText(ChangePath),
      response: answers({ 200: dataOf(BillingModelChange), 404: ErrorBody }),
      detail: {
        operationId: cancelBillingModelChange.name,
        summary: "Cancel a scheduled billing model change",
        description:
          "Only while it is scheduled: an applied or cancelled one answers 404. A scheduled change after it that would then turn to the model already in force is cancelled with it.",
      },
    })
    .post("/:changeId/void", ({ ctx, params }) => data(call(ctx, voidBillingModelChange, params)), {
      params: fromText(ChangePath),
      body: Nothing,
      response: answers({ 200: dataOf(BillingModelChange), 404: ErrorBody, 409: ErrorBody, 503: ErrorBody }),
      detail: {
        operationId: voidBillingModelChange.name,
        summary: "Void an applied billing model change",
        description:
          "The subscription is billed as if the change had not been made: periods that are closed already are adjusted, credits that it added are gone, and what was used of them is overage. The change is then cancelled, with voided_at; an applied change after it that would turn to the model already in force is voided with it, a scheduled one cancelled. 409 when it is not applied, or when a billing model that was deleted would be in force again.",
      },
    });

export const myBillingModelChangeRoutes = (deps: Deps) =>
  new Elysia({ prefix: "/my/subscriptions/:id/billing-model-changes", tags: ["Self-service"] })
    .use(session(deps, "client"))
    .get("", ({ ctx, params, query }) => call(ctx, listBillingModelChanges, { ...params, ...query }), {
      params: IdPath,
      query: fromText(ListChangesQuery),
      response: answers({ 200: listed(BillingModelChange), 404: ErrorBody }),
      detail: {
        operationId: listBillingModelChanges.name,
        summary: "List one of my subscriptions' billing model changes",
        description: ORDER,
      },
    });
