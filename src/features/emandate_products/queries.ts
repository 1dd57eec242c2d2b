import { and, asc, eq, isNull, notInArray, or, type SQL } from "drizzle-orm";
import type { Scope } from "../../core/access.ts";
import type { Slice } from "../../core/page.ts";
import { iso } from "../../core/time.ts";
import { stamped } from "../../store/columns.ts";
import { contains, ofCompany } from "../../store/expressions.ts";
import { only } from "../../store/rows.ts";
import type { Queries, Reads } from "../../store/store.ts";
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
  q: Reads,
  scope: Scope,
  { search, is_active }: { search?: string; is_active?: boolean },
  { limit, offset }: Slice,
): Promise<{ rows: EmandateProduct[]; total: number }> {
  const t = q.use(emandateProductTable);
  const found =
    search === undefined ? undefined : or(contains(t.product_code, search), contains(t.product_name, search));
  const active = is_active === undefined ? undefined : eq(t.is_active, is_active);
  const where = and(inScope(q, scope), found, active);
  const rows = await q
    .select(productColumns(q))
    .from(t)
    .where(where)
    .orderBy(asc(t.id))
    .limit(limit)
    .offset(offset);
  return { rows: rows.map(toProduct), total: await q.$count(t, where) };
}

export async function findEmandateProduct(
  q: Reads,
  scope: Scope,
  id: number,
): Promise<EmandateProduct | undefined> {
  const t = q.use(emandateProductTable);
  const [row] = await q
    .select(productColumns(q))
    .from(t)
    .where(and(inScope(q, scope), eq(t.id, id)));
  return row && toProduct(row);
}

type Editable = Pick<
  EmandateProduct,
  "product_code" | "product_name" | "max_amount" | "max_no_debit" | "frequency"
>;

/** Errors: invalid where the code is another product's, deleted ones included. */
export async function insertEmandateProduct(
  q: Queries,
  scope: Scope,
  now: Temporal.Instant,
  product: Editable,
): Promise<EmandateProduct> {
  const rows = await q
    .insert(q.use(emandateProductTable))
    .values({ ...product, is_active: true, company_id: scope.company_id, ...stamped(now) })
    .returning(productColumns(q));
  return toProduct(only(rows));
}

/** Errors: as those of an insert. */
export async function updateEmandateProduct(
  q: Queries,
  scope: Scope,
  now: Temporal.Instant,
  id: number,
  change: Partial<Editable> & { is_active?: boolean; deleted_at?: string },
): Promise<EmandateProduct | undefined> {
  const t = q.use(emandateProductTable);
  const [row] = await q
    .update(t)
    .set({ ...change, updated_at: iso(now) })
    .where(and(inScope(q, scope), eq(t.id, id)))
    .returning(productColumns(q));
  return row && toProduct(row);
}

/** How many mandates were made after a product; of those that have not ended for good only, if asked so. */
export function countMandatesOf(
  q: Reads,
  scope: Scope,
  id: number,
  { are_open }: { are_open: boolean },
): Promise<number> {
  const t = q.use(mandateTable);
  const where = and(
    ofCompany(t, scope),
    eq(t.emandate_product_id, id),
    are_open ? notInArray(t.status, [...FINAL_STATUSES]) : undefined,
  );
  return q.$count(t, where).then(Number);
}

function inScope(q: Reads, scope: Scope): SQL | undefined {
  const t = q.use(emandateProductTable);
  return and(ofCompany(t, scope), isNull(t.deleted_at));
}
