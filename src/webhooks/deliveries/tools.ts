import { Type } from "@sinclair/typebox";
import { Id } from "../../core/schema.ts";
import { getWebhookLog, listWebhookLogs, redeliverWebhook } from "./service.ts";
import { page } from "../../mcp/params.ts";
import { action, finder } from "../../mcp/shapes.ts";
import { tool } from "../../mcp/tool.ts";
import { describe } from "../../mcp/wire_schema.ts";

const log = listWebhookLogs.input.properties;
const DELIVERY_DETAILS = ["payload", "response_excerpt", "duration_ms"];

const findDeliveries = tool({
  name: "billing_find_webhook_deliveries",
  title: "Find webhook deliveries",
  description:
    "Lists webhook deliveries with their attempts, newest first, or one by delivery_id: whether a message arrived, and why not. response_format detailed adds the payload and the receiver's response.",
  ...finder("delivery_id", listWebhookLogs, getWebhookLog),
  details: DELIVERY_DETAILS,
  input: {
    delivery_id: Type.Optional(describe(Id, "One delivery; the other filters then do not apply")),
    event_type: describe(log.event_type, "Only these events"),
    status: describe(log.status, "Only with this status"),
    endpoint_id: Type.Optional(describe(Id, "Only to this endpoint")),
    from: describe(log.from, "Created then or later"),
    to: describe(log.to, "Created before then"),
    ...page,
  },
});

const redeliver = tool({
  name: "billing_redeliver_webhook",
  title: "Redeliver a webhook message",
  description:
    "Makes one more attempt at a delivery that has ended, whatever its event; the receiver may have the message already.",
  ...action(redeliverWebhook, "delivery_id"),
  details: DELIVERY_DETAILS,
  input: { delivery_id: describe(Id, "The delivery's id") },
});

export const deliveryTools = [findDeliveries, redeliver];
