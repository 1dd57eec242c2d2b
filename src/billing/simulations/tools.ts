import { type TObject, type TProperties, Type } from "@sinclair/typebox";
import { call } from "../../app/operation.ts";
import { Id } from "../../core/schema.ts";
import { decode } from "../../core/validate.ts";
import { invalid } from "../../core/errors.ts";
import { data, dataOf } from "../../http/responses.ts";
import { page } from "../../mcp/params.ts";
import { finder } from "../../mcp/shapes.ts";
import { tool } from "../../mcp/tool.ts";
import { describe, describeOnly } from "../../mcp/wire_schema.ts";
import { createSimulation, getSimulation, listSimulationRows, listSimulations } from "./service.ts";

const { billing_model_id, from, to } = createSimulation.input.properties;

/** Listed without their fields; the operation's own schema reads them. */
const OPEN_MODEL = Type.Record(Type.String(), Type.Unknown(), {
  description: "as a saved one: name, description, billing_type_id, price, currency, charges and so on",
});
const OPEN_OF = Type.Record(Type.String(), Type.Unknown(), {
  description: "one of billing_model_id (what was billed by it), client_ids, subscription_ids",
});

const simulatePrices = tool({
  name: "billing_simulate_prices",
  title: "Try prices on past months",
  description:
    "What months that were billed would have come to under another price: a draft that is saved nowhere, or a stored model. It goes on in the background: billing_find_simulations shows how far it got, totals, and who would pay more. No bill changes.",
  operations: [createSimulation],
  takes_request_id: true,
  details: [],
  is_always_concise: true,
  input: {
    billing_model: Type.Optional(describe(OPEN_MODEL, "A draft to try; or billing_model_id")),
    billing_model_id: describe(billing_model_id, "A stored model to try"),
    of: Type.Optional(describe(OPEN_OF, "Whose bills; without it, all")),
    from: describe(from, "The first month"),
    to: describeOnly(to, "The last month, counted too"),
  },
  output: dataOf(createSimulation.output),
  run: (ctx, input) => data(call(ctx, createSimulation, decode(createSimulation.input, input))),
});

const simulations = finder("simulation_id", listSimulations, getSimulation);
/** The fields of simulations and of their rows; none of one is there on the other, but for amounts. */
const fields: TProperties = {
  ...listSimulationRows.output.properties.data.items.properties,
  ...getSimulation.output.properties,
};
const either: TObject = Type.Object({
  data: Type.Array(Type.Partial(Type.Object(fields))),
  meta: Type.Optional(listSimulations.output.properties.meta),
});

const findSimulations = tool({
  name: "billing_find_simulations",
  title: "Find simulations of prices",
  description:
    "Lists simulations, newest first; or one by simulation_id with totals, months, charges and the spread of differences by subscription. reproduces: whether the prices in force come to what was billed. With rows: its subscriptions, each with billed, simulated and difference.",
  finds: simulations.finds,
  operations: [...simulations.operations, listSimulationRows],
  details: ["billing_model", "requested_by", "attempts"],
  input: {
    simulation_id: Type.Optional(describe(Id, "One simulation")),
    rows: Type.Optional(describe(Type.Boolean(), "The subscriptions of simulation_id")),
    ...page,
  },
  output: either,
  run(ctx, { rows = false, ...input }) {
    if (!rows) return simulations.run(ctx, input);
    const { simulation_id: id, ...slice } = input;
    if (id === undefined) throw invalid("/simulation_id", "is required with rows");
    return call(ctx, listSimulationRows, { id, page: 1, ...slice });
  },
});

export const simulationTools = [simulatePrices, findSimulations];
