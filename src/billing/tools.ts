import { Type } from "@sinclair/typebox";
import type { Context } from "../app/context.ts";
import { call } from "../app/operation.ts";
import { Id, Name, Nothing, oneOf } from "../core/schema.ts";
import { deleteBillingModel, getBillingModel } from "./billing_models/service.ts";
import { createClient, deleteClient, getClient, updateClient } from "./clients/service.ts";
import { createProduct, deleteProduct, getProduct, updateProduct } from "./products/service.ts";
import { data, dataOf } from "../http/responses.ts";
import { saver } from "../mcp/shapes.ts";
import { tool } from "../mcp/tool.ts";
import { describe } from "../mcp/wire_schema.ts";

// Parameters and tools that all of billing shares.

export const client_id = describe(Id, "The client's id");
export const product_id = describe(Id, "The product's id");
export const subscription_id = describe(Id, "The subscription's id, or your own");

const NAMES = {
  client: (ctx: Context, id: number) => call(ctx, getClient, { id }),
  product: (ctx: Context, id: number) => call(ctx, getProduct, { id }),
  billing_model: (ctx: Context, id: number) => call(ctx, getBillingModel, { id }),
};
const DELETIONS = { client: deleteClient, product: deleteProduct, billing_model: deleteBillingModel };

const deleteRecord = tool({
  name: "billing_delete",
  title: "Delete a client, product or billing model",
  description:
    "Deletes a client (with its users), a product or a billing model. Refused while active subscriptions use it: billing_cancel_subscription ends those. Bills stay. Ask the person first.",
  operations: Object.values(DELETIONS),
  is_destructive: true,
  input: {
    kind: describe(oneOf(["client", "product", "billing_model"]), "The kind of record"),
    id: describe(Id, "Its id"),
  },
  output: dataOf(Nothing),
  async asks(ctx, { kind, id }) {
    const { name } = await NAMES[kind](ctx, id);
    const words = { client: "client", product: "product", billing_model: "billing model" };
    const users = kind === "client" ? ", with its users" : "";
    return `Deletes the ${words[kind]} ${name} (${id})${users}, for good. Bills stay.`;
  },
  run: (ctx, { kind, id }) => data(call(ctx, DELETIONS[kind], { id })),
});

const SAVERS = {
  client: saver("id", createClient, updateClient),
  product: saver("id", createProduct, updateProduct),
};

const saveRecord = tool({
  name: "billing_save",
  title: "Create or rename a client or product",
  description:
    "Creates a client or a product, or renames the one that id names. Search first, with billing_find_clients or billing_find_catalog: two may have the same name.",
  operations: Object.values(SAVERS).flatMap(({ operations }) => operations),
  takes_request_id: true,
  input: {
    kind: describe(oneOf(["client", "product"]), "The kind of record"),
    id: Type.Optional(describe(Id, "The one to rename; leave out to create one")),
    name: describe(Name, "Its name"),
  },
  output: SAVERS.client.output,
  run: (ctx, { kind, ...input }) => SAVERS[kind].run(ctx, input),
});

export const billingTools = [saveRecord, deleteRecord];
