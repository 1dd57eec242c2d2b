import { and, asc, eq, gt, inArray, isNotNull, lte, ne, or } from "drizzle-orm";
import type { Slice } from "../../core/pagination.ts";
import { iso } from "../../core/time.ts";
import { stamped } from "../../store/columns.ts";
import { insertRow } from "../../store/insert_rows.ts";
import { columnsOf, findRow, listRows, matching } from "../../store/list_rows.ts";
import type { ReadTx, Reads, Tx } from "../../store/store.ts";
import { countRows, selectRows } from "../../store/select_rows.ts";
import { ofApplications } from "../applications/queries.ts";
import { loanApplicationTable } from "../applications/tables.ts";
import type { DocumentType } from "../programs/model.ts";
import type { LoanScope } from "../scope.ts";
import { type DocumentState, LoanDocument } from "./model.ts";
import { loanDocumentTable } from "./tables.ts";

const documentColumns = (q: Reads) => columnsOf(q.use(loanDocumentTable), LoanDocument);

/** An application's documents by id, superseded ones included, and how many there are. */
export function listDocuments(tx: ReadTx<LoanScope>, application_id: number, slice: Slice) {
  const t = tx.q.use(loanDocumentTable);
  const where = and(ofApplications(tx, t), eq(t.application_id, application_id));
  return listRows(tx.q, t, { columns: documentColumns(tx.q), where, order: asc(t.id), slice });
}

export async function findDocument(tx: ReadTx<LoanScope>, id: number): Promise<LoanDocument | undefined> {
  const t = tx.q.use(loanDocumentTable);
  const where = and(ofApplications(tx, t), eq(t.id, id));
  return findRow(tx.q, t, { columns: documentColumns(tx.q), where });
}

export async function countDocuments(tx: ReadTx<LoanScope>, application_id: number): Promise<number> {
  const t = tx.q.use(loanDocumentTable);
  return countRows(tx.q, t, and(ofApplications(tx, t), eq(t.application_id, application_id)));
}

type NewDocument = Pick<
  LoanDocument,
  "application_id" | "type" | "file_name" | "content_type" | "size" | "sha256" | "uploaded_by"
>;

export async function insertDocument(
  { q, scope: { company_id, environment }, now }: Tx<LoanScope>,
  document: NewDocument,
): Promise<LoanDocument> {
  const t = q.use(loanDocumentTable);
  const row = { ...document, company_id, environment, status: "pending_review" as const, ...stamped(now) };
  return insertRow(q, t, row, documentColumns(q));
}

/** Marks the application's current document of a type as superseded. */
export async function supersedeDocument(
  tx: Tx<LoanScope>,
  { application_id, type }: { application_id: number; type: DocumentType },
): Promise<void> {
  const t = tx.q.use(loanDocumentTable);
  await tx.q
    .update(t)
    .set({ status: "superseded", updated_at: iso(tx.now) })
    .where(and(ofApplications(tx, t), matching(t, { application_id, type }), ne(t.status, "superseded")));
}

/** Records a review of a document that still has the status that was read; undefined otherwise (compare-and-set). */
export async function reviewDocument(
  tx: Tx<LoanScope>,
  { id, status }: Pick<LoanDocument, "id" | "status">,
  review: Pick<LoanDocument, "status" | "reason_code" | "note">,
): Promise<LoanDocument | undefined> {
  const t = tx.q.use(loanDocumentTable);
  const [document] = await tx.q
    .update(t)
    .set({ ...review, reviewed_at: iso(tx.now), updated_at: iso(tx.now) })
    .where(and(ofApplications(tx, t), matching(t, { id, status })))
    .returning(documentColumns(tx.q));
  return document;
}

/** Deletes a document that still has the status that was read; returns whether it did (compare-and-set). */
export async function deleteDocument(
  tx: Tx<LoanScope>,
  { id, status }: Pick<LoanDocument, "id" | "status">,
): Promise<boolean> {
  const t = tx.q.use(loanDocumentTable);
  const rows = await tx.q
    .delete(t)
    .where(and(ofApplications(tx, t), matching(t, { id, status })))
    .returning({ id: t.id });
  return rows.length > 0;
}

// For file storage, which knows companies and no environments.

/** Those of the contents that a document of the company refers to. */
export async function listUsedContents(
  { q, scope: { company_id } }: ReadTx,
  sha256s: readonly string[],
): Promise<Set<string>> {
  const t = q.use(loanDocumentTable);
  const rows = await q
    .selectDistinct({ sha256: t.sha256 })
    .from(t)
    .where(and(eq(t.company_id, company_id), inArray(t.sha256, [...sha256s])));
  return new Set(rows.map(({ sha256 }) => sha256));
}

/**
 * Deletes at most `limit` documents of deleted applications, and of those that ended without a loan before `until`.
 * Returns the SHA-256 of each document's content.
 */
export async function deleteEndedDocuments(
  { q, scope: { company_id } }: Tx,
  until: Temporal.Instant,
  limit: number,
): Promise<string[]> {
  const t = q.use(loanDocumentTable);
  const a = q.use(loanApplicationTable);
  const ends = [a.rejected_at, a.declined_at, a.withdrawn_at, a.expired_at];
  const ended = q
    .select({ id: t.id })
    .from(t)
    .innerJoin(a, eq(a.id, t.application_id))
    .where(
      and(
        eq(t.company_id, company_id),
        or(...ends.map((at) => lte(at, iso(until))), isNotNull(a.deleted_at)),
      ),
    )
    .orderBy(asc(t.id))
    .limit(limit);
  const rows = await q.delete(t).where(inArray(t.id, ended)).returning({ sha256: t.sha256 });
  return rows.map(({ sha256 }) => sha256);
}

/** The file that a document refers to. */
export type ExpectedFile = Pick<LoanDocument, "id" | "size" | "sha256"> & { company_id: number };

/** The files that all companies' documents refer to, by document id. */
export async function listExpectedFiles(
  q: Reads,
  { after_id, limit }: { after_id: number; limit: number },
): Promise<ExpectedFile[]> {
  const t = q.use(loanDocumentTable);
  return selectRows(q, t, {
    columns: { id: t.id, company_id: t.company_id, size: t.size, sha256: t.sha256 },
    where: gt(t.id, after_id),
    order: asc(t.id),
    limit,
  });
}

/** The states of the applications' documents, superseded ones included. */
export async function listDocumentStates(
  tx: ReadTx<LoanScope>,
  application_ids: readonly number[],
): Promise<DocumentState[]> {
  const t = tx.q.use(loanDocumentTable);
  const { application_id, type, status, reason_code, reviewed_at, created_at } = t;
  return selectRows(tx.q, t, {
    columns: { application_id, type, status, reason_code, reviewed_at, created_at },
    where: and(ofApplications(tx, t), inArray(application_id, [...application_ids])),
  });
}

/** Returns verified documents to pending_review; `reviewed_at` stays. */
export async function voidReviews(tx: Tx<LoanScope>, application_id: number): Promise<void> {
  const t = tx.q.use(loanDocumentTable);
  await tx.q
    .update(t)
    .set({ status: "pending_review", updated_at: iso(tx.now) })
    .where(and(ofApplications(tx, t), matching(t, { application_id, status: "verified" })));
}
