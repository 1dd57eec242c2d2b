import { and, asc, eq, gt, inArray, isNotNull, lte, ne, or } from "drizzle-orm";
import type { Slice } from "../../core/pagination.ts";
import { iso } from "../../core/time.ts";
import { stamped } from "../../store/columns.ts";
import { exactlyOne } from "../../store/exactly_one.ts";
import type { ReadTx, Reads, Tx } from "../../store/store.ts";
import { ofApplications } from "../applications/queries.ts";
import { loanApplicationTable } from "../applications/tables.ts";
import type { DocumentType } from "../programs/model.ts";
import type { DocumentState, DocumentStatus, LoanDocument } from "./model.ts";
import { loanDocumentTable } from "./tables.ts";
import type { LoanScope } from "../scope.ts";

function documentColumns(q: Reads) {
  const t = q.use(loanDocumentTable);
  const { id, environment, application_id, type, file_name, content_type, size, sha256 } = t;
  const { status, reason_code, note, reviewed_at, uploaded_by, created_at, updated_at } = t;
  return {
    id,
    environment,
    application_id,
    type,
    file_name,
    content_type,
    size,
    sha256,
    status,
    reason_code,
    note,
    reviewed_at,
    uploaded_by,
    created_at,
    updated_at,
  };
}

/** An application's documents, superseded ones too, in the order in which they came, and how many there are. */
export async function listDocuments(
  tx: ReadTx<LoanScope>,
  application_id: number,
  { limit, offset }: Slice,
): Promise<{ rows: LoanDocument[]; total: number }> {
  const t = tx.q.use(loanDocumentTable);
  const where = and(ofApplications(tx, t), eq(t.application_id, application_id));
  const rows = await tx.q
    .select(documentColumns(tx.q))
    .from(t)
    .where(where)
    .orderBy(asc(t.id))
    .limit(limit)
    .offset(offset);
  return { rows, total: await tx.q.$count(t, where) };
}

export async function findDocument(tx: ReadTx<LoanScope>, id: number): Promise<LoanDocument | undefined> {
  const t = tx.q.use(loanDocumentTable);
  const [document] = await tx.q
    .select(documentColumns(tx.q))
    .from(t)
    .where(and(ofApplications(tx, t), eq(t.id, id)));
  return document;
}

export function countDocuments(tx: ReadTx<LoanScope>, application_id: number): Promise<number> {
  const t = tx.q.use(loanDocumentTable);
  return tx.q.$count(t, and(ofApplications(tx, t), eq(t.application_id, application_id))).then(Number);
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
  return exactlyOne(await q.insert(t).values(row).returning(documentColumns(q)));
}

/** The type's current document makes room for the next. */
export async function supersedeDocument(
  tx: Tx<LoanScope>,
  { application_id, type }: { application_id: number; type: DocumentType },
): Promise<void> {
  const t = tx.q.use(loanDocumentTable);
  await tx.q
    .update(t)
    .set({ status: "superseded", updated_at: iso(tx.now) })
    .where(
      and(
        ofApplications(tx, t),
        eq(t.application_id, application_id),
        eq(t.type, type),
        ne(t.status, "superseded"),
      ),
    );
}

/** Writes down a review of a document that still has the status it was found with. Undefined when it has not. */
export async function reviewDocument(
  tx: Tx<LoanScope>,
  { id, status: found }: { id: number; status: DocumentStatus },
  review: Pick<LoanDocument, "status" | "reason_code" | "note">,
): Promise<LoanDocument | undefined> {
  const t = tx.q.use(loanDocumentTable);
  const [document] = await tx.q
    .update(t)
    .set({ ...review, reviewed_at: iso(tx.now), updated_at: iso(tx.now) })
    .where(and(ofApplications(tx, t), eq(t.id, id), eq(t.status, found)))
    .returning(documentColumns(tx.q));
  return document;
}

/** Forgets a document that still has the status it was found with. Returns whether it had. */
export async function deleteDocument(
  tx: Tx<LoanScope>,
  { id, status: found }: { id: number; status: DocumentStatus },
): Promise<boolean> {
  const t = tx.q.use(loanDocumentTable);
  const rows = await tx.q
    .delete(t)
    .where(and(ofApplications(tx, t), eq(t.id, id), eq(t.status, found)))
    .returning({ id: t.id });
  return rows.length > 0;
}

// What the house asks about files: whose they are is all that counts, not in which environment.

/** Which of the contents some document of the company refers to. */
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
 * Forgets documents, at most `limit`, of applications that came to nothing before `until`, and of deleted ones.
 * Answers their contents, one for each document.
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

/** A file that should be there, as one document says. */
export type ExpectedFile = Pick<LoanDocument, "id" | "size" | "sha256"> & { company_id: number };

/** What files all companies' documents refer to, in the order of the documents. */
export async function listExpectedFiles(
  q: Reads,
  { after_id, limit }: { after_id: number; limit: number },
): Promise<ExpectedFile[]> {
  const t = q.use(loanDocumentTable);
  return q
    .select({ id: t.id, company_id: t.company_id, size: t.size, sha256: t.sha256 })
    .from(t)
    .where(gt(t.id, after_id))
    .orderBy(asc(t.id))
    .limit(limit);
}

/** What became of the documents of some applications, superseded ones too. */
export async function listDocumentStates(
  tx: ReadTx<LoanScope>,
  application_ids: readonly number[],
): Promise<DocumentState[]> {
  const t = tx.q.use(loanDocumentTable);
  const { application_id, type, status, reason_code, reviewed_at, created_at } = t;
  return tx.q
    .select({ application_id, type, status, reason_code, reviewed_at, created_at })
    .from(t)
    .where(and(ofApplications(tx, t), inArray(application_id, [...application_ids])));
}

/** The documents that the lender has verified wait for a review again; `reviewed_at` tells that they had one. */
export async function voidReviews(tx: Tx<LoanScope>, application_id: number): Promise<void> {
  const t = tx.q.use(loanDocumentTable);
  await tx.q
    .update(t)
    .set({ status: "pending_review", updated_at: iso(tx.now) })
    .where(and(ofApplications(tx, t), eq(t.application_id, application_id), eq(t.status, "verified")));
}
