import { Type } from "@sinclair/typebox";
import { invalid } from "../../core/errors.ts";
import { Id, oneOf, PageMeta } from "../../core/schema.ts";
import { WebhookDetail } from "../endpoints/model.ts";
import { enableWebhook, listWebhooks } from "../endpoints/service.ts";
import { WebhookLog } from "./model.ts";
import { getWebhookLog, listWebhookLogs, redeliverWebhook, redeliverWebhooks } from "./service.ts";
import { call } from "../../app/operation.ts";
import { data, dataOf } from "../../http/responses.ts";
import { page, rejectUnused } from "../../mcp/params.ts";
import { tool } from "../../mcp/tool.ts";
import { describe } from "../../mcp/wire_schema.ts";

const log = listWebhookLogs.input.properties;
const DELIVERY_DETAILS = ["payload", "response_excerpt", "duration_ms"];

const findDeliveries = tool({
  name: "billing_find_webhook_deliveries",
  title: "Find webhook deliveries",
  description:
    "Lists webhook deliveries with their attempts, newest first, or one by delivery_id: whether a message arrived, and why not. kind endpoints: the webhooks themselves, whether they are disabled and why, and how their last deliveries ended. response_format detailed adds the payload and the receiver's response.",
  finds: ["delivery_id"],
  operations: [listWebhookLogs, getWebhookLog, listWebhooks],
  details: DELIVERY_DETAILS,
  input: {
    kind: Type.Optional(describe(oneOf(["deliveries", "endpoints"]), "Default deliveries")),
    delivery_id: Type.Optional(describe(Id, "One delivery; the other filters then do not apply")),
    event_type: describe(log.event_type, "Only these events"),
    status: describe(log.status, "Only with this status"),
    endpoint_id: Type.Optional(describe(Id, "Only to this endpoint")),
    from: describe(log.from, "Created then or later"),
    to: describe(log.to, "Created before then"),
    ...page,
  },
  output: Type.Object({
    data: Type.Array(
      Type.Object({
        ...Type.Partial(WebhookLog).properties,
        ...Type.Partial(Type.Omit(WebhookDetail, ["status"])).properties,
        status: Type.String(),
      }),
    ),
    meta: Type.Optional(PageMeta),
  }),
  async run(ctx, { kind = "deliveries", delivery_id, page: number = 1, limit, ...filter }) {
    const paging = { page: number, ...(limit === undefined ? {} : { limit }) };
    if (kind === "endpoints") {
      rejectUnused("kind endpoints", { delivery_id, ...filter });
      return call(ctx, listWebhooks, { with: "figures", ...paging });
    }
    if (delivery_id !== undefined) return { data: [await call(ctx, getWebhookLog, { id: delivery_id })] };
    return call(ctx, listWebhookLogs, { ...filter, ...paging });
  },
});

const redeliver = tool({
  name: "billing_redeliver_webhook",
  title: "Redeliver webhook messages",
  description:
    "Makes one more attempt at the delivery delivery_id, or at all that failed and match, the oldest 1,000 first; the receiver may have a message already. Disabled endpoints are passed over: with enable, endpoint_id is enabled first.",
  operations: [redeliverWebhook, redeliverWebhooks, enableWebhook],
  details: DELIVERY_DETAILS,
  input: {
    delivery_id: Type.Optional(describe(Id, "One; else all that match")),
    endpoint_id: Type.Optional(describe(Id, "Only to this endpoint")),
    enable: Type.Optional(describe(Type.Boolean(), "Enable endpoint_id if it is disabled")),
    event_type: describe(log.event_type, "Only these events"),
    from: describe(log.from, "Created then or later"),
    to: describe(log.to, "Created before then"),
  },
  output: dataOf(
    Type.Object({
      ...Type.Partial(redeliverWebhook.output).properties,
      ...Type.Partial(redeliverWebhooks.output).properties,
    }),
  ),
  async run(ctx, { delivery_id, enable = false, ...filter }) {
    if (delivery_id !== undefined) {
      rejectUnused("delivery_id", { ...filter, enable: enable || undefined });
      return data(call(ctx, redeliverWebhook, { id: delivery_id }));
    }
    if (enable) {
      if (filter.endpoint_id === undefined) throw invalid("/endpoint_id", "is required with enable");
      await call(ctx, enableWebhook, { id: filter.endpoint_id });
    }
    return data(call(ctx, redeliverWebhooks, filter));
  },
});

export const deliveryTools = [findDeliveries, redeliver];
