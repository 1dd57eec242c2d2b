import { and, asc, eq, getTableColumns, gt, isNull, lte, or, type SQL, sql } from "drizzle-orm";
import type { Slice } from "../../core/pagination.ts";
import { type IsoInstant, iso } from "../../core/time.ts";
import { stamped } from "../../store/columns.ts";
import { companyOwned, idIn } from "../../store/expressions.ts";
import { insertRow } from "../../store/insert_rows.ts";
import { columnsOf, findRow, listRows, orderOf } from "../../store/list_rows.ts";
import { selectRows } from "../../store/select_rows.ts";
import type { ReadTx, Reads, Tx } from "../../store/store.ts";
import { subscriptionTable } from "../subscriptions/tables.ts";
import { BillingModelMigration, BillingModelMigrationDetail } from "./model.ts";
import { billingModelMigrationTable } from "./tables.ts";

/** Which subscriptions a migration moves. */
export interface Selection {
  from_billing_model_id: number;
  /** Null: all that are on the model. */
  subscription_ids: number[] | null;
  /** Those with ids after the one, up to the other. */
  after_id: number;
  last_id: number;
}

/** A migration with what carrying it on takes. */
export interface RunningMigration extends BillingModelMigrationDetail, Selection {}

const detailColumns = (q: Reads) => columnsOf(q.use(billingModelMigrationTable), BillingModelMigrationDetail);

/** Migrations without their errors, newest first, and how many there are in all. */
export function listMigrations(
  { q, scope }: ReadTx,
  { sort = "-id" }: { sort?: string },
  slice: Slice,
): Promise<{ rows: BillingModelMigration[]; total: number }> {
  const t = q.use(billingModelMigrationTable);
  return listRows(q, t, {
    columns: columnsOf(t, BillingModelMigration),
    where: companyOwned(t, scope),
    order: orderOf(t, sort),
    slice,
  });
}

export function findMigration(
  { q, scope }: ReadTx,
  id: number,
): Promise<BillingModelMigrationDetail | undefined> {
  const t = q.use(billingModelMigrationTable);
  return findRow(q, t, { columns: detailColumns(q), where: and(companyOwned(t, scope), eq(t.id, id)) });
}

/** The company's first migration that is not finished; or the one, if it is not. */
export function findRunning({ q, scope }: ReadTx, id?: number): Promise<RunningMigration | undefined> {
  const t = q.use(billingModelMigrationTable);
  const one = id === undefined ? undefined : eq(t.id, id);
  return findRow(q, t, {
    columns: getTableColumns(t),
    where: and(companyOwned(t, scope), isRunning(q), one),
    order: asc(t.id),
    limit: 1,
  });
}

/** The companies with a migration that is not finished. */
export async function listCompaniesWithMigrations(q: Reads): Promise<number[]> {
  const t = q.use(billingModelMigrationTable);
  const rows = await q.selectDistinct({ company_id: t.company_id }).from(t).where(isRunning(q));
  return rows.map(({ company_id }) => company_id);
}

export function insertMigration(
  { q, scope, now }: Tx,
  migration: Selection &
    Pick<BillingModelMigration, "to_billing_model_id" | "at" | "counts" | "requested_by">,
): Promise<BillingModelMigrationDetail> {
  const begun = { status: "running" as const, errors: [], finished_at: null };
  const row = { ...migration, ...begun, company_id: scope.company_id, ...stamped(now) };
  return insertRow(q, q.use(billingModelMigrationTable), row, detailColumns(q));
}

/** Writes how far a migration is. */
export async function updateMigration(
  { q, scope, now }: Tx,
  id: number,
  change: Partial<Pick<RunningMigration, "after_id" | "counts" | "errors" | "status">> & {
    finished_at?: IsoInstant;
  },
): Promise<void> {
  const t = q.use(billingModelMigrationTable);
  await q
    .update(t)
    .set({ ...change, updated_at: iso(now) })
    .where(and(companyOwned(t, scope), eq(t.id, id)));
}

/** The next subscriptions to move, by id: those on the model that have not ended, or those that were named. */
export async function listToMove(tx: ReadTx, selection: Selection, limit: number): Promise<number[]> {
  const t = tx.q.use(subscriptionTable);
  const rows = await selectRows(tx.q, t, {
    columns: { id: t.id },
    where: selected(tx, selection),
    order: asc(t.id),
    limit,
  });
  return rows.map(({ id }) => id);
}

/** How many subscriptions there are to move, and the last one's id; 0 of none. */
export async function measureSelection(
  tx: ReadTx,
  selection: Selection,
): Promise<{ subscriptions: number; last_id: number }> {
  const t = tx.q.use(subscriptionTable);
  const [row] = await tx.q
    .select({
      subscriptions: sql<number>`count(*)`.mapWith(Number),
      last_id: sql<number>`coalesce(max(${t.id}), 0)`.mapWith(Number),
    })
    .from(t)
    .where(selected(tx, selection));
  return row ?? { subscriptions: 0, last_id: 0 };
}

function selected(
  { q, scope, now }: ReadTx,
  { from_billing_model_id, subscription_ids, after_id, last_id }: Selection,
): SQL | undefined {
  const t = q.use(subscriptionTable);
  const which =
    subscription_ids === null
      ? and(eq(t.billing_model_id, from_billing_model_id), or(isNull(t.ends_at), gt(t.ends_at, iso(now))))
      : idIn(t.id, subscription_ids);
  return and(eq(t.company_id, scope.company_id), which, gt(t.id, after_id), lte(t.id, last_id));
}

/** Spelled out, not a parameter: so that the partial index is used. */
function isRunning(q: Reads): SQL {
  return sql`${q.use(billingModelMigrationTable).status} = 'running'`;
}
