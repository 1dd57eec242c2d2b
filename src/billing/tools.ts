import { call } from "../app/operation.ts";
import { Id, Nothing, oneOf } from "../core/schema.ts";
import { deleteBillingModel } from "./billing_models/service.ts";
import { deleteClient } from "./clients/service.ts";
import { deleteProduct } from "./products/service.ts";
import { data, dataOf } from "../http/responses.ts";
import { tool } from "../mcp/tool.ts";
import { describe } from "../mcp/wire_schema.ts";

// Parameters and tools that all of billing shares.

export const client_id = describe(Id, "The client's id");
export const product_id = describe(Id, "The product's id");
export const subscription_id = describe(Id, "The subscription's id");

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
  run: (ctx, { kind, id }) => data(call(ctx, DELETIONS[kind], { id })),
});

export const billingTools = [deleteRecord];
