import { tool } from "../../mcp/tool.ts";
import { enableWebhook, listWebhooks } from "../endpoints/service.ts";
import { getWebhookLog, listWebhookLogs, redeliverWebhook, redeliverWebhooks } from "./service.ts";
import { deliveryFinder, redelivery } from "../tools.ts";

const DELIVERY_DETAILS = ["payload", "response_excerpt", "duration_ms"];

const findDeliveries = tool({
  name: "billing_find_webhook_deliveries",
  title: "Find webhook deliveries",
  description:
    "Lists webhook deliveries with their attempts, newest first, or one by delivery_id: whether a message arrived, and why not. kind endpoints: the webhooks themselves, whether they are disabled and why, and how their last deliveries ended. response_format detailed adds the payload and the receiver's response.",
  ...deliveryFinder(listWebhookLogs, getWebhookLog, listWebhooks),
  details: DELIVERY_DETAILS,
});

const redeliver = tool({
  name: "billing_redeliver_webhook",
  title: "Redeliver webhook messages",
  description:
    "Makes one more attempt at the delivery delivery_id, or at all that failed and match, the oldest 1,000 first; the receiver may have a message already. Disabled endpoints are passed over: with enable, endpoint_id is enabled first.",
  ...redelivery(redeliverWebhook, redeliverWebhooks, enableWebhook),
  details: DELIVERY_DETAILS,
});

export const deliveryTools = [findDeliveries, redeliver];
