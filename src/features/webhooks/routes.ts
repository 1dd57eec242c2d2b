import { Elysia } from "elysia";
import type { Deps } from "../../app/deps.ts";
import { call } from "../../app/operation.ts";
import { listed, Nothing } from "../../core/schema.ts";
import { answers, data, dataOf, ErrorBody, named } from "../../http/answers.ts";
import { fromText, IdPath } from "../../http/params.ts";
import { session } from "../../http/session.ts";
import { WebhookLog } from "../webhook_logs/model.ts";
import { CreateWebhook, ListWebhooks, Webhook, WebhookChange, WebhookWithSecret } from "./model.ts";
import {
  createWebhook,
  deleteWebhook,
  getWebhook,
  listWebhooks,
  rotateWebhookSecret,
  testWebhook,
  updateWebhook,
} from "./service.ts";

export const webhookRoutes = (deps: Deps) =>
  new Elysia({ prefix: "/webhooks", tags: ["Webhooks"] })
    .use(session(deps, "company"))
    .get("", ({ ctx, query }) => call(ctx, listWebhooks, query), {
      query: fromText(ListWebhooks),
      response: answers({ 200: listed(Webhook) }),
      detail: named(
        listWebhooks,
        "List webhooks",
        "Whole, or one page when page or limit is given; search looks into URLs and descriptions.",
      ),
    })
    .post("", async ({ ctx, body, status }) => status(201, await data(call(ctx, createWebhook, body))), {
      body: CreateWebhook,
      response: answers({ 201: dataOf(WebhookWithSecret), 409: ErrorBody }),
      detail: named(
        createWebhook,
        "Create a webhook",
        "The secret is shown only in this answer. The URL must be https and lead to public addresses; event_types takes types, patterns such as subscription.*, and *.",
      ),
    })
    .get("/:id", ({ ctx, params }) => data(call(ctx, getWebhook, params)), {
      params: IdPath,
      response: answers({ 200: dataOf(Webhook), 404: ErrorBody }),
      detail: named(getWebhook, "Get a webhook"),
    })
    .put("/:id", ({ ctx, params, body }) => data(call(ctx, updateWebhook, { ...params, ...body })), {
      params: IdPath,
      body: WebhookChange,
      response: answers({ 200: dataOf(Webhook), 404: ErrorBody }),
      detail: named(
        updateWebhook,
        "Replace a webhook",
        "Status active revives a disabled one, disabled gives up what is pending; left out, it stays.",
      ),
    })
    .delete("/:id", ({ ctx, params }) => data(call(ctx, deleteWebhook, params)), {
      params: IdPath,
      response: answers({ 200: dataOf(Nothing), 404: ErrorBody }),
      detail: named(deleteWebhook, "Delete a webhook", "What is pending is given up; its logs stay."),
    })
    .post("/:id/rotate-secret", ({ ctx, params }) => data(call(ctx, rotateWebhookSecret, params)), {
      params: IdPath,
      body: Nothing,
      response: answers({ 200: dataOf(WebhookWithSecret), 404: ErrorBody }),
      detail: named(
        rotateWebhookSecret,
        "Give a webhook a new secret",
        "Shown only in this answer. For 24 hours the old secret signs beside the new one.",
      ),
    })
    .post(
      "/:id/test",
      async ({ ctx, params, status }) => status(202, await data(call(ctx, testWebhook, params))),
      {
        params: IdPath,
        body: Nothing,
        response: answers({ 202: dataOf(WebhookLog), 404: ErrorBody, 409: ErrorBody }),
        detail: named(
          testWebhook,
          "Send a test message",
          "One attempt, of type webhook.test. GET /webhook-logs/{id} tells what came of it.",
        ),
      },
    );
