import { operation } from "../../app/operation.ts";
import { scopeOf } from "../../core/access.ts";
import { inUse, notFound } from "../../core/errors.ts";
import { listPage } from "../../core/page.ts";
import { ById, listed, Nothing } from "../../core/schema.ts";
import { iso } from "../../core/time.ts";
import { recordEvents } from "../events/queries.ts";
import { countActiveSubscriptions } from "../subscriptions/queries.ts";
import { CreateProduct, ListProducts, Product, UpdateProduct } from "./model.ts";
import * as queries from "./queries.ts";

/** Lists the company's products by id; whole when no page is asked for. */
export const listProducts = operation({
  name: "list_products",
  permission: "products:read",
  input: ListProducts,
  output: listed(Product),
  run: ({ store, actor }, { page, limit, ...filter }) =>
    listPage({ page, limit }, (slice) => queries.listProducts(store.read, scopeOf(actor), filter, slice)),
});

/** Finds one product. Errors: not_found. */
export const getProduct = operation({
  name: "get_product",
  permission: "products:read",
  input: ById,
  output: Product,
  async run({ store, actor }, { id }) {
    const product = await queries.findProduct(store.read, scopeOf(actor), id);
    if (!product) throw notFound("Product", id);
    return product;
  },
});

/** Creates a product. */
export const createProduct = operation({
  name: "create_product",
  permission: "products:write",
  input: CreateProduct,
  output: Product,
  run: ({ store, actor, now }, { name }) =>
    store.tx(async (q) => {
      const scope = scopeOf(actor);
      const product = await queries.insertProduct(q, scope, now, name);
      await recordEvents(q, scope, now, [{ type: "product.created", data: { id: product.id } }]);
      return product;
    }),
});

/** Renames a product. Errors: not_found. */
export const updateProduct = operation({
  name: "update_product",
  permission: "products:write",
  input: UpdateProduct,
  output: Product,
  run: ({ store, actor, now, note }, { id, name }) =>
    store.tx(async (q) => {
      const scope = scopeOf(actor);
      const before = await queries.findProduct(q, scope, id);
      const product = await queries.updateProduct(q, scope, now, id, { name });
      if (!before || !product) throw notFound("Product", id);
      note({ before, after: product });
      await recordEvents(q, scope, now, [{ type: "product.updated", data: { id } }]);
      return product;
    }),
});

/**
 * Deletes a product; ended subscriptions still tell of it. Errors: not_found, conflict while active
 * subscriptions use it.
 */
export const deleteProduct = operation({
  name: "delete_product",
  permission: "products:write",
  input: ById,
  output: Nothing,
  run: ({ store, actor, now }, { id }) =>
    store.tx(async (q) => {
      const scope = scopeOf(actor);
      const active = await countActiveSubscriptions(q, scope, now, { product_id: id });
      if (active > 0) throw inUse("product", id, active);
      const product = await queries.updateProduct(q, scope, now, id, { deleted_at: iso(now) });
      if (!product) throw notFound("Product", id);
      await recordEvents(q, scope, now, [{ type: "product.deleted", data: { id } }]);
      return {};
    }),
});
