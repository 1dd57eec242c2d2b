import { and, asc, eq, gt, inArray, isNotNull, isNull, lte, ne, or } from "drizzle-orm";
import type { Slice } from "../../core/pagination.ts";
import { iso } from "../../core/time.ts";
import { stamped } from "../../store/columns.ts";
import { insertRow } from "../../store/insert_rows.ts";
import { columnsOf, findRow, listRows, matching } from "../../store/list_rows.ts";
import { type BlobName, blobName, partsOf, type StoredBlob } from "../../store/blob_store.ts";
import type { Queries, ReadTx, Reads, Tx } from "../../store/store.ts";
import { countRows, selectRows } from "../../store/select_rows.ts";
import { ofApplications } from "../applications/queries.ts";
import { loanApplicationTable } from "../applications/tables.ts";
import type { DocumentType } from "../programs/model.ts";
import type { LoanScope } from "../scope.ts";
import { type DocumentState, LoanDocument } from "./model.ts";
import { loanDocumentTable } from "./tables.ts";

type Documents = ReturnType<typeof loanDocumentTable>;

/** Where a content lies. */
const placeColumns = ({ sha256, object_id }: Pick<Documents, "sha256" | "object_id">) => ({
  sha256,
  object_id,
});

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

type NewDocument = StoredBlob &
  Pick<LoanDocument, "application_id" | "type" | "file_name" | "content_type" | "uploaded_by">;

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

/**
 * Deletes a document that still has the status that was read; returns the name of its content, undefined where it did
 * not (compare-and-set).
 */
export async function deleteDocument(
  tx: Tx<LoanScope>,
  { id, status }: Pick<LoanDocument, "id" | "status">,
): Promise<BlobName | undefined> {
  const t = tx.q.use(loanDocumentTable);
  const rows = await tx.q
    .delete(t)
    .where(and(ofApplications(tx, t), matching(t, { id, status })))
    .returning(placeColumns(t));
  return rows.map(blobName)[0];
}

/** The name of a document's content; undefined where the scope has no such document. */
export async function findContent(tx: ReadTx<LoanScope>, id: number): Promise<BlobName | undefined> {
  const t = tx.q.use(loanDocumentTable);
  const where = and(ofApplications(tx, t), eq(t.id, id));
  const place = await findRow(tx.q, t, { columns: placeColumns(t), where });
  return place && blobName(place);
}

// For file storage, which knows companies and no environments.

/** Those of the contents that a document of the company refers to. */
export async function listUsedContents(
  { q, scope: { company_id } }: ReadTx,
  names: readonly BlobName[],
): Promise<Set<BlobName>> {
  const t = q.use(loanDocumentTable);
  const places = names.map(partsOf);
  const files = places.flatMap(({ sha256, object_id }) => (object_id === null ? sha256 : []));
  const objects = places.flatMap(({ object_id }) => object_id ?? []);
  const rows = await q
    .selectDistinct(placeColumns(t))
    .from(t)
    .where(
      and(
        eq(t.company_id, company_id),
        or(and(inArray(t.sha256, files), isNull(t.object_id)), inArray(t.object_id, objects)),
      ),
    );
  return new Set(rows.map(blobName));
}

/** The company's documents whose contents are files in DATA_DIR, by id. */
export async function listFiles(
  { q, scope: { company_id } }: ReadTx,
  { after_id, limit }: { after_id: number; limit: number },
): Promise<Pick<LoanDocument, "id" | "size" | "sha256">[]> {
  const t = q.use(loanDocumentTable);
  const where = and(eq(t.company_id, company_id), isNull(t.object_id), gt(t.id, after_id));
  return selectRows(q, t, {
    columns: { id: t.id, size: t.size, sha256: t.sha256 },
    where,
    order: asc(t.id),
    limit,
  });
}

/** Writes down that a document's content is an object now; returns whether it was a file until then (compare-and-set). */
export async function moveContent(
  { q, scope: { company_id } }: Tx,
  { id, object_id }: { id: number; object_id: string },
): Promise<boolean> {
  const t = q.use(loanDocumentTable);
  const where = and(eq(t.company_id, company_id), eq(t.id, id), isNull(t.object_id));
  return (await q.update(t).set({ object_id }).where(where).returning({ id: t.id })).length > 0;
}

/** Writes down of all companies' documents that they are files, as after a restore. */
export async function moveDocumentsHere(q: Queries): Promise<void> {
  const t = q.use(loanDocumentTable);
  await q.update(t).set({ object_id: null }).where(isNotNull(t.object_id));
}

/**
 * Deletes at most `limit` documents of deleted applications, and of those that ended without a loan before `until`.
 * Returns the name of each document's content.
 */
export async function deleteEndedDocuments(
  { q, scope: { company_id } }: Tx,
  until: Temporal.Instant,
  limit: number,
): Promise<BlobName[]> {
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
  return (await q.delete(t).where(inArray(t.id, ended)).returning(placeColumns(t))).map(blobName);
}

/** The file that a document refers to. */
export type ExpectedFile = StoredBlob & { id: number; company_id: number };

/** The files that all companies' documents refer to, by document id. */
export async function listExpectedFiles(
  q: Reads,
  { after_id, limit }: { after_id: number; limit: number },
): Promise<ExpectedFile[]> {
  const t = q.use(loanDocumentTable);
  return selectRows(q, t, {
    columns: { id: t.id, company_id: t.company_id, size: t.size, ...placeColumns(t) },
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
