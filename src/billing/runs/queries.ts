import { and, eq, lt } from "drizzle-orm";
import type { Slice } from "../../core/pagination.ts";
import { type IsoInstant, iso } from "../../core/time.ts";
import { stamped } from "../../store/columns.ts";
import { exactlyOne } from "../../store/exactly_one.ts";
import { companyOwned } from "../../store/expressions.ts";
import { columnsOf, findRow, listRows, orderOf } from "../../store/list_rows.ts";
import { changeRows } from "../../store/update_rows.ts";
import type { Queries, ReadTx, Reads, Tx } from "../../store/store.ts";
import { LIMITS } from "../limits.ts";
import { BillingRun, BillingRunDetail } from "./model.ts";
import { billingRunTable } from "./tables.ts";

/** What a run was asked for, and by whom. */
export interface AskedRun {
  dry_run: boolean;
  period: string | null;
  subscription_ids: number[] | null;
  closed_since: IsoInstant | null;
  requested_by: number | null;
}

export async function insertRun(
  { q, scope, now }: Tx,
  run: AskedRun & Pick<BillingRunDetail, "counts">,
): Promise<BillingRunDetail> {
  const t = q.use(billingRunTable);
  const begun = { status: "running" as const, errors: [], totals: [], finished_at: null };
  const rows = await q
    .insert(t)
    .values({ ...run, ...begun, company_id: scope.company_id, ...stamped(now) })
    .returning(columnsOf(t, BillingRunDetail));
  return exactlyOne(rows);
}

/** Writes how far a run is, or how it ended; returns whether it was still running. */
export async function updateRun(
  q: Queries,
  { id, status, counts, totals, errors, finished_at, updated_at }: BillingRunDetail,
): Promise<boolean> {
  const t = q.use(billingRunTable);
  const rows = await changeRows(q, t, {
    set: { status, counts, totals, errors, finished_at, updated_at },
    where: isRunning(t, id),
    returning: { id: t.id },
  });
  return rows.length > 0;
}

/** Writes that a run goes on, unless it was ended. */
export async function touchRun(q: Queries, id: number, now: Temporal.Instant): Promise<void> {
  const t = q.use(billingRunTable);
  await q
    .update(t)
    .set({ updated_at: iso(now) })
    .where(isRunning(t, id));
}

const isRunning = (t: ReturnType<typeof billingRunTable>, id: number) =>
  and(eq(t.id, id), eq(t.status, "running"));

export async function deleteRun(q: Queries, id: number): Promise<void> {
  const t = q.use(billingRunTable);
  await q.delete(t).where(eq(t.id, id));
}

/** Interrupts running runs without a sign of life since then: their process died. Returns what they were asked for. */
export function interruptRunsSilentSince(
  { q, scope, now }: Tx,
  since: Temporal.Instant,
): Promise<AskedRun[]> {
  const t = q.use(billingRunTable);
  const { dry_run, period, subscription_ids, closed_since, requested_by } = t;
  return q
    .update(t)
    .set({ status: "interrupted", finished_at: iso(now), updated_at: iso(now) })
    .where(and(companyOwned(t, scope), eq(t.status, "running"), lt(t.updated_at, iso(since))))
    .returning({ dry_run, period, subscription_ids, closed_since, requested_by });
}

/** Companies with a running run without a sign of life: its process may have died. */
export async function listCompaniesWithSilentRuns(q: Reads, now: Temporal.Instant): Promise<number[]> {
  const t = q.use(billingRunTable);
  const silent_since = now.subtract({ milliseconds: LIMITS.billing_run_lease_ms });
  const rows = await q
    .selectDistinct({ company_id: t.company_id })
    .from(t)
    .where(and(eq(t.status, "running"), lt(t.updated_at, iso(silent_since))));
  return rows.map(({ company_id }) => company_id);
}

/** Runs without their errors, newest first, and how many there are in all. */
export function listRuns(
  { q, scope }: ReadTx,
  { sort = "-id" }: { sort?: string },
  slice: Slice,
): Promise<{ rows: BillingRun[]; total: number }> {
  const t = q.use(billingRunTable);
  return listRows(q, t, {
    columns: columnsOf(t, BillingRun),
    where: companyOwned(t, scope),
    order: orderOf(t, sort),
    slice,
  });
}

export async function findRun({ q, scope }: ReadTx, id: number): Promise<BillingRunDetail | undefined> {
  const t = q.use(billingRunTable);
  const row = await findRow(q, t, {
    columns: columnsOf(t, BillingRunDetail),
    where: and(companyOwned(t, scope), eq(t.id, id)),
  });
  return row;
}
