import { and, desc, eq, lt } from "drizzle-orm";
import type { Slice } from "../../core/pagination.ts";
import { iso } from "../../core/time.ts";
import { stamped } from "../../store/columns.ts";
import { exactlyOne } from "../../store/exactly_one.ts";
import { companyOwned } from "../../store/expressions.ts";
import { columnsOf, findRow, listRows } from "../../store/list_rows.ts";
import { changeRows } from "../../store/update_rows.ts";
import type { Queries, ReadTx, Tx } from "../../store/store.ts";
import { BillingRun, BillingRunDetail } from "./model.ts";
import { billingRunTable } from "./tables.ts";

export async function insertRun(
  { q, scope, now }: Tx,
  run: Pick<BillingRunDetail, "dry_run" | "period" | "requested_by" | "counts">,
): Promise<BillingRunDetail> {
  const begun = { status: "running" as const, errors: [], totals: [], finished_at: null };
  const rows = await q
    .insert(q.use(billingRunTable))
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
  await changeRows(q, t, {
    set: { status, counts, totals, errors, finished_at, updated_at },
    where: eq(t.id, id),
    returning: { id: t.id },
  });
}

export async function deleteRun(q: Queries, id: number): Promise<void> {
  const t = q.use(billingRunTable);
  await q.delete(t).where(eq(t.id, id));
}

/** Interrupts running runs without progress since then: their process died. */
export async function interruptRunsSilentSince(
  { q, scope, now }: Tx,
  since: Temporal.Instant,
): Promise<void> {
  const t = q.use(billingRunTable);
  await q
    .update(t)
    .set({ status: "interrupted", finished_at: iso(now), updated_at: iso(now) })
    .where(and(companyOwned(t, scope), eq(t.status, "running"), lt(t.updated_at, iso(since))));
}

/** Runs without their errors, newest first, and how many there are in all. */
export function listRuns({ q, scope }: ReadTx, slice: Slice): Promise<{ rows: BillingRun[]; total: number }> {
  const t = q.use(billingRunTable);
  return listRows(q, t, {
    columns: columnsOf(t, BillingRun),
    where: companyOwned(t, scope),
    order: desc(t.id),
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
