import { Type } from "@sinclair/typebox";
import { Id } from "../../core/schema.ts";
import { BILLING_TYPES } from "./billing_types.ts";
import { createBillingModel, getBillingModel, listBillingModels, updateBillingModel } from "./service.ts";
import { page, search } from "../../mcp/params.ts";
import { finder, saver } from "../../mcp/shapes.ts";
import { tool } from "../../mcp/tool.ts";
import { describe } from "../../mcp/wire_schema.ts";

/** Left out of concise results: only some billing types have them. */
const PRICING_DETAILS = ["package_size", "maximum_charge", "charge_flat_on_zero"];

const findBillingModels = tool({
  name: "billing_find_billing_models",
  title: "Find billing models",
  description:
    "Finds price plans by text in the name or by id, with usage tiers and credit plan. Use it before creating a subscription or changing a plan; response_format detailed adds package size and maximum charge.",
  ...finder("billing_model_id", listBillingModels, getBillingModel),
  finds: ["billing_model_id", "new_billing_model_id", "from_billing_model_id", "to_billing_model_id"],
  details: PRICING_DETAILS,
  input: {
    billing_model_id: Type.Optional(describe(Id, "The billing model's id")),
    search,
    ...page,
  },
});

const TYPES = BILLING_TYPES.map(({ id, billing_type, price, needs, optional }) => {
  const fields = [...needs.map((field) => `needs ${field}`), ...optional.map((field) => `may have ${field}`)];
  return `${id} ${billing_type} (price is the ${price}${fields.length > 0 ? `; ${fields.join(", ")}` : ""})`;
}).join("; ");

const pricing = createBillingModel.input.properties;

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
    billing_type_id: Type.Optional(describe(pricing.billing_type_id, "1 to 6, see the types above")),
    price: Type.Optional(describe(pricing.price, "Its meaning depends on the type")),
    currency: Type.Optional(pricing.currency),
    recurring_fee: describe(pricing.recurring_fee, "Fee per month on top of usage"),
    free_units: describe(pricing.free_units, "Free units per month"),
    usage_tiers: describe(
      pricing.usage_tiers,
      "Tiers in ascending order of up_to, null in the last one; each has unit_price and, optionally, flat_fee",
    ),
    package_size: describe(pricing.package_size, "Units per package"),
    minimum_charge: describe(pricing.minimum_charge, "The least that usage costs"),
    maximum_charge: describe(pricing.maximum_charge, "The most that usage costs"),
    charge_flat_on_zero: describe(pricing.charge_flat_on_zero, "Whether flat fees are charged without usage"),
    credit_plan: pricing.credit_plan,
  },
});

export const billingModelTools = [findBillingModels, saveBillingModel];
