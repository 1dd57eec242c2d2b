import { Type } from "@sinclair/typebox";
import { call } from "../../app/operation.ts";
import { Id, paged } from "../../core/schema.ts";
import { ListLoanWebhookLogs, WebhookLog } from "../../features/webhook_logs/model.ts";
import {
  getLoanWebhookLog,
  listLoanWebhookLogs,
  redeliverLoanWebhook,
} from "../../features/webhook_logs/service.ts";
import { data, dataOf } from "../../http/answers.ts";
import { page, webhook_log_id } from "../params.ts";
import { tool } from "../tool.ts";
import { said } from "../wire_schema.ts";

// A log tells where the company's data goes and what came back: of its users only admins see that (decision 0061).

const FOR_ADMINS_TO_READ = { permission: "webhooks:read" } as const;
const FOR_ADMINS = { permission: "webhooks:write" } as const;
const DETAILS = ["payload", "response_excerpt", "duration_ms", "message_id"];

const log = ListLoanWebhookLogs.properties;

const findDeliveries = tool({
  name: "loan_find_webhook_deliveries",
  title: "Find deliveries of loan events",
  description:
    "Lists deliveries of loan events, newest first, or one by id: whether a message arrived, and why not.",
  level: "company",
  operations: [listLoanWebhookLogs, getLoanWebhookLog, FOR_ADMINS_TO_READ],
  is_for_loans: true,
  details: DETAILS,
  input: {
    webhook_log_id: Type.Optional(said(Id, "One delivery")),
    event_type: said(log.event_type, "Only these events"),
    status: said(log.status, "Only in this state"),
    ...page,
  },
  output: Type.Object({
    data: Type.Array(WebhookLog),
    meta: Type.Optional(paged(WebhookLog).properties.meta),
  }),
  run: async (ctx, { webhook_log_id: id, ...query }) =>
    id === undefined
      ? call(ctx, listLoanWebhookLogs, query)
      : { data: [await call(ctx, getLoanWebhookLog, { id })] },
});

const redeliver = tool({
  name: "loan_redeliver_webhook",
  title: "Send a loan event again",
  description:
    "Makes one more attempt at a delivery that has ended; the receiver may have the message already.",
  level: "company",
  operations: [redeliverLoanWebhook, FOR_ADMINS],
  is_for_loans: true,
  details: DETAILS,
  input: { webhook_log_id },
  output: dataOf(WebhookLog),
  run: (ctx, { webhook_log_id: id }) => data(call(ctx, redeliverLoanWebhook, { id })),
});

export const loanWebhookTools = [findDeliveries, redeliver];
