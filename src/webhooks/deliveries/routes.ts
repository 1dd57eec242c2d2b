import { lendingRoutes, route, routes } from "../../http/route.ts";
import {
  getLoanWebhookLog,
  getWebhookLog,
  listLoanWebhookLogs,
  listWebhookLogs,
  redeliverLoanWebhook,
  redeliverLoanWebhooks,
  redeliverWebhook,
  redeliverWebhooks,
  testWebhook,
} from "./service.ts";

export const webhookLogRoutes = routes({ tag: "Webhooks", admits: "company" }, [
  route("POST /webhooks/:id/test", testWebhook, {
    summary: "Send a test message",
    description: "One attempt, of type webhook.test. GET /webhook-logs/{id} shows its outcome.",
    status: 202,
    errors: [409],
  }),
  route("GET /webhook-logs", listWebhookLogs, {
    summary: "List webhook deliveries",
    description:
      "Newest first, with their attempts. from is inclusive, to exclusive. Deliveries are kept for 30 days after they ended.",
  }),
  route("GET /webhook-logs/:id", getWebhookLog, { summary: "Get a webhook delivery" }),
  route("POST /webhook-logs/redeliver", redeliverWebhooks, {
    summary: "Redeliver webhook messages",
    description:
      "One more attempt of each message that failed, or with status succeeded of each that arrived, narrowed by event_type, endpoint_id, from and to; the oldest first, up to limit. next_after_id, sent as after_id, goes on. Messages to a disabled webhook are passed over: enable it first.",
    status: 202,
  }),
  route("POST /webhook-logs/:id/redeliver", redeliverWebhook, {
    summary: "Redeliver a webhook message",
    description:
      "One more attempt of the same message, with the same webhook-id, in the same log. 409 while it is pending.",
    status: 202,
    errors: [409],
  }),
]);

/** For lenders' keys: deliveries of events about loans, in the key's environment. */
const lenderRows = [
  route("GET /lender/webhook-logs", listLoanWebhookLogs, {
    summary: "List deliveries of loan events",
    description:
      "Events about applications, documents and consents in the token's environment, newest first, to any of the company's webhooks.",
  }),
  route("GET /lender/webhook-logs/:id", getLoanWebhookLog, { summary: "Get a delivery of a loan event" }),
  route("POST /lender/webhook-logs/redeliver", redeliverLoanWebhooks, {
    summary: "Redeliver loan events",
    description:
      "One more attempt of each message about loans that failed in the token's environment, as POST /webhook-logs/redeliver.",
    status: 202,
  }),
  route("POST /lender/webhook-logs/:id/redeliver", redeliverLoanWebhook, {
    summary: "Redeliver a loan event",
    description:
      "One more attempt of the same message. 409 while it is pending or its webhook is not active.",
    status: 202,
    errors: [409],
  }),
];

export const lenderWebhookLogRoutes = routes({ tag: "Lending", admits: "lender" }, lenderRows);
export const lendingWebhookLogRoutes = lendingRoutes(lenderRows);
