import { and, asc, eq, isNull, type SQL } from "drizzle-orm";
import type { Scope } from "../../core/access.ts";
import type { Slice } from "../../core/page.ts";
import { iso } from "../../core/time.ts";
import { stamped } from "../../store/columns.ts";
import { containing } from "../../store/expressions.ts";
import { columnsOf, listRows } from "../../store/list_rows.ts";
import { only } from "../../store/rows.ts";
import type { Queries, Reads } from "../../store/store.ts";
import { Product } from "./model.ts";
import { productTable } from "./tables.ts";

/** The columns of a product on the wire. */
export const productColumns = (q: Reads) => columnsOf(q.use(productTable), Product);

/** Products by id, and how many there are in all. */
export function listProducts(q: Reads, scope: Scope, { search }: { search?: string }, slice: Slice) {
  const t = q.use(productTable);
  const where = and(inScope(q, scope), containing(t.name, search));
  return listRows(q, t, { columns: productColumns(q), where, order: asc(t.id), slice });
}

export async function findProduct(q: Reads, scope: Scope, id: number): Promise<Product | undefined> {
  const t = q.use(productTable);
  const [product] = await q
    .select(productColumns(q))
    .from(t)
    .where(and(inScope(q, scope), eq(t.id, id)));
  return product;
}

export async function insertProduct(
  q: Queries,
  scope: Scope,
  now: Temporal.Instant,
  name: string,
): Promise<Product> {
  const rows = await q
    .insert(q.use(productTable))
    .values({ name, company_id: scope.company_id, ...stamped(now) })
    .returning(productColumns(q));
  return only(rows);
}

export async function updateProduct(
  q: Queries,
  scope: Scope,
  now: Temporal.Instant,
  id: number,
  change: { name?: string; deleted_at?: string },
): Promise<Product | undefined> {
  const products = q.use(productTable);
  const [product] = await q
    .update(products)
    .set({ ...change, updated_at: iso(now) })
    .where(and(inScope(q, scope), eq(products.id, id)))
    .returning(productColumns(q));
  return product;
}

/** Products belong to the company as a whole: a client user meets them only inside its subscriptions. */
function inScope(q: Reads, scope: Scope): SQL | undefined {
  const products = q.use(productTable);
  return and(eq(products.company_id, scope.company_id), isNull(products.deleted_at));
}
