import { route, routes } from "../../http/route.ts";
import {
  createWebhook,
  deleteWebhook,
  getWebhook,
  listWebhooks,
  rotateWebhookSecret,
  testWebhook,
  updateWebhook,
} from "./service.ts";

export const webhookRoutes = routes({ tag: "Webhooks", admits: "company" }, [
  route("GET /webhooks", listWebhooks, {
    summary: "List webhooks",
    description: "Whole, or one page when page or limit is given; search looks into URLs and descriptions.",
  }),
  route("POST /webhooks", createWebhook, {
    summary: "Create a webhook",
    description:
      "The secret is shown only in this answer. The URL must be https and lead to public addresses; event_types takes types, patterns such as subscription.*, and *.",
    status: 201,
    errors: [409],
  }),
  route("GET /webhooks/:id", getWebhook, { summary: "Get a webhook" }),
  route("PUT /webhooks/:id", updateWebhook, {
    summary: "Replace a webhook",
    description:
      "Status active revives a disabled one, disabled gives up what is pending; left out, it stays.",
  }),
  route("DELETE /webhooks/:id", deleteWebhook, {
    summary: "Delete a webhook",
    description: "What is pending is given up; its logs stay.",
  }),
  route("POST /webhooks/:id/rotate-secret", rotateWebhookSecret, {
    summary: "Rotate a webhook's secret",
    description: "Shown only in this answer. For 24 hours the old secret signs beside the new one.",
  }),
  route("POST /webhooks/:id/test", testWebhook, {
    summary: "Send a test message",
    description: "One attempt, of type webhook.test. GET /webhook-logs/{id} tells what came of it.",
    status: 202,
    errors: [409],
  }),
]);
