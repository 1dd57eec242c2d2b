import { type TObject, type TProperties, Type } from "@sinclair/typebox";
import { Id, oneOf } from "../core/schema.ts";
import { page, search } from "../mcp/params.ts";
import { finder } from "../mcp/shapes.ts";
import { tool } from "../mcp/tool.ts";
import { describe } from "../mcp/wire_schema.ts";
import { getAddOn, listAddOns } from "./add_ons/service.ts";
import { getBillingModel, listBillingModels } from "./billing_models/service.ts";
import { getMeter, listMeters } from "./meters/service.ts";
import { getProduct, listProducts } from "./products/service.ts";

// What a company sells, and how it counts what is used, by one tool.

const KINDS = {
  product: finder("id", listProducts, getProduct),
  billing_model: finder("id", listBillingModels, getBillingModel),
  meter: finder("id", listMeters, getMeter),
  add_on: finder("id", listAddOns, getAddOn),
};

/** The fields of records of all kinds; none of a kind is there on another. */
const fields: TProperties = {
  ...getProduct.output.properties,
  ...getAddOn.output.properties,
  ...getMeter.output.properties,
  ...getBillingModel.output.properties,
};
const { meta } = listMeters.output.properties;
const records = Type.Array(Type.Partial(Type.Object(fields)));
const output: TObject = Type.Object({ data: records, meta: Type.Optional(meta) });

const findCatalog = tool({
  name: "billing_find_catalog",
  title: "Find products, billing models, meters or add-ons",
  description:
    "Finds what the company sells, by text in the name or by id: products, billing models (price plans with tiers, charges and credit plan), meters (what charges count) or add-ons. Use it before creating a subscription or changing a plan.",
  finds: [
    "billing_model_id",
    "new_billing_model_id",
    "from_billing_model_id",
    "to_billing_model_id",
    "product_id",
    "product_ids",
    "meter_id",
    "add_on_id",
  ],
  operations: Object.values(KINDS).flatMap(({ operations }) => operations),
  details: ["charge_flat_on_zero"],
  input: {
    kind: describe(oneOf(["product", "billing_model", "meter", "add_on"]), "The kind of record"),
    id: Type.Optional(describe(Id, "The id of one")),
    search,
    ...page,
  },
  output,
  run: (ctx, { kind, ...input }) => KINDS[kind].run(ctx, input),
});

export const catalogTools = [findCatalog];
