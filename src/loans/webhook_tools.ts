import { Type } from "@sinclair/typebox";
import { Id } from "../core/schema.ts";
import {
  getLoanWebhookLog,
  listLoanWebhookLogs,
  redeliverLoanWebhook,
} from "../webhooks/deliveries/service.ts";
import { page } from "../mcp/params.ts";
import { action, finder } from "../mcp/shapes.ts";
import { describe } from "../mcp/wire_schema.ts";
import { loanTool } from "./tools.ts";

// Only admins see deliveries, which show where the company's data goes (decision 0061).

const FOR_ADMINS_TO_READ = { permission: "webhooks:read" } as const;
const FOR_ADMINS = { permission: "webhooks:write" } as const;
const DETAILS = ["payload", "response_excerpt", "duration_ms", "message_id"];

const log = listLoanWebhookLogs.input.properties;

const findDeliveries = loanTool({
  name: "loan_find_webhook_deliveries",
  title: "Find deliveries of loan events",
  description:
    "Lists deliveries of loan events, newest first, or one by id: whether a message arrived, and if not, why.",
  ...finder("delivery_id", listLoanWebhookLogs, getLoanWebhookLog),
  operations: [listLoanWebhookLogs, getLoanWebhookLog, FOR_ADMINS_TO_READ],
  details: DETAILS,
  input: {
    delivery_id: Type.Optional(describe(Id, "One delivery")),
    event_type: describe(log.event_type, "Only these events"),
    status: describe(log.status, "Only in this state"),
    ...page,
  },
});

const redeliver = loanTool({
  name: "loan_redeliver_webhook",
  title: "Redeliver a loan event",
  description: "Makes one more attempt at a finished delivery; the receiver may already have the message.",
  ...action(redeliverLoanWebhook, "delivery_id"),
  operations: [redeliverLoanWebhook, FOR_ADMINS],
  details: DETAILS,
  input: { delivery_id: describe(Id, "The delivery's id") },
});

export const loanWebhookTools = [findDeliveries, redeliver];
