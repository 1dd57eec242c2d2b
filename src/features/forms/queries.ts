import { and, asc, eq, isNull, type SQL } from "drizzle-orm";
import type { Scope } from "../../core/access.ts";
import type { Slice } from "../../core/page.ts";
import { iso } from "../../core/time.ts";
import { stamped } from "../../store/columns.ts";
import { containing } from "../../store/expressions.ts";
import { columnsOf, listRows, matching } from "../../store/list_rows.ts";
import { only } from "../../store/rows.ts";
import type { Queries, Reads } from "../../store/store.ts";
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
export function listForms(q: Reads, scope: Scope, { search, ...equal }: FormFilter, slice: Slice) {
  const t = q.use(formTable);
  const where = and(inScope(q, scope), matching(t, equal), containing(t.name, search));
  return listRows(q, t, { columns: formColumns(q), where, order: asc(t.id), slice });
}

export async function findForm(q: Reads, scope: Scope, id: number): Promise<FormConfig | undefined> {
  const forms = q.use(formTable);
  const [form] = await q
    .select(formColumns(q))
    .from(forms)
    .where(and(inScope(q, scope), eq(forms.id, id)));
  return form;
}

/** What a form asks for, also when it was deleted: what was filled in by it is still held against it. */
export async function findFormStructure(
  q: Reads,
  { company_id }: Scope,
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
export function countForms(q: Reads, scope: Scope): Promise<number> {
  return q.$count(q.use(formTable), inScope(q, scope)).then(Number);
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
  return only(rows);
}

export async function updateForm(
  q: Queries,
  scope: Scope,
  now: Temporal.Instant,
  id: number,
  change: Partial<FormInput> & { is_active?: boolean; deleted_at?: string },
): Promise<FormConfig | undefined> {
  const forms = q.use(formTable);
  const [form] = await q
    .update(forms)
    .set({ ...change, updated_at: iso(now) })
    .where(and(inScope(q, scope), eq(forms.id, id)))
    .returning(formColumns(q));
  return form;
}

function inScope(q: Reads, scope: Scope): SQL | undefined {
  const forms = q.use(formTable);
  return and(
    eq(forms.company_id, scope.company_id),
    scope.client_id === undefined ? undefined : eq(forms.client_id, scope.client_id),
    isNull(forms.deleted_at),
  );
}
