import { type Static, type TObject, Type } from "@sinclair/typebox";
import type { Context } from "../app/context.ts";
import { call, type Operation } from "../app/operation.ts";
import { invalid } from "../core/errors.ts";
import { type ById, Id, oneOf, PageMeta } from "../core/schema.ts";
import { data, dataOf } from "../http/responses.ts";
import { page, rejectUnused } from "../mcp/params.ts";
import { describe } from "../mcp/wire_schema.ts";
import { WebhookDetail } from "./endpoints/model.ts";
import {
  type ListWebhookLogs,
  type RedeliverWebhooks,
  RedeliveredWebhooks,
  WebhookLog,
} from "./deliveries/model.ts";

// What the tools for all webhooks and those for webhooks of loans share.

const FoundDeliveries: TObject = Type.Object({
  data: Type.Array(
    Type.Object({
      ...Type.Partial(WebhookLog).properties,
      ...Type.Partial(Type.Omit(WebhookDetail, ["status"])).properties,
      status: Type.String(),
    }),
  ),
  meta: Type.Optional(PageMeta),
});

const Redelivered = dataOf(
  Type.Object({ ...Type.Partial(WebhookLog).properties, ...Type.Partial(RedeliveredWebhooks).properties }),
);

/** Returns a page of deliveries, or the one that delivery_id names, or with kind endpoints the endpoints themselves. */
export function deliveryFinder(
  list: Operation<typeof ListWebhookLogs, TObject>,
  get: Operation<typeof ById, typeof WebhookLog>,
  endpoints: Operation<TObject, TObject>,
) {
  const log = list.input.properties;
  return {
    finds: ["delivery_id"],
    operations: [list, get, endpoints],
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
    output: FoundDeliveries,
    async run(
      ctx: Context,
      {
        kind,
        delivery_id,
        page: number = 1,
        limit,
        ...filter
      }: Static<typeof ListWebhookLogs> & { kind?: "deliveries" | "endpoints"; delivery_id?: number },
    ) {
      const paging = { page: number, ...(limit === undefined ? {} : { limit }) };
      if (kind === "endpoints") {
        rejectUnused("kind endpoints", { delivery_id, ...filter });
        return call(ctx, endpoints, { with: "figures", ...paging });
      }
      if (delivery_id !== undefined) return { data: [await call(ctx, get, { id: delivery_id })] };
      return call(ctx, list, { ...filter, ...paging });
    },
  };
}

/** Redelivers the message that delivery_id names, or all that failed and match, after endpoint_id is enabled on demand. */
export function redelivery(
  one: Operation<typeof ById, typeof WebhookLog>,
  many: Operation<typeof RedeliverWebhooks, typeof RedeliveredWebhooks>,
  enable: Operation<typeof ById, TObject>,
) {
  const which = many.input.properties;
  return {
    operations: [one, many, enable],
    input: {
      delivery_id: Type.Optional(describe(Id, "One; else all that match")),
      endpoint_id: Type.Optional(describe(Id, "Only to this endpoint")),
      enable: Type.Optional(describe(Type.Boolean(), "Enable endpoint_id if it is disabled")),
      event_type: describe(which.event_type, "Only these events"),
      from: describe(which.from, "Created then or later"),
      to: describe(which.to, "Created before then"),
      after_id: describe(which.after_id, "next_after_id of the answer before, to go on"),
    },
    output: Redelivered,
    async run(
      ctx: Context,
      {
        delivery_id,
        enable: enables = false,
        ...filter
      }: Static<typeof RedeliverWebhooks> & { delivery_id?: number; enable?: boolean },
    ) {
      if (delivery_id !== undefined) {
        rejectUnused("delivery_id", { ...filter, enable: enables || undefined });
        return data(call(ctx, one, { id: delivery_id }));
      }
      if (enables) {
        if (filter.endpoint_id === undefined) throw invalid("/endpoint_id", "is required with enable");
        await call(ctx, enable, { id: filter.endpoint_id });
      }
      return data(call(ctx, many, filter));
    },
  };
}
