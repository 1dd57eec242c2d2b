import { and, asc, eq, isNull, sql } from "drizzle-orm";
import type { Slice } from "../core/pagination.ts";
import { iso } from "../core/time.ts";
import { stamped } from "../store/columns.ts";
import { insertRow } from "../store/insert_rows.ts";
import { columnsOf, findRow, listRows, orderOf } from "../store/list_rows.ts";
import { selectRows } from "../store/select_rows.ts";
import type { Queries, ReadTx, Reads, Tx } from "../store/store.ts";
import { companyTable } from "../tenancy/companies/tables.ts";
import { PersonErasure, type Subject } from "./model.ts";
import { personErasureTable } from "./tables.ts";
import type { Traces } from "./traces.ts";

/** The company's erasures of people, newest first. */
export function listPersonErasures({ q, scope }: ReadTx, { sort = "-id" }: { sort?: string }, slice: Slice) {
  const t = q.use(personErasureTable);
  const where = eq(t.company_id, scope.company_id);
  return listRows(q, t, { columns: columnsOf(t, PersonErasure), where, order: orderOf(t, sort), slice });
}

/** Writes down an erasure that has not begun. */
export function insertPersonErasure(
  { q, scope: { company_id }, now }: Tx,
  subjects: readonly Subject[],
): Promise<PersonErasure> {
  const t = q.use(personErasureTable);
  const row = {
    company_id,
    status: "pending" as const,
    subjects: [...subjects],
    records: 0,
    traces: null,
    shipped_at: null,
    finished_at: null,
    ...stamped(now),
  };
  return insertRow(q, t, row, columnsOf(t, PersonErasure));
}

/** Records that what is about the people is erased, and what is still to be looked for. */
export async function saveTraces(
  { q, now }: Tx,
  id: number,
  { records, traces }: { records: number; traces: Traces },
): Promise<void> {
  const t = q.use(personErasureTable);
  await q
    .update(t)
    .set({ records: sql`${t.records} + ${records}`, traces, updated_at: iso(now) })
    .where(eq(t.id, id));
}

/** Adds to the number of records, as texts are found. */
export async function countRecords({ q, now }: Tx, id: number, records: number): Promise<void> {
  const t = q.use(personErasureTable);
  await q
    .update(t)
    .set({ records: sql`${t.records} + ${records}`, updated_at: iso(now) })
    .where(eq(t.id, id));
}

/** Ends an erasure: whom it looked for is forgotten. */
export async function finishPersonErasure({ q, now }: Tx, id: number): Promise<void> {
  const t = q.use(personErasureTable);
  const done = { status: "done" as const, traces: null, finished_at: iso(now), updated_at: iso(now) };
  await q.update(t).set(done).where(eq(t.id, id));
}

/** The companies with erasures to do. */
export async function listCompaniesWithPersonErasures(q: Reads): Promise<number[]> {
  const t = q.use(personErasureTable);
  const rows = await q.selectDistinct({ company_id: t.company_id }).from(t).where(eq(t.status, "pending"));
  return rows.map(({ company_id }) => company_id);
}

/** The company's oldest erasure that is not done. */
export function findPendingPersonErasure({ q, scope }: ReadTx) {
  const t = q.use(personErasureTable);
  return findRow(q, t, {
    columns: { id: t.id, subjects: t.subjects, traces: t.traces },
    where: and(eq(t.company_id, scope.company_id), eq(t.status, "pending")),
    order: asc(t.id),
    limit: 1,
  });
}

/** Who was erased, as it is written beside backups. */
export interface ErasedPeople {
  readonly id: number;
  readonly company_id: number;
  readonly subjects: readonly Subject[];
}

/** Some of the company's erasures that are not beside the backups yet. */
export function listUnshippedErasures({ q, scope }: ReadTx, limit: number): Promise<ErasedPeople[]> {
  const t = q.use(personErasureTable);
  return selectRows(q, t, {
    columns: { id: t.id, company_id: t.company_id, subjects: t.subjects },
    where: and(eq(t.company_id, scope.company_id), isNull(t.shipped_at)),
    order: asc(t.id),
    limit,
  });
}

/** Records that an erasure is beside the backups. */
export async function markErasureShipped({ q, scope, now }: Tx, id: number): Promise<void> {
  const t = q.use(personErasureTable);
  await q
    .update(t)
    .set({ shipped_at: iso(now) })
    .where(and(eq(t.company_id, scope.company_id), eq(t.id, id)));
}

/**
 * Has the erasures done again in restored rows that were written beside the backups since. Those on record are done in
 * these rows, or go on. Companies that came later are not there.
 */
export async function repeatPersonErasures(
  q: Queries,
  now: Temporal.Instant,
  beside: readonly ErasedPeople[],
): Promise<void> {
  const [t, companies] = [q.use(personErasureTable), q.use(companyTable)];
  const known = new Set((await selectRows(q, t, { columns: { id: t.id } })).map(({ id }) => id));
  const there = new Set(
    (await selectRows(q, companies, { columns: { id: companies.id } })).map(({ id }) => id),
  );
  for (const { id, company_id, subjects } of beside) {
    if (known.has(id) || !there.has(company_id)) continue;
    await insertPersonErasure({ q, scope: { company_id }, now }, subjects);
  }
}
