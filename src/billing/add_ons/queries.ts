import { and, asc, eq, type SQL } from "drizzle-orm";
import type { Slice } from "../../core/pagination.ts";
import { iso } from "../../core/time.ts";
import { stamped } from "../../store/columns.ts";
import { companyOwned, containing, filterOnly, idIn } from "../../store/expressions.ts";
import { insertRow } from "../../store/insert_rows.ts";
import { columnsOf, findRow, listRows, matching, orderOf } from "../../store/list_rows.ts";
import type { RowOf } from "../../store/row_of.ts";
import { selectRows } from "../../store/select_rows.ts";
import type { ReadTx, Reads, Tx } from "../../store/store.ts";
import type { Entitlement } from "../features/entitlement_model.ts";
import type { AddOnTerms } from "../rating/add_on_lines.ts";
import { AddOn, type ListAddOns } from "./model.ts";
import type { AddOnPricing } from "./rules.ts";
import { addOnTable } from "./tables.ts";

const addOnColumns = (q: Reads) => columnsOf(q.use(addOnTable), AddOn);

function toAddOn({ entitlements, ...row }: RowOf<ReturnType<typeof addOnColumns>>): AddOn {
  return { ...row, ...(entitlements.length === 0 ? {} : { entitlements }) };
}

/** The columns that bills need of an add-on. */
export function addOnTermColumns(q: Reads) {
  const { id, code, name, charge } = q.use(addOnTable);
  return { id, code, name, charge };
}

/** Active add-ons by id, and how many there are in all. */
export async function listAddOns(
  tx: ReadTx,
  { search, sort, ...filter }: Omit<ListAddOns, "page" | "limit">,
  slice: Slice,
): Promise<{ rows: AddOn[]; total: number }> {
  const t = tx.q.use(addOnTable);
  const where = and(isActive(tx), containing(t.name, search), matching(t, filter));
  const options = { columns: addOnColumns(tx.q), where, order: orderOf(t, sort), slice };
  const { rows, total } = await listRows(tx.q, t, options);
  return { rows: rows.map(toAddOn), total };
}

/** An active add-on, which may be booked. */
export async function findAddOn(tx: ReadTx, id: number): Promise<AddOn | undefined> {
  const t = tx.q.use(addOnTable);
  const where = and(isActive(tx), eq(t.id, id));
  const row = await findRow(tx.q, t, { columns: addOnColumns(tx.q), where });
  return row && toAddOn(row);
}

/** What add-ons charge, archived ones too, by id. */
export async function findAddOnTerms(
  { q, scope }: ReadTx,
  ids: readonly number[],
): Promise<Map<number, AddOnTerms>> {
  if (ids.length === 0) return new Map();
  const t = q.use(addOnTable);
  const where = and(idIn(t.id, ids), filterOnly(eq(t.company_id, scope.company_id)));
  const rows = await selectRows(q, t, { columns: addOnTermColumns(q), where });
  return new Map(rows.map((row) => [row.id, row]));
}

/** The company's add-ons whose charge names a meter, archived ones too. */
export async function listAddOnsNaming(
  { q, scope }: ReadTx,
  meter_id: number,
): Promise<Pick<AddOn, "id" | "charge">[]> {
  const t = q.use(addOnTable);
  const rows = await selectRows(q, t, {
    columns: { id: t.id, charge: t.charge },
    where: eq(t.company_id, scope.company_id),
    order: asc(t.id),
  });
  return rows.filter(({ charge }) => charge.meter_id === meter_id);
}

/** The company's add-ons that have an entitlement to a feature, archived ones too. */
export async function listAddOnsEntitling(
  { q, scope }: ReadTx,
  feature: string,
): Promise<Pick<AddOn, "id">[]> {
  const t = q.use(addOnTable);
  const rows = await selectRows(q, t, {
    columns: { id: t.id, entitlements: t.entitlements },
    where: eq(t.company_id, scope.company_id),
    order: asc(t.id),
  });
  return rows.filter(({ entitlements }) => entitlements.some((one) => one.feature === feature));
}

/** What is written of an add-on. */
type AddOnFields = AddOnPricing & Pick<AddOn, "name"> & { entitlements: Entitlement[] };

export async function insertAddOn({ q, scope, now }: Tx, fields: AddOnFields): Promise<AddOn> {
  const row = { ...fields, company_id: scope.company_id, status: "active" as const, ...stamped(now) };
  return toAddOn(await insertRow(q, q.use(addOnTable), row, addOnColumns(q)));
}

export async function updateAddOn(
  tx: Tx,
  id: number,
  change: Partial<AddOnFields> & { status?: AddOn["status"] },
): Promise<AddOn | undefined> {
  const t = tx.q.use(addOnTable);
  const [row] = await tx.q
    .update(t)
    .set({ ...change, updated_at: iso(tx.now) })
    .where(and(isActive(tx), eq(t.id, id)))
    .returning(addOnColumns(tx.q));
  return row && toAddOn(row);
}

function isActive({ q, scope }: ReadTx): SQL | undefined {
  const t = q.use(addOnTable);
  return and(companyOwned(t, scope), eq(t.status, "active"));
}
