import { Elysia } from "elysia";
import type { Deps } from "../../app/deps.ts";
import { call } from "../../app/operation.ts";
import { Nothing, paged } from "../../core/schema.ts";
import { answers, data, dataOf, ErrorBody } from "../../http/answers.ts";
import { fromText, IdPath } from "../../http/params.ts";
import { session } from "../../http/session.ts";
import { ListLoanWebhookLogs, ListWebhookLogs, WebhookLog } from "./model.ts";
import {
  getLoanWebhookLog,
  getWebhookLog,
  listLoanWebhookLogs,
  listWebhookLogs,
  redeliverLoanWebhook,
  redeliverWebhook,
} from "./service.ts";

const LISTED = answers({ 200: paged(WebhookLog) });
const FOUND = answers({ 200: dataOf(WebhookLog), 404: ErrorBody });
const SENT = answers({ 202: dataOf(WebhookLog), 404: ErrorBody, 409: ErrorBody });

export const webhookLogRoutes = (deps: Deps) =>
  new Elysia({ prefix: "/webhook-logs", tags: ["Webhooks"] })
    .use(session(deps, "company"))
    .get("", ({ ctx, query }) => call(ctx, listWebhookLogs, query), {
      query: fromText(ListWebhookLogs),
      response: LISTED,
      detail: {
        operationId: listWebhookLogs.name,
        summary: "List webhook deliveries",
        description:
          "Newest first, with their attempts. from is included, to is not. They are kept for 30 days after they ended.",
      },
    })
    .get("/:id", ({ ctx, params }) => data(call(ctx, getWebhookLog, params)), {
      params: IdPath,
      response: FOUND,
      detail: { operationId: getWebhookLog.name, summary: "Get a webhook delivery" },
    })
    .post(
      "/:id/redeliver",
      async ({ ctx, params, status }) => status(202, await data(call(ctx, redeliverWebhook, params))),
      {
        params: IdPath,
        body: Nothing,
        response: SENT,
        detail: {
          operationId: redeliverWebhook.name,
          summary: "Send a message again",
          description:
            "One new attempt of the same message, with the same webhook-id, in the same log; 409 while it is pending.",
        },
      },
    );

/** The same deliveries as a lender's key sees them: those of loans, in its environment. */
export const lenderWebhookLogRoutes = (deps: Deps) =>
  new Elysia({ prefix: "/lender/webhook-logs", tags: ["Lending"] })
    .use(session(deps, "lender"))
    .get("", ({ ctx, query }) => call(ctx, listLoanWebhookLogs, query), {
      query: fromText(ListLoanWebhookLogs),
      response: LISTED,
      detail: {
        operationId: listLoanWebhookLogs.name,
        summary: "List deliveries of loan events",
        description:
          "Those of applications, documents and consents of the token's environment, newest first, to any of the company's webhooks.",
      },
    })
    .get("/:id", ({ ctx, params }) => data(call(ctx, getLoanWebhookLog, params)), {
      params: IdPath,
      response: FOUND,
      detail: { operationId: getLoanWebhookLog.name, summary: "Get a delivery of a loan event" },
    })
    .post(
      "/:id/redeliver",
      async ({ ctx, params, status }) => status(202, await data(call(ctx, redeliverLoanWebhook, params))),
      {
        params: IdPath,
        body: Nothing,
        response: SENT,
        detail: {
          operationId: redeliverLoanWebhook.name,
          summary: "Send a loan event again",
          description:
            "One new attempt of the same message; 409 while it is pending or its webhook is not active.",
        },
      },
    );
