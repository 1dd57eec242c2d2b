import { type Static, Type } from "@sinclair/typebox";
import { and, eq, isNull, notInArray, or, type SQL } from "drizzle-orm";
import type { Slice } from "../../core/pagination.ts";
import { iso } from "../../core/time.ts";
import { stamped } from "../../store/columns.ts";
import { companyOwned, containing } from "../../store/expressions.ts";
import { columnsOf, findRow, listRows, matching, orderOf } from "../../store/list_rows.ts";
import { exactlyOne } from "../../store/exactly_one.ts";
import type { ReadTx, Reads, Tx } from "../../store/store.ts";
import { countRows } from "../../store/select_rows.ts";
import { FINAL_STATUSES } from "../mandates/model.ts";
import { mandateTable } from "../mandates/tables.ts";
import { EmandateProduct } from "./model.ts";
import { modeOf } from "./rules.ts";
import { emandateProductTable } from "./tables.ts";

const StoredProduct = Type.Omit(EmandateProduct, ["frequency_mode"]);
type StoredProduct = Static<typeof StoredProduct>;

const productColumns = (q: Reads) => columnsOf(q.use(emandateProductTable), StoredProduct);

function toProduct(row: StoredProduct): EmandateProduct {
  return { ...row, frequency_mode: modeOf(row.frequency) };
}

/** Products by id, and how many there are in all. */
export async function listEmandateProducts(
  tx: ReadTx,
  { search, is_active, sort }: { search?: string; is_active?: boolean; sort?: string },
  slice: Slice,
): Promise<{ rows: EmandateProduct[]; total: number }> {
  const t = tx.q.use(emandateProductTable);
  const found = or(containing(t.product_code, search), containing(t.product_name, search));
  const where = and(inScope(tx), found, matching(t, { is_active }));
  const columns = productColumns(tx.q);
  const { rows, total } = await listRows(tx.q, t, { columns, where, order: orderOf(t, sort), slice });
  return { rows: rows.map(toProduct), total };
}

export async function findEmandateProduct(tx: ReadTx, id: number): Promise<EmandateProduct | undefined> {
  const t = tx.q.use(emandateProductTable);
  const row = await findRow(tx.q, t, {
    columns: productColumns(tx.q),
    where: and(inScope(tx), eq(t.id, id)),
  });
  return row && toProduct(row);
}

type Editable = Pick<
  EmandateProduct,
  "product_code" | "product_name" | "max_amount" | "max_no_debit" | "frequency"
>;

/** Errors: invalid where another product has the code, deleted ones included. */
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

/** Errors: as `insertEmandateProduct`. */
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

/** The number of mandates made from a product, or with `are_open` of those that have not ended. */
export async function countMandatesOf(
  { q, scope }: ReadTx,
  id: number,
  { are_open }: { are_open: boolean },
): Promise<number> {
  const t = q.use(mandateTable);
  const open = are_open ? notInArray(t.status, [...FINAL_STATUSES]) : undefined;
  return countRows(q, t, and(companyOwned(t, scope), eq(t.emandate_product_id, id), open));
}

function inScope({ q, scope }: ReadTx): SQL | undefined {
  const t = q.use(emandateProductTable);
  return and(companyOwned(t, scope), isNull(t.deleted_at));
}
