import { operation } from "../../app/operation.ts";
import { scopeOf } from "../../core/access.ts";
import { AppError, invalid, notFound } from "../../core/errors.ts";
import { listPage } from "../../core/page.ts";
import { ById, listed, Nothing } from "../../core/schema.ts";
import { iso } from "../../core/time.ts";
import {
  CreateEmandateProduct,
  EmandateProduct,
  ListEmandateProducts,
  UpdateEmandateProduct,
} from "./model.ts";
import * as queries from "./queries.ts";

/** What a product allows a mandate in a period, where it does not say. */
const ONE_DEBIT = "1";

/** Lists the company's e-mandate products by id; whole when no page is asked for. */
export const listEmandateProducts = operation({
  name: "list_emandate_products",
  permission: "emandate:read",
  input: ListEmandateProducts,
  output: listed(EmandateProduct),
  run: ({ store, actor }, { page, limit, ...filter }) =>
    listPage({ page, limit }, (slice) =>
      queries.listEmandateProducts(store.read, scopeOf(actor), filter, slice),
    ),
});

/** Finds one e-mandate product. Errors: not_found. */
export const getEmandateProduct = operation({
  name: "get_emandate_product",
  permission: "emandate:read",
  input: ById,
  output: EmandateProduct,
  async run({ store, actor }, { id }) {
    const product = await queries.findEmandateProduct(store.read, scopeOf(actor), id);
    if (!product) throw notFound("Product", id);
    return product;
  },
});

/** Creates an e-mandate product, active. Errors: invalid where the company has or had its code. */
export const createEmandateProduct = operation({
  name: "create_emandate_product",
  permission: "emandate:write",
  input: CreateEmandateProduct,
  output: EmandateProduct,
  run: ({ store, actor, now }, { max_no_debit = ONE_DEBIT, ...product }) =>
    store.tx((q) => queries.insertEmandateProduct(q, scopeOf(actor), now, { ...product, max_no_debit })),
});

/**
 * Replaces an e-mandate product; mandates keep what they were made with. Errors: not_found, invalid where the code
 * is taken, or is another while a mandate was made under it. Decision 0099.
 */
export const updateEmandateProduct = operation({
  name: "update_emandate_product",
  permission: "emandate:write",
  input: UpdateEmandateProduct,
  output: EmandateProduct,
  run: ({ store, actor, now, note }, { id, max_no_debit = ONE_DEBIT, ...product }) =>
    store.tx(async (q) => {
      const scope = scopeOf(actor);
      const before = await queries.findEmandateProduct(q, scope, id);
      if (!before) throw notFound("Product", id);
      if (product.product_code !== before.product_code) {
        const mandates = await queries.countMandatesOf(q, scope, id, { are_open: false });
        if (mandates > 0)
          throw invalid("/product_code", `must stay ${before.product_code}: mandates were made under it`);
      }
      const after = await queries.updateEmandateProduct(q, scope, now, id, { ...product, max_no_debit });
      if (!after) throw notFound("Product", id);
      note({ before, after });
      return after;
    }),
});

/**
 * Deletes an e-mandate product; its code stays taken. Errors: not_found, conflict while a mandate that was made
 * after it has not ended.
 */
export const deleteEmandateProduct = operation({
  name: "delete_emandate_product",
  permission: "emandate:write",
  input: ById,
  output: Nothing,
  run: ({ store, actor, now }, { id }) =>
    store.tx(async (q) => {
      const scope = scopeOf(actor);
      const open = await queries.countMandatesOf(q, scope, id, { are_open: true });
      if (open > 0) {
        const mandates = open === 1 ? "1 mandate that has" : `${open} mandates that have`;
        throw new AppError("conflict", `Cannot delete product ${id}: it has ${mandates} not ended`);
      }
      const product = await queries.updateEmandateProduct(q, scope, now, id, { deleted_at: iso(now) });
      if (!product) throw notFound("Product", id);
      return {};
    }),
});
