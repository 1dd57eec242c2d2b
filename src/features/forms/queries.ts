import { and, asc, eq, isNull, type SQL } from "drizzle-orm";
import type { Scope } from "../../core/access.ts";
import type { Slice } from "../../core/page.ts";
import { iso } from "../../core/time.ts";
import { stamped } from "../../store/columns.ts";
import { contains } from "../../store/expressions.ts";
import { only } from "../../store/rows.ts";
import type { Queries, Reads } from "../../store/store.ts";
import type { FormConfig, FormStructure } from "./model.ts";
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

function formColumns(q: Reads) {
  const forms = q.use(formTable);
  const { id, name, description, config, client_id, company_id, is_active, created_at, updated_at } = forms;
  return { id, name, description, config, client_id, company_id, is_active, created_at, updated_at };
}

/** Forms by id, and how many there are in all. */
export async function listForms(
  q: Reads,
  scope: Scope,
  { client_id, is_active, search }: FormFilter,
  { limit, offset }: Slice,
): Promise<{ rows: FormConfig[]; total: number }> {
  const forms = q.use(formTable);
  const where = and(
    inScope(q, scope),
    client_id === undefined ? undefined : eq(forms.client_id, client_id),
    is_active === undefined ? undefined : eq(forms.is_active, is_active),
    search === undefined ? undefined : contains(forms.name, search),
  );
  const rows = await q
    .select(formColumns(q))
    .from(forms)
    .where(where)
    .orderBy(asc(forms.id))
    .limit(limit)
    .offset(offset);
  return { rows, total: await q.$count(forms, where) };
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
