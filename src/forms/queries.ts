import { and, asc, eq, isNull, type SQL } from "drizzle-orm";
import type { Scope } from "../core/access.ts";
import type { Slice } from "../core/pagination.ts";
import { iso } from "../core/time.ts";
import { stamped } from "../store/columns.ts";
import { containing } from "../store/expressions.ts";
import { columnsOf, listRows, matching } from "../store/list_rows.ts";
import { exactlyOne } from "../store/exactly_one.ts";
import type { Queries, ReadTx, Reads, Tx } from "../store/store.ts";
import { FormConfig, type FormStructure } from "./model.ts";
import { formTable } from "./tables.ts";

/** Which forms are meant; every field given narrows further. */
export interface FormFilter {
  client_id?: number;
  is_active?: boolean;
  /** A part of the name. */
  search?: string;
}

/** What a form is made of, as its client says it. */
export interface FormInput {
  name: string;
  description: string | null;
  config: FormStructure;
}

const formColumns = (q: Reads) => columnsOf(q.use(formTable), FormConfig);

/** Forms by id, and how many there are in all. */
export function listForms(tx: ReadTx, { search, ...equal }: FormFilter, slice: Slice) {
  const t = tx.q.use(formTable);
  const where = and(inScope(tx), matching(t, equal), containing(t.name, search));
  return listRows(tx.q, t, { columns: formColumns(tx.q), where, order: asc(t.id), slice });
}

export async function findForm(tx: ReadTx, id: number): Promise<FormConfig | undefined> {
  const forms = tx.q.use(formTable);
  const [form] = await tx.q
    .select(formColumns(tx.q))
    .from(forms)
    .where(and(inScope(tx), eq(forms.id, id)));
  return form;
}

/** What a form asks for, also when it was deleted: what was filled in by it is still held against it. */
export async function findFormStructure(
  { q, scope: { company_id } }: ReadTx,
  id: number,
): Promise<FormStructure | undefined> {
  const forms = q.use(formTable);
  const [form] = await q
    .select({ config: forms.config })
    .from(forms)
    .where(and(eq(forms.company_id, company_id), eq(forms.id, id)));
  return form?.config;
}

/** How many forms there are. */
export function countForms(tx: ReadTx): Promise<number> {
  return tx.q.$count(tx.q.use(formTable), inScope(tx)).then(Number);
}

export async function insertForm(
  q: Queries,
  owner: Required<Scope>,
  now: Temporal.Instant,
  form: FormInput,
): Promise<FormConfig> {
  const rows = await q
    .insert(q.use(formTable))
    .values({ ...form, ...owner, is_active: true, ...stamped(now) })
    .returning(formColumns(q));
  return exactlyOne(rows);
}

export async function updateForm(
  tx: Tx,
  id: number,
  change: Partial<FormInput> & { is_active?: boolean; deleted_at?: string },
): Promise<FormConfig | undefined> {
  const forms = tx.q.use(formTable);
  const [form] = await tx.q
    .update(forms)
    .set({ ...change, updated_at: iso(tx.now) })
    .where(and(inScope(tx), eq(forms.id, id)))
    .returning(formColumns(tx.q));
  return form;
}

function inScope({ q, scope }: ReadTx): SQL | undefined {
  const forms = q.use(formTable);
  return and(
    eq(forms.company_id, scope.company_id),
    scope.client_id === undefined ? undefined : eq(forms.client_id, scope.client_id),
    isNull(forms.deleted_at),
  );
}
