import { Type } from "@sinclair/typebox";
import { Id, nullable } from "../../core/schema.ts";
import { BILLING_TYPES } from "./billing_types.ts";
import { createBillingModel, updateBillingModel } from "./service.ts";
import { LIMITS } from "../limits.ts";
import { saver } from "../../mcp/shapes.ts";
import { tool } from "../../mcp/tool.ts";
import { describe } from "../../mcp/wire_schema.ts";

const TYPES = BILLING_TYPES.map(({ id, billing_type, price, needs, optional }) => {
  const needed = needs.length > 0 ? `; needs ${needs.join(", ")}` : "";
  const extra = optional.length > 0 ? `; may have ${optional.join(", ")}` : "";
  return `${id} ${billing_type} (price is the ${price}${needed}${extra})`;
}).join("; ");

const pricing = createBillingModel.input.properties;

/** Listed without its fields, which would take a third of the budget; the operation's own schema reads it. */
const OPEN_CHARGE = Type.Record(Type.String(), Type.Unknown(), {
  description:
    "code, name, type (per_unit, graduated, volume, package or fixed), meter_id, per (units that a price is of) and, by its type, price, free_units, usage_tiers, package_size, quantity; prices: [{match: {model: small}, price}]; unmatched: price or free",
});

const open = (description: string) =>
  Type.Optional(nullable(Type.Record(Type.String(), Type.Unknown(), { description })));

const saveBillingModel = tool({
  name: "billing_save_billing_model",
  title: "Create or change a billing model",
  description: `Creates a price plan, or changes the one that billing_model_id names: name and description always, its price only while no subscription has used it. To move subscriptions to another price create a new model, then billing_change_plan. A new one needs billing_type_id, price and currency. Types: ${TYPES}.`,
  ...saver("billing_model_id", createBillingModel, updateBillingModel),
  takes_request_id: true,
  input: {
    billing_model_id: Type.Optional(describe(Id, "The model to change; leave out to create one")),
    name: describe(pricing.name, "The model's name"),
    description: describe(pricing.description, "What it is for"),
    billing_type_id: Type.Optional(describe(pricing.billing_type_id, "1 to 6")),
    price: Type.Optional(describe(pricing.price, "Its meaning depends on the type")),
    currency: Type.Optional(pricing.currency),
    recurring_fee: describe(pricing.recurring_fee, "Fee per month on top of usage"),
    free_units: describe(pricing.free_units, "Free units per month"),
    usage_tiers: describe(pricing.usage_tiers, "In ascending order of up_to, null in the last one"),
    package_size: describe(pricing.package_size, "Units per package"),
    minimum_charge: describe(pricing.minimum_charge, "The least that usage costs"),
    maximum_charge: describe(pricing.maximum_charge, "The most that usage costs"),
    charge_flat_on_zero: describe(pricing.charge_flat_on_zero, "Whether flat fees are charged without usage"),
    credit_plan: open(
      "monthly_credits, credit_consumption (per_unit or per_api_call), overage_rate, rates: [{meter_id, credits}]",
    ),
    meter_id: describe(pricing.meter_id, "What the type itself counts; all usage without it"),
    charges: Type.Optional(
      Type.Array(OPEN_CHARGE, {
        maxItems: LIMITS.charges,
        description: "Charges beside the type, by meters",
      }),
    ),
    commitment: open(
      "minimum, maximum, interval (month or year): what usage and charges cost at least, and at most",
    ),
  },
});

export const billingModelTools = [saveBillingModel];
