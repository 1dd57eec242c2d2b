import { and, desc, eq, getTableColumns, lt } from "drizzle-orm";
import type { Slice } from "../../core/pagination.ts";
import { iso } from "../../core/time.ts";
import { stamped } from "../../store/columns.ts";
import { companyOwned } from "../../store/expressions.ts";
import { exactlyOne } from "../../store/exactly_one.ts";
import type { Queries, ReadTx, Reads, Tx } from "../../store/store.ts";
import type { BillingRun, BillingRunDetail } from "../records/model.ts";
import { billingRunTable } from "../records/tables.ts";

// Billing runs.

/** All but the errors, of which there may be many. */
function runColumns(q: Reads) {
  const billing_runs = q.use(billingRunTable);
  const { errors: _, ...columns } = getTableColumns(billing_runs);
  return columns;
}

export async function insertRun(
  { q, scope, now }: Tx,
  run: Pick<BillingRunDetail, "dry_run" | "period" | "requested_by" | "counts">,
): Promise<BillingRunDetail> {
  const t = q.use(billingRunTable);
  const begun = { status: "running" as const, errors: [], totals: [], finished_at: null };
  const rows = await q
    .insert(t)
    .values({ ...run, ...begun, company_id: scope.company_id, ...stamped(now) })
    .returning();
  return exactlyOne(rows);
}

/** Writes how far a run is, or how it ended. */
export async function updateRun(
  q: Queries,
  { id, status, counts, totals, errors, finished_at, updated_at }: BillingRunDetail,
): Promise<void> {
  const t = q.use(billingRunTable);
  await q.update(t).set({ status, counts, totals, errors, finished_at, updated_at }).where(eq(t.id, id));
}

/** Forgets a run that had nothing to tell. */
export async function deleteRun(q: Queries, id: number): Promise<void> {
  const t = q.use(billingRunTable);
  await q.delete(t).where(eq(t.id, id));
}

/** Runs that say they are running but have not told of any progress since: their process died. */
export async function interruptRunsSilentSince(
  { q, scope }: Tx,
  since: Temporal.Instant,
  now: Temporal.Instant,
): Promise<void> {
  const t = q.use(billingRunTable);
  await q
    .update(t)
    .set({ status: "interrupted", finished_at: iso(now), updated_at: iso(now) })
    .where(and(companyOwned(t, scope), eq(t.status, "running"), lt(t.updated_at, iso(since))));
}

/** Runs without their errors, newest first, and how many there are in all. */
export async function listRuns(
  { q, scope }: ReadTx,
  { limit, offset }: Slice,
): Promise<{ rows: BillingRun[]; total: number }> {
  const t = q.use(billingRunTable);
  const where = companyOwned(t, scope);
  const rows = await q
    .select(runColumns(q))
    .from(t)
    .where(where)
    .orderBy(desc(t.id))
    .limit(limit)
    .offset(offset);
  return { rows, total: await q.$count(t, where) };
}

export async function findRun({ q, scope }: ReadTx, id: number): Promise<BillingRunDetail | undefined> {
  const t = q.use(billingRunTable);
  const [row] = await q
    .select({ ...runColumns(q), errors: t.errors })
    .from(t)
    .where(and(companyOwned(t, scope), eq(t.id, id)));
  return row;
}
