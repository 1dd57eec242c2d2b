import { and, asc, desc, eq, gt, isNull, sql } from "drizzle-orm";
import type { Slice } from "../../core/pagination.ts";
import { iso } from "../../core/time.ts";
import { listKeysRead } from "../../billing/meters/queries.ts";
import { stamped } from "../../store/columns.ts";
import { insertRow } from "../../store/insert_rows.ts";
import { columnsOf, findRow, listRows, orderOf } from "../../store/list_rows.ts";
import type { RowOf } from "../../store/row_of.ts";
import { selectRows } from "../../store/select_rows.ts";
import type { Queries, ReadTx, Reads, Tx } from "../../store/store.ts";
import { companyTable } from "../../tenancy/companies/tables.ts";
import { UsageErasure } from "./model.ts";
import { packIds, unpackIds } from "./packed_ids.ts";
import { type ErasureConditions, usageErasedIdsTable, usageErasureTable } from "./tables.ts";

/** An erasure that is under way. */
export interface PendingErasure {
  readonly id: number;
  readonly conditions: ErasureConditions | null;
  readonly last_seq: number | null;
  /** The metadata keys that stay; null for none. */
  readonly kept_keys: readonly string[] | null;
}

const erasureColumns = (q: Reads) => columnsOf(q.use(usageErasureTable), UsageErasure);

type StoredErasure = RowOf<ReturnType<typeof erasureColumns>>;

function toErasure({ kept_keys, ...row }: StoredErasure): UsageErasure {
  return { ...row, ...(kept_keys === null ? {} : { kept_keys }) };
}

/** The company's erasures, newest first. */
export async function listUsageErasures(
  { q, scope }: ReadTx,
  { sort = "-id" }: { sort?: string },
  slice: Slice,
): Promise<{ rows: UsageErasure[]; total: number }> {
  const t = q.use(usageErasureTable);
  const where = eq(t.company_id, scope.company_id);
  const { rows, total } = await listRows(q, t, {
    columns: erasureColumns(q),
    where,
    order: orderOf(t, sort),
    slice,
  });
  return { rows: rows.map(toErasure), total };
}

/**
 * Writes down an erasure that is to be done, which leaves what the company's meters read now; null: by ids that are known
 * already. Decision 0238.
 */
export async function insertUsageErasure(
  tx: Tx,
  conditions: ErasureConditions | null,
): Promise<UsageErasure> {
  const { q, now } = tx;
  const { company_id } = tx.scope;
  const kept_keys = await listKeysRead(tx);
  const t = q.use(usageErasureTable);
  const { subscription_ids, metadata, ids, start_ms, end_ms } = conditions ?? {};
  const row = {
    company_id,
    status: "pending" as const,
    subscription_ids: subscription_ids ? [...subscription_ids] : null,
    metadata_keys: metadata ? Object.keys(metadata) : null,
    ids: ids?.length ?? null,
    start_time: start_ms ?? null,
    end_time: end_ms ?? null,
    erased: 0,
    conditions,
    last_seq: null,
    kept_keys: kept_keys.length === 0 ? null : kept_keys,
    finished_at: null,
    ...stamped(now),
  };
  return toErasure(await insertRow(q, t, row, erasureColumns(q)));
}

/** The companies with erasures to do. */
export async function listCompaniesWithErasures(q: Reads): Promise<number[]> {
  const t = q.use(usageErasureTable);
  const rows = await q.selectDistinct({ company_id: t.company_id }).from(t).where(eq(t.status, "pending"));
  return rows.map(({ company_id }) => company_id);
}

/** The oldest erasure of the company that is not done. */
export function findPendingErasure({ q, scope }: ReadTx): Promise<PendingErasure | undefined> {
  const t = q.use(usageErasureTable);
  return findRow(q, t, {
    columns: { id: t.id, conditions: t.conditions, last_seq: t.last_seq, kept_keys: t.kept_keys },
    where: and(eq(t.company_id, scope.company_id), eq(t.status, "pending")),
    order: asc(t.id),
    limit: 1,
  });
}

/** Settles up to which event an erasure goes. */
export async function beginErasure({ q, now }: Tx, id: number, last_seq: number): Promise<void> {
  const t = q.use(usageErasureTable);
  await q
    .update(t)
    .set({ last_seq, updated_at: iso(now) })
    .where(eq(t.id, id));
}

/** Writes down the ids that are erased next, and counts them. */
export async function insertErasedIds(
  { q, scope: { company_id }, now }: Tx,
  erasure_id: number,
  ids: readonly string[],
): Promise<void> {
  const t = q.use(usageErasedIdsTable);
  await insertRow(
    q,
    t,
    { company_id, erasure_id, ids: packIds(ids), count: ids.length, shipped_at: null, created_at: iso(now) },
    { id: t.id },
  );
  const erasures = q.use(usageErasureTable);
  await q
    .update(erasures)
    .set({ erased: sql`${erasures.erased} + ${ids.length}`, updated_at: iso(now) })
    .where(eq(erasures.id, erasure_id));
}

/** The ids that were written down last for an erasure: a killed process may not have erased them. */
export async function findLastErasedIds({ q }: ReadTx, erasure_id: number): Promise<string | undefined> {
  const t = q.use(usageErasedIdsTable);
  const where = eq(t.erasure_id, erasure_id);
  return (await findRow(q, t, { columns: { ids: t.ids }, where, order: desc(t.id), limit: 1 }))?.ids;
}

/** Ends an erasure: what it went by is forgotten. */
export async function finishErasure({ q, now }: Tx, id: number): Promise<void> {
  const t = q.use(usageErasureTable);
  const done = { status: "done" as const, conditions: null, finished_at: iso(now), updated_at: iso(now) };
  await q.update(t).set(done).where(eq(t.id, id));
}

/** Ids of erased events as they are written beside backups. */
export interface ErasedIds {
  readonly id: number;
  readonly company_id: number;
  /** Packed as packed_ids.ts has it. */
  readonly ids: string;
}

/** Some rows of the company's erased ids, in order. */
export function listErasedIds(
  { q, scope }: ReadTx,
  { erasure_id, after_id, is_shipped }: { erasure_id?: number; after_id?: number; is_shipped?: false },
  limit: number,
): Promise<ErasedIds[]> {
  const t = q.use(usageErasedIdsTable);
  return selectRows(q, t, {
    columns: { id: t.id, company_id: t.company_id, ids: t.ids },
    where: and(
      eq(t.company_id, scope.company_id),
      erasure_id === undefined ? undefined : eq(t.erasure_id, erasure_id),
      after_id === undefined ? undefined : gt(t.id, after_id),
      is_shipped === undefined ? undefined : isNull(t.shipped_at),
    ),
    order: asc(t.id),
    limit,
  });
}

/** Records that a row of ids is beside the backups. */
export async function markShipped({ q, scope, now }: Tx, id: number): Promise<void> {
  const t = q.use(usageErasedIdsTable);
  const own = and(eq(t.company_id, scope.company_id), eq(t.id, id));
  await q
    .update(t)
    .set({ shipped_at: iso(now) })
    .where(own);
}

/**
 * Has all erasures of restored rows done again, by their ids, and those of ids that were written beside the backups
 * since, but for companies that came later. What was under way goes on as it was asked for.
 */
export async function repeatAllErasures(
  q: Queries,
  now: Temporal.Instant,
  later: readonly ErasedIds[],
): Promise<void> {
  const t = q.use(usageErasureTable);
  await q.update(t).set({ status: "pending", finished_at: null }).where(isNull(t.conditions));
  const companies = q.use(companyTable);
  const there = new Set(
    (await selectRows(q, companies, { columns: { id: companies.id } })).map(({ id }) => id),
  );
  for (const [company_id, rows] of Map.groupBy(later, (row) => row.company_id)) {
    if (!there.has(company_id)) continue;
    const tx = { q, scope: { company_id }, now };
    const { id } = await insertUsageErasure(tx, null);
    for (const { ids } of rows) await insertErasedIds(tx, id, unpackIds(ids));
  }
}
