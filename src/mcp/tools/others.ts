import { Type } from "@sinclair/typebox";
import { call } from "../../app/operation.ts";
import { Id, paged } from "../../core/schema.ts";
import { FormConfig, ListForms } from "../../features/forms/model.ts";
import { getForm, listForms } from "../../features/forms/service.ts";
import { ListWebhookLogs, WebhookLog } from "../../features/webhook_logs/model.ts";
import { getWebhookLog, listWebhookLogs, redeliverWebhook } from "../../features/webhook_logs/service.ts";
import { data, dataOf } from "../../http/answers.ts";
import { client_id, page, search } from "../params.ts";
import { tool } from "../tool.ts";
import { said } from "../wire_schema.ts";

const log = ListWebhookLogs.properties;
const DELIVERY_DETAILS = ["payload", "response_excerpt", "duration_ms"];

const findDeliveries = tool({
  name: "billing_find_webhook_deliveries",
  title: "Find webhook deliveries",
  description:
    "Lists webhook deliveries with their attempts, newest first, or one by delivery_id: whether a message arrived, and why not. response_format detailed adds what was sent and what the receiver answered.",
  level: "company",
  operations: [listWebhookLogs, getWebhookLog],
  details: DELIVERY_DETAILS,
  input: {
    delivery_id: Type.Optional(said(Id, "One delivery; the other filters then do not apply")),
    event_type: said(log.event_type, "Only these events"),
    status: said(log.status, "Only in this state"),
    endpoint_id: Type.Optional(said(Id, "Only to this endpoint")),
    from: said(log.from, "Created then or later"),
    to: said(log.to, "Created before then"),
    ...page,
  },
  output: Type.Object({
    data: Type.Array(WebhookLog),
    meta: Type.Optional(paged(WebhookLog).properties.meta),
  }),
  run: async (ctx, { delivery_id: id, ...query }) =>
    id === undefined ? call(ctx, listWebhookLogs, query) : { data: [await call(ctx, getWebhookLog, { id })] },
});

const redeliver = tool({
  name: "billing_redeliver_webhook",
  title: "Send a webhook's message again",
  description:
    "Makes one more attempt at a delivery that has ended, of whatever event; the receiver may have the message already.",
  level: "company",
  operations: [redeliverWebhook],
  details: DELIVERY_DETAILS,
  input: { delivery_id: said(Id, "The delivery's id") },
  output: dataOf(WebhookLog),
  run: (ctx, { delivery_id: id }) => data(call(ctx, redeliverWebhook, { id })),
});

export const FoundForms = Type.Object({
  data: Type.Array(FormConfig),
  meta: Type.Optional(paged(FormConfig).properties.meta),
});

const findForms = tool({
  name: "forms_find_forms",
  title: "Find clients' forms",
  description:
    "Lists the forms of the company's clients, or one by form_id; response_format detailed adds their config. Only clients change their forms.",
  level: "company",
  operations: [listForms, getForm],
  details: ["config"],
  input: {
    form_id: Type.Optional(said(Id, "One form; the other filters then do not apply")),
    client_id: Type.Optional(client_id),
    search,
    is_active: said(ListForms.properties.is_active, "Only active, or only inactive ones"),
    ...page,
  },
  output: FoundForms,
  run: async (ctx, { form_id: id, ...query }) =>
    id === undefined ? call(ctx, listForms, query) : { data: [await call(ctx, getForm, { id })] },
});

export const otherTools = [findDeliveries, redeliver, findForms];
