import { Type } from "@sinclair/typebox";
import { call } from "../../app/operation.ts";
import { Id, listed, Name, Nothing, oneOf } from "../../core/schema.ts";
import { decode } from "../../core/validate.ts";
import { BILLING_TYPES } from "../../features/billing_models/billing_types.ts";
import {
  BillingModel,
  CreateBillingModel,
  UpdateBillingModelBody,
} from "../../features/billing_models/model.ts";
import {
  createBillingModel,
  deleteBillingModel,
  getBillingModel,
  listBillingModels,
  updateBillingModel,
} from "../../features/billing_models/service.ts";
import { Client, ClientDetail } from "../../features/clients/model.ts";
import {
  createClient,
  deleteClient,
  getClient,
  listClients,
  updateClient,
} from "../../features/clients/service.ts";
import { Product } from "../../features/products/model.ts";
import {
  createProduct,
  deleteProduct,
  getProduct,
  listProducts,
  updateProduct,
} from "../../features/products/service.ts";
import { data, dataOf } from "../../http/answers.ts";
import { billing_model_id, client_id, page, product_id, search } from "../params.ts";
import { tool } from "../tool.ts";
import { said } from "../wire_schema.ts";

const { subscriptions } = ClientDetail.properties;

const findClients = tool({
  name: "billing_find_clients",
  title: "Find clients",
  description:
    "Finds the company's clients by text in the name, or one by its id together with its subscriptions. Start here when a person names a customer; then billing_find_subscriptions with the client_id.",
  level: "company",
  operations: [listClients, getClient],
  details: [],
  input: { client_id: Type.Optional(client_id), search, ...page },
  output: listed(Type.Object({ ...Client.properties, subscriptions: Type.Optional(subscriptions) })),
  run: async (ctx, { client_id: id, page: at = 1, ...filter }) =>
    id === undefined
      ? call(ctx, listClients, { ...filter, page: at })
      : { data: [await call(ctx, getClient, { id })] },
});

const saveClient = tool({
  name: "billing_save_client",
  title: "Create or rename a client",
  description:
    "Creates a client, or renames the one that client_id names. Look with billing_find_clients first: two clients may have one name.",
  level: "company",
  operations: [createClient, updateClient],
  takes_request_id: true,
  input: {
    client_id: Type.Optional(said(Id, "The client to rename; left out, a new one is created")),
    name: said(Name, "The client's name"),
  },
  output: dataOf(Client),
  run: (ctx, { client_id: id, name }) =>
    data(id === undefined ? call(ctx, createClient, { name }) : call(ctx, updateClient, { id, name })),
});

const findProducts = tool({
  name: "billing_find_products",
  title: "Find products",
  description: "Finds what the company sells, by text in the name or by id.",
  level: "company",
  operations: [listProducts, getProduct],
  details: [],
  input: { product_id: Type.Optional(product_id), search, ...page },
  output: listed(Product),
  run: async (ctx, { product_id: id, page: at = 1, ...filter }) =>
    id === undefined
      ? call(ctx, listProducts, { ...filter, page: at })
      : { data: [await call(ctx, getProduct, { id })] },
});

const saveProduct = tool({
  name: "billing_save_product",
  title: "Create or rename a product",
  description: "Creates a product, or renames the one that product_id names.",
  level: "company",
  operations: [createProduct, updateProduct],
  takes_request_id: true,
  input: {
    product_id: Type.Optional(said(Id, "The product to rename; left out, a new one is created")),
    name: said(Name, "The product's name"),
  },
  output: dataOf(Product),
  run: (ctx, { product_id: id, name }) =>
    data(id === undefined ? call(ctx, createProduct, { name }) : call(ctx, updateProduct, { id, name })),
});

/** What only some billing types take, and nobody asks what a plan costs for; concise answers leave it out. */
const PRICING_DETAILS = ["package_size", "maximum_charge", "charge_flat_on_zero"];

const findBillingModels = tool({
  name: "billing_find_billing_models",
  title: "Find billing models",
  description:
    "Finds price plans by text in the name or by id, with usage tiers and credit plan. Use it before creating a subscription or changing a plan; response_format detailed adds package size and maximum.",
  level: "company",
  operations: [listBillingModels, getBillingModel],
  details: PRICING_DETAILS,
  input: { billing_model_id: Type.Optional(billing_model_id), search, ...page },
  output: listed(BillingModel),
  run: async (ctx, { billing_model_id: id, page: at = 1, ...filter }) =>
    id === undefined
      ? call(ctx, listBillingModels, { ...filter, page: at })
      : { data: [await call(ctx, getBillingModel, { id })] },
});

const TYPES = BILLING_TYPES.map(({ id, billing_type, price, needs, optional }) => {
  const fields = [...needs.map((field) => `needs ${field}`), ...optional.map((field) => `may have ${field}`)];
  return `${id} ${billing_type} (price is the ${price}${fields.length > 0 ? `; ${fields.join(", ")}` : ""})`;
}).join("; ");

const pricing = CreateBillingModel.properties;

const saveBillingModel = tool({
  name: "billing_save_billing_model",
  title: "Create or change a billing model",
  description: `Creates a price plan, or changes the one that billing_model_id names: name and description always, its price only while no subscription has used it. To move subscriptions to another price create a new model, then billing_change_plan. A new one needs billing_type_id, price and currency. Types: ${TYPES}.`,
  level: "company",
  operations: [createBillingModel, updateBillingModel],
  takes_request_id: true,
  input: {
    billing_model_id: Type.Optional(said(Id, "The model to change; left out, a new one is created")),
    name: said(pricing.name, "The model's name"),
    description: said(pricing.description, "What it is for"),
    billing_type_id: Type.Optional(said(pricing.billing_type_id, "1 to 6, see the types above")),
    price: Type.Optional(said(pricing.price, "What it means depends on the type")),
    currency: Type.Optional(pricing.currency),
    recurring_fee: said(pricing.recurring_fee, "Fee per month beside the usage"),
    free_units: said(pricing.free_units, "Units a month that cost nothing"),
    usage_tiers: said(
      pricing.usage_tiers,
      "Steps in ascending order of up_to, the last with up_to null; each with unit_price and, if wanted, flat_fee",
    ),
    package_size: said(pricing.package_size, "Units of a package"),
    minimum_charge: said(pricing.minimum_charge, "What usage costs at least"),
    maximum_charge: said(pricing.maximum_charge, "What usage costs at most"),
    charge_flat_on_zero: said(pricing.charge_flat_on_zero, "Whether flat fees are due without usage"),
    credit_plan: pricing.credit_plan,
  },
  output: dataOf(BillingModel),
  run: (ctx, { billing_model_id: id, ...input }) =>
    data(
      id === undefined
        ? call(ctx, createBillingModel, decode(CreateBillingModel, input))
        : call(ctx, updateBillingModel, { id, ...decode(UpdateBillingModelBody, input) }),
    ),
});

const KINDS = ["client", "product", "billing_model"] as const;
const DELETIONS = { client: deleteClient, product: deleteProduct, billing_model: deleteBillingModel };

const deleteRecord = tool({
  name: "billing_delete",
  title: "Delete a client, product or billing model",
  description:
    "Deletes a client (with its users), a product or a billing model. Refused while active subscriptions use it: billing_cancel_subscription ends those. Bills stay on record. Ask the person first.",
  level: "company",
  operations: Object.values(DELETIONS),
  is_destructive: true,
  input: {
    kind: said(oneOf(KINDS), "What is deleted"),
    id: said(Id, "Its id"),
  },
  output: dataOf(Nothing),
  run: (ctx, { kind, id }) => data(call(ctx, DELETIONS[kind], { id })),
});

export const catalogTools = [
  findClients,
  saveClient,
  findProducts,
  saveProduct,
  findBillingModels,
  saveBillingModel,
  deleteRecord,
];
