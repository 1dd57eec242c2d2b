import { and, asc, eq, isNull, notInArray, or, type SQL } from "drizzle-orm";
import type { Slice } from "../../core/pagination.ts";
import { iso } from "../../core/time.ts";
import { stamped } from "../../store/columns.ts";
import { contains, companyOwned } from "../../store/expressions.ts";
import { exactlyOne } from "../../store/exactly_one.ts";
import type { ReadTx, Reads, Tx } from "../../store/store.ts";
import { FINAL_STATUSES } from "../mandates/model.ts";
import { mandateTable } from "../mandates/tables.ts";
import type { EmandateProduct } from "./model.ts";
import { modeOf } from "./rules.ts";
import { emandateProductTable } from "./tables.ts";

/** The stored columns of a product on the wire. */
function productColumns(q: Reads) {
  const t = q.use(emandateProductTable);
  const { id, company_id, product_code, product_name, max_amount, max_no_debit, frequency } = t;
  const { is_active, created_at, updated_at } = t;
  return {
    id,
    company_id,
    product_code,
    product_name,
    max_amount,
    max_no_debit,
    frequency,
    is_active,
    created_at,
    updated_at,
  };
}

function toProduct(row: Omit<EmandateProduct, "frequency_mode">): EmandateProduct {
  return { ...row, frequency_mode: modeOf(row.frequency) };
}

/** Products by id, and how many there are in all. */
export async function listEmandateProducts(
  tx: ReadTx,
  { search, is_active }: { search?: string; is_active?: boolean },
  { limit, offset }: Slice,
): Promise<{ rows: EmandateProduct[]; total: number }> {
  const t = tx.q.use(emandateProductTable);
  const found =
    search === undefined ? undefined : or(contains(t.product_code, search), contains(t.product_name, search));
  const active = is_active === undefined ? undefined : eq(t.is_active, is_active);
  const where = and(inScope(tx), found, active);
  const rows = await tx.q
    .select(productColumns(tx.q))
    .from(t)
    .where(where)
    .orderBy(asc(t.id))
    .limit(limit)
    .offset(offset);
  return { rows: rows.map(toProduct), total: await tx.q.$count(t, where) };
}

export async function findEmandateProduct(tx: ReadTx, id: number): Promise<EmandateProduct | undefined> {
  const t = tx.q.use(emandateProductTable);
  const [row] = await tx.q
    .select(productColumns(tx.q))
    .from(t)
    .where(and(inScope(tx), eq(t.id, id)));
  return row && toProduct(row);
}

type Editable = Pick<
  EmandateProduct,
  "product_code" | "product_name" | "max_amount" | "max_no_debit" | "frequency"
>;

/** Errors: invalid where the code is another product's, deleted ones included. */
export async function insertEmandateProduct(
  { q, scope, now }: Tx,
  product: Editable,
): Promise<EmandateProduct> {
  const rows = await q
    .insert(q.use(emandateProductTable))
    .values({ ...product, is_active: true, company_id: scope.company_id, ...stamped(now) })
    .returning(productColumns(q));
  return toProduct(exactlyOne(rows));
}

/** Errors: as those of an insert. */
export async function updateEmandateProduct(
  tx: Tx,
  id: number,
  change: Partial<Editable> & { is_active?: boolean; deleted_at?: string },
): Promise<EmandateProduct | undefined> {
  const t = tx.q.use(emandateProductTable);
  const [row] = await tx.q
    .update(t)
    .set({ ...change, updated_at: iso(tx.now) })
    .where(and(inScope(tx), eq(t.id, id)))
    .returning(productColumns(tx.q));
  return row && toProduct(row);
}

/** How many mandates were made after a product; of those that have not ended for good only, if asked so. */
export function countMandatesOf(
  { q, scope }: ReadTx,
  id: number,
  { are_open }: { are_open: boolean },
): Promise<number> {
  const t = q.use(mandateTable);
  const where = and(
    companyOwned(t, scope),
    eq(t.emandate_product_id, id),
    are_open ? notInArray(t.status, [...FINAL_STATUSES]) : undefined,
  );
  return q.$count(t, where).then(Number);
}

function inScope({ q, scope }: ReadTx): SQL | undefined {
  const t = q.use(emandateProductTable);
  return and(companyOwned(t, scope), isNull(t.deleted_at));
}
