import { and, eq, isNull, type SQL } from "drizzle-orm";
import type { Slice } from "../../core/pagination.ts";
import { iso } from "../../core/time.ts";
import { stamped } from "../../store/columns.ts";
import { insertRow } from "../../store/insert_rows.ts";
import { containing } from "../../store/expressions.ts";
import { columnsOf, findRow, listRows, orderOf } from "../../store/list_rows.ts";
import type { ReadTx, Reads, Tx } from "../../store/store.ts";
import { Product } from "./model.ts";
import { productTable } from "./tables.ts";

/** The columns of a product on the wire. */
export const productColumns = (q: Reads) => columnsOf(q.use(productTable), Product);

/** Products by id, and how many there are in all. */
export function listProducts(tx: ReadTx, { search, sort }: { search?: string; sort?: string }, slice: Slice) {
  const t = tx.q.use(productTable);
  const where = and(inScope(tx), containing(t.name, search));
  return listRows(tx.q, t, { columns: productColumns(tx.q), where, order: orderOf(t, sort), slice });
}

export function findProduct(tx: ReadTx, id: number): Promise<Product | undefined> {
  const t = tx.q.use(productTable);
  return findRow(tx.q, t, { columns: productColumns(tx.q), where: and(inScope(tx), eq(t.id, id)) });
}

export async function insertProduct({ q, scope, now }: Tx, name: string): Promise<Product> {
  const row = { name, company_id: scope.company_id, ...stamped(now) };
  return insertRow(q, q.use(productTable), row, productColumns(q));
}

export async function updateProduct(
  tx: Tx,
  id: number,
  change: { name?: string; deleted_at?: string },
): Promise<Product | undefined> {
  const products = tx.q.use(productTable);
  const [product] = await tx.q
    .update(products)
    .set({ ...change, updated_at: iso(tx.now) })
    .where(and(inScope(tx), eq(products.id, id)))
    .returning(productColumns(tx.q));
  return product;
}

/** The company's products; a client user sees them only inside its subscriptions. */
function inScope({ q, scope }: ReadTx): SQL | undefined {
  const products = q.use(productTable);
  return and(eq(products.company_id, scope.company_id), isNull(products.deleted_at));
}
