import { lendingRoutes, route, routes } from "../../http/route.ts";
import {
  createWebhook,
  deleteWebhook,
  enableLoanWebhook,
  enableWebhook,
  getWebhook,
  listLoanWebhooks,
  listWebhooks,
  rotateWebhookSecret,
  updateWebhook,
} from "./service.ts";

export const webhookRoutes = routes({ tag: "Webhooks", admits: "company" }, [
  route("GET /webhooks", listWebhooks, {
    summary: "List webhooks",
    description:
      "The whole list, or one page when page or limit is given; search looks into URLs and descriptions. with=figures adds how the last deliveries ended.",
  }),
  route("POST /webhooks", createWebhook, {
    summary: "Create a webhook",
    description:
      "The secret is shown in this response only. The URL must be https and lead to public addresses; event_types takes types, patterns such as subscription.*, and *.",
    status: 201,
    errors: [409],
  }),
  route("GET /webhooks/:id", getWebhook, {
    summary: "Get a webhook",
    description: "with=figures adds how its last deliveries ended.",
  }),
  route("PUT /webhooks/:id", updateWebhook, {
    summary: "Replace a webhook",
    description:
      "Status active enables a disabled webhook, disabled abandons its pending deliveries; left out, it stays as it is.",
    if_match: true,
  }),
  route("POST /webhooks/:id/enable", enableWebhook, {
    summary: "Enable a webhook",
    description:
      "After it was disabled, by a user or because it answered 410. What was abandoned meanwhile is sent by POST /webhook-logs/redeliver.",
  }),
  route("DELETE /webhooks/:id", deleteWebhook, {
    summary: "Delete a webhook",
    description: "Its pending deliveries are abandoned; its logs stay.",
  }),
  route("POST /webhooks/:id/rotate-secret", rotateWebhookSecret, {
    summary: "Rotate a webhook's secret",
    description: "The new secret is shown in this response only. For 24 hours messages are signed with both.",
  }),
]);

/** For lenders' keys: the company's webhooks that hear of events about loans. */
const lenderRows = [
  route("GET /lender/webhooks", listLoanWebhooks, {
    summary: "List the webhooks of loan events",
    description:
      "Those of the company's webhooks that hear of applications, documents or consents, in either environment. with=figures adds how the last deliveries ended.",
  }),
  route("POST /lender/webhooks/:id/enable", enableLoanWebhook, {
    summary: "Enable a webhook of loan events",
    description:
      "After it was disabled, by a user or because it answered 410. In production only: it hears of both environments.",
  }),
];

export const lenderWebhookRoutes = routes({ tag: "Lending", admits: "lender" }, lenderRows);
export const lendingWebhookRoutes = lendingRoutes(lenderRows);
