import { and, asc, eq, gt, inArray, isNotNull, lte, ne, or } from "drizzle-orm";
import type { LoanScope, Scope } from "../../core/access.ts";
import type { Slice } from "../../core/page.ts";
import { iso } from "../../core/time.ts";
import { stamped } from "../../store/columns.ts";
import { only } from "../../store/rows.ts";
import type { Queries, Reads } from "../../store/store.ts";
import { ofApplications } from "../loan_applications/queries.ts";
import { loanApplicationTable } from "../loan_applications/tables.ts";
import type { DocumentType } from "../loan_programs/model.ts";
import type { DocumentState, DocumentStatus, LoanDocument } from "./model.ts";
import { loanDocumentTable } from "./tables.ts";

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
  q: Reads,
  scope: LoanScope,
  application_id: number,
  { limit, offset }: Slice,
): Promise<{ rows: LoanDocument[]; total: number }> {
  const t = q.use(loanDocumentTable);
  const where = and(ofApplications(q, t, scope), eq(t.application_id, application_id));
  const rows = await q
    .select(documentColumns(q))
    .from(t)
    .where(where)
    .orderBy(asc(t.id))
    .limit(limit)
    .offset(offset);
  return { rows, total: await q.$count(t, where) };
}

export async function findDocument(
  q: Reads,
  scope: LoanScope,
  id: number,
): Promise<LoanDocument | undefined> {
  const t = q.use(loanDocumentTable);
  const [document] = await q
    .select(documentColumns(q))
    .from(t)
    .where(and(ofApplications(q, t, scope), eq(t.id, id)));
  return document;
}

export function countDocuments(q: Reads, scope: LoanScope, application_id: number): Promise<number> {
  const t = q.use(loanDocumentTable);
  return q.$count(t, and(ofApplications(q, t, scope), eq(t.application_id, application_id))).then(Number);
}

type NewDocument = Pick<
  LoanDocument,
  "application_id" | "type" | "file_name" | "content_type" | "size" | "sha256" | "uploaded_by"
>;

export async function insertDocument(
  q: Queries,
  { company_id, environment }: LoanScope,
  now: Temporal.Instant,
  document: NewDocument,
): Promise<LoanDocument> {
  const t = q.use(loanDocumentTable);
  const row = { ...document, company_id, environment, status: "pending_review" as const, ...stamped(now) };
  return only(await q.insert(t).values(row).returning(documentColumns(q)));
}

/** The type's current document makes room for the next. */
export async function supersedeDocument(
  q: Queries,
  scope: LoanScope,
  now: Temporal.Instant,
  { application_id, type }: { application_id: number; type: DocumentType },
): Promise<void> {
  const t = q.use(loanDocumentTable);
  await q
    .update(t)
    .set({ status: "superseded", updated_at: iso(now) })
    .where(
      and(
        ofApplications(q, t, scope),
        eq(t.application_id, application_id),
        eq(t.type, type),
        ne(t.status, "superseded"),
      ),
    );
}

/** Writes down a review of a document that still has the status it was found with. Undefined when it has not. */
export async function reviewDocument(
  q: Queries,
  scope: LoanScope,
  now: Temporal.Instant,
  { id, status: found }: { id: number; status: DocumentStatus },
  review: Pick<LoanDocument, "status" | "reason_code" | "note">,
): Promise<LoanDocument | undefined> {
  const t = q.use(loanDocumentTable);
  const [document] = await q
    .update(t)
    .set({ ...review, reviewed_at: iso(now), updated_at: iso(now) })
    .where(and(ofApplications(q, t, scope), eq(t.id, id), eq(t.status, found)))
    .returning(documentColumns(q));
  return document;
}

/** Forgets a document that still has the status it was found with. Returns whether it had. */
export async function deleteDocument(
  q: Queries,
  scope: LoanScope,
  { id, status: found }: { id: number; status: DocumentStatus },
): Promise<boolean> {
  const t = q.use(loanDocumentTable);
  const rows = await q
    .delete(t)
    .where(and(ofApplications(q, t, scope), eq(t.id, id), eq(t.status, found)))
    .returning({ id: t.id });
  return rows.length > 0;
}

// What the house asks about files: whose they are is all that counts, not in which environment.

/** Which of the contents some document of the company refers to. */
export async function listUsedContents(
  q: Reads,
  { company_id }: Scope,
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
  q: Queries,
  { company_id }: Scope,
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
  q: Reads,
  scope: LoanScope,
  application_ids: readonly number[],
): Promise<DocumentState[]> {
  const t = q.use(loanDocumentTable);
  const { application_id, type, status, reason_code, reviewed_at, created_at } = t;
  return q
    .select({ application_id, type, status, reason_code, reviewed_at, created_at })
    .from(t)
    .where(and(ofApplications(q, t, scope), inArray(application_id, [...application_ids])));
}

/** The documents that the lender has verified wait for a review again; `reviewed_at` tells that they had one. */
export async function voidReviews(
  q: Queries,
  scope: LoanScope,
  now: Temporal.Instant,
  application_id: number,
): Promise<void> {
  const t = q.use(loanDocumentTable);
  await q
    .update(t)
    .set({ status: "pending_review", updated_at: iso(now) })
    .where(and(ofApplications(q, t, scope), eq(t.application_id, application_id), eq(t.status, "verified")));
}
