import { Type } from "@sinclair/typebox";
import { Id } from "../../core/schema.ts";
import { call } from "../../app/operation.ts";
import { decode } from "../../core/validate.ts";
import { data, dataOf } from "../../http/responses.ts";
import { saver } from "../../mcp/shapes.ts";
import { tool } from "../../mcp/tool.ts";
import { describe, describeOnly } from "../../mcp/wire_schema.ts";
import { createMeter, tryMeter, updateMeter } from "./service.ts";

const fields = updateMeter.input.properties;
const { from, to, subscription_ids } = tryMeter.input.properties;

/** Listed without its fields, which are those of a saved one; the operation's own schema reads it. */
const OPEN_METER = Type.Record(Type.String(), Type.Unknown(), {
  description:
    "aggregation, and as a saved meter has them: value, filters, group_keys, percentile, carry_over, such as {aggregation: sum, value: [{key: metadata:input_tokens}]}",
});

const saveMeter = tool({
  name: "billing_save_meter",
  title: "Create or change a meter",
  description:
    "Creates a meter, or changes the one that meter_id names: which events count (filters), what is read of each (value: a sum of numbers, such as metadata:input_tokens), and how they add up (aggregation). What it counts is frozen once a plan that was used names it. billing_try_meter shows first what it would count; billing_save_billing_model charges by it.",
  ...saver("meter_id", createMeter, updateMeter),
  takes_request_id: true,
  input: {
    meter_id: Type.Optional(describe(Id, "The meter to change; leave out to create one")),
    code: describe(fields.code, "Required for a new one"),
    name: describe(fields.name, "The meter's name"),
    aggregation: describe(fields.aggregation, "Required for a new one"),
    value: fields.value,
    filters: fields.filters,
    group_keys: describe(fields.group_keys, "Metadata keys by which prices may differ"),
    percentile: describe(fields.percentile, "Above 0 to 100; of percentile only"),
    carry_over: describe(fields.carry_over, "Of latest only: without a value the last one before counts"),
  },
});

const tryIt = tool({
  name: "billing_try_meter",
  title: "Try a meter on stored events",
  description:
    "Counts stored events by a meter, and saves nothing: quantity, events and skipped events (without a number to count) of each subscription and group. Use it before one is saved, or to see what a plan would count.",
  operations: [tryMeter],
  output: dataOf(tryMeter.output),
  details: [],
  input: {
    meter: OPEN_METER,
    from: describe(from, "The first instant"),
    to: describe(to, "The end, not included"),
    subscription_ids: describeOnly(subscription_ids, "Only these; else those with the most events"),
  },
  run: (ctx, input) => data(call(ctx, tryMeter, decode(tryMeter.input, input))),
});

export const meterTools = [saveMeter, tryIt];
