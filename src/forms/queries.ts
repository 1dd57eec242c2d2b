import { and, eq, isNull, type SQL } from "drizzle-orm";
import type { Scope } from "../core/access.ts";
import type { Slice } from "../core/pagination.ts";
import { iso } from "../core/time.ts";
import { stamped } from "../store/columns.ts";
import { containing } from "../store/expressions.ts";
import { columnsOf, findRow, listRows, matching, orderOf } from "../store/list_rows.ts";
import { exactlyOne } from "../store/exactly_one.ts";
import type { ReadTx, Reads, Tx } from "../store/store.ts";
import { countRows } from "../store/select_rows.ts";
import { FormConfig, type FormStructure } from "./model.ts";
import { formTable } from "./tables.ts";

/** A filter of forms; every field given narrows further. */
export interface FormFilter {
  client_id?: number;
  is_active?: boolean;
  /** A part of the name. */
  search?: string;
}

/** The fields of a form that its client sets. */
export interface FormInput {
  name: string;
  description: string | null;
  config: FormStructure;
}

const formColumns = (q: Reads) => columnsOf(q.use(formTable), FormConfig);

/** Forms by id, and how many there are in all. */
export function listForms(
  tx: ReadTx,
  { search, sort, ...equal }: FormFilter & { sort?: string },
  slice: Slice,
) {
  const t = tx.q.use(formTable);
  const where = and(inScope(tx), matching(t, equal), containing(t.name, search));
  return listRows(tx.q, t, { columns: formColumns(tx.q), where, order: orderOf(t, sort), slice });
}

export function findForm(tx: ReadTx, id: number): Promise<FormConfig | undefined> {
  const t = tx.q.use(formTable);
  return findRow(tx.q, t, { columns: formColumns(tx.q), where: and(inScope(tx), eq(t.id, id)) });
}

/** The structure of a form, also of a deleted one: applications that refer to it are still checked by it. */
export async function findFormStructure(
  { q, scope: { company_id } }: ReadTx,
  id: number,
): Promise<FormStructure | undefined> {
  const t = q.use(formTable);
  const form = await findRow(q, t, {
    columns: { config: t.config },
    where: and(eq(t.company_id, company_id), eq(t.id, id)),
  });
  return form?.config;
}

/** How many forms the caller may see. */
export async function countForms(tx: ReadTx): Promise<number> {
  return countRows(tx.q, tx.q.use(formTable), inScope(tx));
}

export async function insertForm(
  { q, scope, now }: Tx<Required<Scope>>,
  form: FormInput,
): Promise<FormConfig> {
  const rows = await q
    .insert(q.use(formTable))
    .values({ ...form, ...scope, is_active: true, ...stamped(now) })
    .returning(formColumns(q));
  return exactlyOne(rows);
}

export async function updateForm(
  tx: Tx,
  id: number,
  change: Partial<FormInput> & { is_active?: boolean; deleted_at?: string },
): Promise<FormConfig | undefined> {
  const t = tx.q.use(formTable);
  const [form] = await tx.q
    .update(t)
    .set({ ...change, updated_at: iso(tx.now) })
    .where(and(inScope(tx), eq(t.id, id)))
    .returning(formColumns(tx.q));
  return form;
}

function inScope({ q, scope }: ReadTx): SQL | undefined {
  const t = q.use(formTable);
  const { company_id, client_id } = scope;
  return and(matching(t, { company_id, client_id }), isNull(t.deleted_at));
}
