import { and, asc, eq, gt, lt, ne, type SQL } from "drizzle-orm";
import type { Slice } from "../../core/pagination.ts";
import { type IsoInstant, iso } from "../../core/time.ts";
import { stamped } from "../../store/columns.ts";
import { companyOwned } from "../../store/expressions.ts";
import { insertRow, insertRows } from "../../store/insert_rows.ts";
import { columnsOf, findRow, listRows, matching, orderOf } from "../../store/list_rows.ts";
import { countRows, selectRows } from "../../store/select_rows.ts";
import type { ReadTx, Reads, Tx } from "../../store/store.ts";
import { changeRows } from "../../store/update_rows.ts";
import { type RejectedPlace, UsageUpload, UsageUploadDetail } from "./model.ts";
import { usageUploadRejectionTable, usageUploadTable } from "./tables.ts";

type Stored = ReturnType<typeof usageUploadTable>["$inferSelect"];

/** An upload with what it needs to go on. */
export type RunningUpload = UsageUploadDetail & Pick<Stored, "file" | "named" | "run" | "attempts">;

const detailColumns = (q: Reads) => columnsOf(q.use(usageUploadTable), UsageUploadDetail);

function runningColumns(q: Reads) {
  const { file, named, run, attempts } = q.use(usageUploadTable);
  return { ...detailColumns(q), file, named, run, attempts };
}

/** Uploads, newest first, and how many there are in all. */
export function listUploads(
  tx: ReadTx,
  { sort = "-id" }: { sort?: string },
  slice: Slice,
): Promise<{ rows: UsageUpload[]; total: number }> {
  const t = tx.q.use(usageUploadTable);
  const columns = columnsOf(t, UsageUpload);
  return listRows(tx.q, t, { columns, where: companyOwned(t, tx.scope), order: orderOf(t, sort), slice });
}

export function findUpload(tx: ReadTx, id: number): Promise<RunningUpload | undefined> {
  const t = tx.q.use(usageUploadTable);
  return findRow(tx.q, t, {
    columns: runningColumns(tx.q),
    where: and(companyOwned(t, tx.scope), eq(t.id, id)),
  });
}

export function countUploads(tx: ReadTx): Promise<number> {
  const t = tx.q.use(usageUploadTable);
  return countRows(tx.q, t, companyOwned(t, tx.scope));
}

export async function insertUpload(
  { q, scope, now }: Tx,
  fields: Omit<Stored, "id" | "company_id" | "created_at" | "updated_at">,
): Promise<UsageUploadDetail> {
  const row = { ...fields, company_id: scope.company_id, ...stamped(now) };
  return insertRow(q, q.use(usageUploadTable), row, detailColumns(q));
}

/** Changes an upload, unless it goes on. Returns what it is now; undefined when it went on. */
export async function changeIdle(
  tx: Tx,
  id: number,
  set: Partial<Omit<Stored, "id" | "company_id" | "created_at">>,
): Promise<UsageUploadDetail | undefined> {
  const t = tx.q.use(usageUploadTable);
  return change(tx, and(eq(t.id, id), ne(t.status, "running")), set);
}

/** Changes an upload that goes on, from where the caller read it. Returns undefined when it was no longer there. */
export async function saveStep(
  tx: Tx,
  { id, run, rows, attempts }: Pick<RunningUpload, "id" | "run" | "rows" | "attempts">,
  set: Partial<Omit<Stored, "id" | "company_id" | "created_at">>,
): Promise<UsageUploadDetail | undefined> {
  const t = tx.q.use(usageUploadTable);
  return change(tx, matching(t, { id, status: "running", run, rows, attempts }), set);
}

async function change(
  { q, scope, now }: Tx,
  where: SQL | undefined,
  set: Partial<Omit<Stored, "id" | "company_id" | "created_at">>,
): Promise<UsageUploadDetail | undefined> {
  const t = q.use(usageUploadTable);
  const [row] = await changeRows(q, t, {
    set: { ...set, updated_at: iso(now) },
    where: and(companyOwned(t, scope), where),
    returning: detailColumns(q),
  });
  return row;
}

/** Stops an upload that goes on. Returns undefined when none of the company's does under that id. */
export function stopUpload(tx: Tx, id: number): Promise<UsageUploadDetail | undefined> {
  const t = tx.q.use(usageUploadTable);
  return change(tx, matching(t, { id, status: "running" }), {
    status: "stopped",
    finished_at: iso(tx.now),
  });
}

/** Deletes an upload with its rejected rows. Returns its file's name; undefined when there is none. */
export async function deleteUpload(tx: Tx, id: number): Promise<string | undefined> {
  const found = await findUpload(tx, id);
  if (found === undefined) return undefined;
  await deleteRejections(tx, id);
  const t = tx.q.use(usageUploadTable);
  await tx.q.delete(t).where(and(companyOwned(t, tx.scope), eq(t.id, id)));
  return found.file;
}

/** The company's oldest upload that goes on, after another one. */
export function findRunning({ q, scope }: ReadTx, after_id: number): Promise<RunningUpload | undefined> {
  const t = q.use(usageUploadTable);
  return findRow(q, t, {
    columns: runningColumns(q),
    where: and(eq(t.company_id, scope.company_id), eq(t.status, "running"), gt(t.id, after_id)),
    order: asc(t.id),
  });
}

/** The companies with uploads that go on. */
export async function listCompaniesWithUploads(q: Reads): Promise<number[]> {
  const t = q.use(usageUploadTable);
  const rows = await q.selectDistinct({ company_id: t.company_id }).from(t).where(eq(t.status, "running"));
  return rows.map(({ company_id }) => company_id);
}

/** The names of the files that the company's uploads have. */
export async function listFiles({ q, scope }: ReadTx): Promise<string[]> {
  const t = q.use(usageUploadTable);
  const rows = await selectRows(q, t, { columns: { file: t.file }, where: companyOwned(t, scope) });
  return rows.map(({ file }) => file);
}

/** The company's oldest upload that was made before, and does not go on. */
export function findOld({ q, scope }: ReadTx, before: IsoInstant): Promise<{ id: number } | undefined> {
  const t = q.use(usageUploadTable);
  const old = and(lt(t.created_at, before), ne(t.status, "running"));
  return findRow(q, t, {
    columns: { id: t.id },
    where: and(eq(t.company_id, scope.company_id), old),
    order: asc(t.id),
  });
}

// Rejected rows.

export async function insertRejections(
  { q, scope, now }: Tx,
  upload_id: number,
  places: RejectedPlace[],
): Promise<void> {
  if (places.length === 0) return;
  const row = { company_id: scope.company_id, upload_id, places, ...stamped(now) };
  await insertRows(q, q.use(usageUploadRejectionTable), [row]);
}

export async function deleteRejections({ q, scope }: Tx, upload_id: number): Promise<void> {
  const t = q.use(usageUploadRejectionTable);
  await q.delete(t).where(and(eq(t.upload_id, upload_id), eq(t.company_id, scope.company_id)));
}

/** The next rejected rows of an upload, those of one step; undefined after the last. */
export function findRejections({ q, scope }: ReadTx, upload_id: number, after_id: number) {
  const t = q.use(usageUploadRejectionTable);
  return findRow(q, t, {
    columns: { id: t.id, places: t.places },
    where: and(eq(t.upload_id, upload_id), eq(t.company_id, scope.company_id), gt(t.id, after_id)),
    order: asc(t.id),
  });
}
