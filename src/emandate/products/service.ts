import { operation } from "../../app/operation.ts";
import { AppError, invalid, orNotFound } from "../../core/errors.ts";
import { listPage } from "../../core/pagination.ts";
import { ById, listed, Nothing } from "../../core/schema.ts";
import { iso } from "../../core/time.ts";
import {
  CreateEmandateProduct,
  EmandateProduct,
  ListEmandateProducts,
  UpdateEmandateProduct,
} from "./model.ts";
import * as queries from "./queries.ts";
import { readTx, transaction } from "../../app/transaction.ts";

/** The default of max_no_debit. */
const ONE_DEBIT = "1";

/** Lists the company's e-mandate products by id; all of them unless a page is requested. */
export const listEmandateProducts = operation({
  name: "list_emandate_products",
  permission: "emandate:read",
  input: ListEmandateProducts,
  output: listed(EmandateProduct),
  run: (ctx, { page, limit, ...filter }) =>
    listPage({ page, limit }, (slice) => queries.listEmandateProducts(readTx(ctx), filter, slice)),
});

/** Finds one e-mandate product. Errors: not_found. */
export const getEmandateProduct = operation({
  name: "get_emandate_product",
  permission: "emandate:read",
  input: ById,
  output: EmandateProduct,
  run: async (ctx, { id }) => orNotFound(await queries.findEmandateProduct(readTx(ctx), id), "Product", id),
});

/** Creates an active e-mandate product. Errors: invalid where the company has used its code before. */
export const createEmandateProduct = operation({
  name: "create_emandate_product",
  permission: "emandate:write",
  input: CreateEmandateProduct,
  output: EmandateProduct,
  run: (ctx, { max_no_debit = ONE_DEBIT, ...product }) =>
    transaction(ctx, (tx) => queries.insertEmandateProduct(tx, { ...product, max_no_debit })),
});

/**
 * Replaces an e-mandate product; existing mandates keep their terms. Errors: not_found; invalid where the code is
 * taken, or changes although mandates were made under it. Decision 0099.
 */
export const updateEmandateProduct = operation({
  name: "update_emandate_product",
  permission: "emandate:write",
  input: UpdateEmandateProduct,
  output: EmandateProduct,
  run: (ctx, { id, max_no_debit = ONE_DEBIT, ...product }) =>
    transaction(ctx, async (tx) => {
      const before = orNotFound(await queries.findEmandateProduct(tx, id), "Product", id);
      if (product.product_code !== before.product_code) {
        const mandates = await queries.countMandatesOf(tx, id, { are_open: false });
        if (mandates > 0)
          throw invalid("/product_code", `must stay ${before.product_code}: mandates were made under it`);
      }
      const change = { ...product, max_no_debit };
      const after = orNotFound(await queries.updateEmandateProduct(tx, id, change), "Product", id);
      ctx.annotateAudit({ before, after });
      return after;
    }),
});

/**
 * Deletes an e-mandate product; its code stays taken. Errors: not_found; conflict while a mandate made from it has
 * not ended.
 */
export const deleteEmandateProduct = operation({
  name: "delete_emandate_product",
  permission: "emandate:write",
  uses_reserve: true,
  input: ById,
  output: Nothing,
  run: (ctx, { id }) =>
    transaction(ctx, async (tx) => {
      const open = await queries.countMandatesOf(tx, id, { are_open: true });
      if (open > 0) {
        const mandates = open === 1 ? "1 mandate that has" : `${open} mandates that have`;
        throw new AppError("conflict", `Cannot delete product ${id}: it has ${mandates} not ended`);
      }
      const change = { deleted_at: iso(ctx.now) };
      orNotFound(await queries.updateEmandateProduct(tx, id, change), "Product", id);
      return {};
    }),
});
