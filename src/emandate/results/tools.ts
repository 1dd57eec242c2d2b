import { call } from "../../app/operation.ts";
import { runScenario } from "./service.ts";
import { data, dataOf } from "../../http/responses.ts";
import { tool } from "../../mcp/tool.ts";
import { describe } from "../../mcp/wire_schema.ts";
import { RanScenario } from "./model.ts";

const fields = runScenario.input.properties;

const playScenario = tool({
  name: "emandate_run_scenario",
  title: "Run a sandbox scenario",
  description:
    "Plays the bank and the customer in the sandbox; refused elsewhere. For a mandate: mandate_authorized, then mandate_activated; mandate_rejected, mandate_cancelled_by_customer, mandate_terminated_by_bank, mandate_expired. For a payment: payment_paid, payment_insufficient_funds, payment_account_closed, payment_pending; once paid, payment_late_failure, payment_charged_back.",
  operations: [runScenario],
  is_destructive: true,
  input: {
    scenario: describe(fields.name, "The scenario's name"),
    mandate_id: describe(fields.mandate_id, "For scenarios of a mandate"),
    payment_id: describe(fields.payment_id, "For scenarios of a payment"),
  },
  output: dataOf(RanScenario),
  run: (ctx, { scenario: name, ...subject }) => data(call(ctx, runScenario, { name, ...subject })),
});

export const scenarioTools = [playScenario];
