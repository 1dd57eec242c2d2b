import { operation } from "../../app/operation.ts";
import { inUse, orNotFound } from "../../core/errors.ts";
import { listPage } from "../../core/pagination.ts";
import { ById, listed, Nothing } from "../../core/schema.ts";
import { iso } from "../../core/time.ts";
import { recordEvents } from "../../webhooks/events/queries.ts";
import { countActiveSubscriptions } from "../subscriptions/queries.ts";
import { CreateProduct, ListProducts, Product, UpdateProduct } from "./model.ts";
import * as queries from "./queries.ts";
import { readTx, transaction } from "../../app/transaction.ts";

/** Lists the company's products by id; whole when no page is asked for. */
export const listProducts = operation({
  name: "list_products",
  permission: "products:read",
  input: ListProducts,
  output: listed(Product),
  run: (ctx, { page, limit, ...filter }) =>
    listPage({ page, limit }, (slice) => queries.listProducts(readTx(ctx), filter, slice)),
});

/** Finds one product. Errors: not_found. */
export const getProduct = operation({
  name: "get_product",
  permission: "products:read",
  input: ById,
  output: Product,
  run: async (ctx, { id }) => orNotFound(await queries.findProduct(readTx(ctx), id), "Product", id),
});

/** Creates a product. */
export const createProduct = operation({
  name: "create_product",
  permission: "products:write",
  input: CreateProduct,
  output: Product,
  run: (ctx, { name }) =>
    transaction(ctx, async (tx) => {
      const product = await queries.insertProduct(tx, name);
      await recordEvents(tx, [{ type: "product.created", data: { id: product.id } }]);
      return product;
    }),
});

/** Renames a product. Errors: not_found. */
export const updateProduct = operation({
  name: "update_product",
  permission: "products:write",
  input: UpdateProduct,
  output: Product,
  run: (ctx, { id, name }) =>
    transaction(ctx, async (tx) => {
      const before = orNotFound(await queries.findProduct(tx, id), "Product", id);
      const product = orNotFound(await queries.updateProduct(tx, id, { name }), "Product", id);
      ctx.annotateAudit({ before, after: product });
      await recordEvents(tx, [{ type: "product.updated", data: { id } }]);
      return product;
    }),
});

/** Deletes a product; ended subscriptions still show it. Errors: not_found, conflict while active ones use it. */
export const deleteProduct = operation({
  name: "delete_product",
  permission: "products:write",
  uses_reserve: true,
  input: ById,
  output: Nothing,
  run: (ctx, { id }) =>
    transaction(ctx, async (tx) => {
      const active = await countActiveSubscriptions(tx, { product_id: id });
      if (active > 0) throw inUse("product", id, active);
      orNotFound(await queries.updateProduct(tx, id, { deleted_at: iso(ctx.now) }), "Product", id);
      await recordEvents(tx, [{ type: "product.deleted", data: { id } }]);
      return {};
    }),
});
