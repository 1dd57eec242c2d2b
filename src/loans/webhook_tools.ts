import {
  getLoanWebhookLog,
  listLoanWebhookLogs,
  redeliverLoanWebhook,
  redeliverLoanWebhooks,
} from "../webhooks/deliveries/service.ts";
import { deliveryFinder, redelivery } from "../webhooks/tools.ts";
import { enableLoanWebhook, listLoanWebhooks } from "../webhooks/endpoints/service.ts";
import { loanTool } from "./tools.ts";

// Only admins see deliveries, which show where the company's data goes (decision 0061).

const FOR_ADMINS_TO_READ = { permission: "webhooks:read" } as const;
const FOR_ADMINS = { permission: "webhooks:write" } as const;
const DETAILS = ["payload", "response_excerpt", "duration_ms", "message_id"];

const finding = deliveryFinder(listLoanWebhookLogs, getLoanWebhookLog, listLoanWebhooks);

const findDeliveries = loanTool({
  name: "loan_find_webhook_deliveries",
  title: "Find deliveries of loan events",
  description:
    "Lists deliveries of loan events, newest first, or one by delivery_id: whether a message arrived, and if not, why. kind endpoints: the webhooks that hear of loans, in either environment, whether they are disabled and why.",
  ...finding,
  operations: [...finding.operations, FOR_ADMINS_TO_READ],
  details: DETAILS,
});

const redelivering = redelivery(redeliverLoanWebhook, redeliverLoanWebhooks, enableLoanWebhook);

const redeliver = loanTool({
  name: "loan_redeliver_webhook",
  title: "Redeliver loan events",
  description:
    "Makes one more attempt at the delivery delivery_id, or at all of loan events that failed and match, the oldest 1,000 first; the receiver may already have a message. Disabled endpoints are passed over: with enable, in production, endpoint_id is enabled first.",
  ...redelivering,
  operations: [...redelivering.operations, FOR_ADMINS],
  details: DETAILS,
});

export const loanWebhookTools = [findDeliveries, redeliver];
