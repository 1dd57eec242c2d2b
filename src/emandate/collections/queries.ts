import { and, asc, eq, inArray, isNotNull, lt } from "drizzle-orm";
import type { Slice } from "../../core/pagination.ts";
import { iso, type IsoInstant } from "../../core/time.ts";
import { stamped } from "../../store/columns.ts";
import { companyOwned, filterOnly, idIn } from "../../store/expressions.ts";
import { exactlyOne } from "../../store/exactly_one.ts";
import { columnsOf, findRow, listRows, orderOf } from "../../store/list_rows.ts";
import type { Queries, ReadTx, Reads, Tx } from "../../store/store.ts";
import { selectRows } from "../../store/select_rows.ts";
import { changeRows } from "../../store/update_rows.ts";
import { LIMITS } from "../limits.ts";
import { mandateTable } from "../mandates/tables.ts";
import type { DueMandate } from "../payments/plan_payments.ts";
import type { ConnectorName } from "../scheme/connector.ts";
import { CollectionRun } from "./model.ts";
import { collectionRunTable } from "./tables.ts";

const runColumns = (q: Reads) => columnsOf(q.use(collectionRunTable), CollectionRun);

/** Errors: conflict while the company has a running one. */
export async function insertRun(
  { q, scope: { company_id }, now }: Tx,
  run: Pick<CollectionRun, "connector" | "date" | "requested_by" | "counts" | "error">,
): Promise<CollectionRun> {
  const rows = await q
    .insert(q.use(collectionRunTable))
    .values({ ...run, status: "running", finished_at: null, company_id, ...stamped(now) })
    .returning(runColumns(q));
  return exactlyOne(rows);
}

/** Records the progress or the end of a run; returns whether it was still running. */
export async function updateRun(
  q: Queries,
  { id, status, counts, error, finished_at, updated_at }: CollectionRun,
): Promise<boolean> {
  const t = q.use(collectionRunTable);
  const rows = await changeRows(q, t, {
    set: { status, counts, error, finished_at, updated_at },
    where: and(eq(t.id, id), eq(t.status, "running")),
    returning: { id: t.id },
  });
  return rows.length > 0;
}

/** Marks the company's running runs as interrupted. The caller holds the lock of runs: their processes are dead. */
export async function interruptRuns({ q, scope, now }: Tx): Promise<void> {
  const t = q.use(collectionRunTable);
  await q
    .update(t)
    .set({ status: "interrupted", finished_at: iso(now), updated_at: iso(now) })
    .where(and(companyOwned(t, scope), eq(t.status, "running")));
}

/** Companies with a running run that has not got on for a while: its process may have died. */
export async function listCompaniesWithSilentCollections(q: Reads, now: Temporal.Instant): Promise<number[]> {
  const t = q.use(collectionRunTable);
  const silent_since = now.subtract({ milliseconds: LIMITS.collection_silent_ms });
  const rows = await q
    .select({ company_id: t.company_id })
    .from(t)
    .where(and(eq(t.status, "running"), lt(t.updated_at, iso(silent_since))));
  return rows.map(({ company_id }) => company_id);
}

/** Runs, newest first, and how many there are in all. */
export function listRuns({ q, scope }: ReadTx, { sort = "-id" }: { sort?: string }, slice: Slice) {
  const t = q.use(collectionRunTable);
  const where = companyOwned(t, scope);
  return listRows(q, t, { columns: runColumns(q), where, order: orderOf(t, sort), slice });
}

export async function findRun({ q, scope }: ReadTx, id: number): Promise<CollectionRun | undefined> {
  const t = q.use(collectionRunTable);
  const row = await findRow(q, t, {
    columns: runColumns(q),
    where: and(companyOwned(t, scope), eq(t.id, id)),
  });
  return row;
}

/** Active mandates of these connectors with a collection due by `before`, the longest due first. */
export async function listDueMandates(
  { q, scope }: ReadTx,
  { before, connectors, limit }: { before: IsoInstant; connectors: readonly ConnectorName[]; limit: number },
): Promise<DueMandate[]> {
  const t = q.use(mandateTable);
  const { id, frequency, anchor_date, expiry_date, next_collection_at, bankscheme_txn_amount } = t;
  const rows = await selectRows(q, t, {
    columns: { id, frequency, anchor_date, expiry_date, next_collection_at, amount: bankscheme_txn_amount },
    where: and(
      companyOwned(t, scope),
      eq(t.status, "active"),
      lt(next_collection_at, before),
      isNotNull(bankscheme_txn_amount),
      inArray(t.connector, [...connectors]),
    ),
    order: [asc(next_collection_at), asc(id)],
    limit,
  });
  return rows.flatMap(({ amount, next_collection_at: next, ...row }) =>
    amount === null || next === null ? [] : [{ ...row, amount, next_collection_at: next }],
  );
}

/** Sets the next collection of mandates by compare-and-set on the one that was read; returns the ids updated. */
export async function advanceMandates(
  { q, scope, now }: Tx,
  ids: readonly number[],
  { was, next }: { was: IsoInstant; next: IsoInstant | null },
): Promise<number[]> {
  const t = q.use(mandateTable);
  const as_read = and(companyOwned(t, scope), eq(t.status, "active"), eq(t.next_collection_at, was));
  const rows = await changeRows(q, t, {
    set: { next_collection_at: next, updated_at: iso(now) },
    where: and(idIn(t.id, ids), filterOnly(as_read)),
    returning: { id: t.id },
  });
  return rows.map(({ id }) => id);
}
