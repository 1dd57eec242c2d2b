import { Elysia } from "elysia";
import { call } from "../../core/operation.ts";
import { Nothing, paged } from "../../core/schema.ts";
import type { Deps } from "../../deps.ts";
import { answers, data, dataOf, ErrorBody } from "../../http/answers.ts";
import { fromText, IdPath } from "../../http/params.ts";
import { session } from "../../http/session.ts";
import { ListWebhookLogs, WebhookLog } from "./model.ts";
import { getWebhookLog, listWebhookLogs, redeliverWebhook } from "./service.ts";

export const webhookLogRoutes = (deps: Deps) =>
  new Elysia({ prefix: "/webhook-logs", tags: ["Webhooks"] })
    .use(session(deps, "company"))
    .get("", ({ ctx, query }) => call(ctx, listWebhookLogs, query), {
      query: fromText(ListWebhookLogs),
      response: answers({ 200: paged(WebhookLog) }),
      detail: {
        summary: "List webhook deliveries",
        description:
          "Newest first, with their attempts. from is included, to is not. They are kept for 30 days after they ended.",
      },
    })
    .get("/:id", ({ ctx, params }) => data(call(ctx, getWebhookLog, params)), {
      params: IdPath,
      response: answers({ 200: dataOf(WebhookLog), 404: ErrorBody }),
      detail: { summary: "Get a webhook delivery" },
    })
    .post(
      "/:id/redeliver",
      async ({ ctx, params, status }) => status(202, await data(call(ctx, redeliverWebhook, params))),
      {
        params: IdPath,
        body: Nothing,
        response: answers({ 202: dataOf(WebhookLog), 404: ErrorBody, 409: ErrorBody }),
        detail: {
          summary: "Send a message again",
          description:
            "One new attempt of the same message, with the same webhook-id, in the same log; 409 while it is pending.",
        },
      },
    );
