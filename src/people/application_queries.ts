import { and, eq, is, sql } from "drizzle-orm";
import { SQLiteColumn } from "drizzle-orm/sqlite-core";
import { iso, instant, type IsoInstant } from "../core/time.ts";
import type { ApplicationStatus, Borrower } from "../loans/applications/model.ts";
import { isFinal, stateAt } from "../loans/applications/rules.ts";
import { loanApplicationTable } from "../loans/applications/tables.ts";
import { consentTable } from "../loans/consents/tables.ts";
import { blobName } from "../store/blob_store.ts";
import { listUsedContents } from "../loans/documents/queries.ts";
import { loanDocumentTable } from "../loans/documents/tables.ts";
import { findRow, matching } from "../store/list_rows.ts";
import { countRows, selectRows } from "../store/select_rows.ts";
import type { ReadTx } from "../store/store.ts";
import { blankEntries, change, type ErasureTx, NOBODY, type SubjectRules } from "./subject_queries.ts";
import { NO_TRACES, tracesOf } from "./traces.ts";

/** Borrowers, by their loan applications. Amounts, states and dates stay; documents go. */
export const APPLICATION: SubjectRules = {
  async look(tx, id) {
    const application = await findBorrower(tx, id);
    if (!application) return undefined;
    const [documents, consents] = [tx.q.use(loanDocumentTable), tx.q.use(consentTable)];
    return {
      records: {
        loan_applications: 1,
        loan_documents: await countRows(tx.q, documents, eq(documents.application_id, id)),
        consents: await countRows(tx.q, consents, eq(consents.application_id, id)),
      },
      blocked: blockOf(application, tx.now),
      kept: null,
    };
  },

  async erase(tx, id) {
    const application = await findBorrower(tx, id);
    if (!application) return { records: 0, traces: NO_TRACES };
    const { name, email, phone, ic_number, registration_number } = application.borrower;
    const traces = tracesOf({ name, email, phone, numbers: [ic_number, registration_number] });
    const records = (await eraseApplication(tx, id, application)) + (await eraseConsents(tx, id));
    const { count, files } = await deleteDocuments(tx, id);
    return { records: records + count, traces: { ...traces, files } };
  },
};

/** The ids of the applications of borrowers with an email. */
export async function listApplicationsByEmail({ q, scope }: ReadTx, email: string): Promise<number[]> {
  const t = q.use(loanApplicationTable);
  const own = is(t.borrower, SQLiteColumn)
    ? sql`json_extract(${t.borrower}, '$.email')`
    : sql`${t.borrower} ->> 'email'`;
  const where = and(eq(t.company_id, scope.company_id), sql`lower(${own}) = ${email}`);
  return (await selectRows(q, t, { columns: { id: t.id }, where })).map(({ id }) => id);
}

type Application = NonNullable<Awaited<ReturnType<typeof findBorrower>>>;

function findBorrower({ q, scope }: ReadTx, id: number) {
  const t = q.use(loanApplicationTable);
  const { status, borrower, decision, deleted_at, expires_at, disbursed_at, tenor_months } = t;
  const columns = {
    id: t.id,
    status,
    borrower,
    decision,
    deleted_at,
    expires_at,
    disbursed_at,
    tenor_months,
  };
  return findRow(q, t, { columns, where: matching(t, { company_id: scope.company_id, id }) });
}

/** An application that is under way, or a loan that is not repaid by its tenor. A draft may go. */
function blockOf(application: Application, now: Temporal.Instant): string | null {
  const { deleted_at, disbursed_at, tenor_months } = application;
  const status: ApplicationStatus = stateAt(application, now);
  if (deleted_at !== null || status === "draft") return null;
  if (!isFinal(status)) return `it is ${status.replaceAll("_", " ")}: it must come to its end first`;
  const until = disbursed_at === null ? null : endOf(disbursed_at, tenor_months);
  return until !== null && Temporal.Instant.compare(now, until) < 0
    ? `its loan runs until ${until.toString().slice(0, 10)}`
    : null;
}

function endOf(disbursed_at: IsoInstant, months: number): Temporal.Instant {
  return instant(disbursed_at).toZonedDateTimeISO("UTC").add({ months }).toInstant();
}

async function eraseApplication(
  tx: ErasureTx,
  id: number,
  { status, deleted_at, borrower: { type }, decision }: Application,
): Promise<number> {
  const t = tx.q.use(loanApplicationTable);
  const nobody = { ic_number: null, registration_number: null, email: null, phone: null };
  const borrower: Borrower = { type, name: NOBODY, ...nobody, monthly_income: null, employment_type: null };
  const at = iso(tx.now);
  const erased = {
    borrower,
    borrower_name: NOBODY,
    purpose: null,
    answers: {},
    external_reference: null,
    disbursement_reference: null,
    missing: [],
    requested: [],
    decision: decision && { ...decision, note: null },
    deleted_at: status === "draft" ? (deleted_at ?? at) : deleted_at,
    updated_at: at,
  };
  return (
    (await change(tx, t, erased, eq(t.id, id))) +
    (await blankEntries(tx, "loan_application", [id])) +
    (await blankEntries(tx, "application", [id]))
  );
}

async function eraseConsents(tx: ErasureTx, application_id: number): Promise<number> {
  const t = tx.q.use(consentTable);
  const where = matching(t, { company_id: tx.scope.company_id, application_id });
  const rows = await selectRows(tx.q, t, { columns: { id: t.id, evidence: t.evidence }, where });
  for (const { id, evidence } of rows) {
    const set = {
      subject_name: NOBODY,
      subject_ic_last4: null,
      evidence: { ...evidence, ip: null, user_agent: null },
      revoke_reason: null,
      updated_at: iso(tx.now),
    };
    await change(tx, t, set, eq(t.id, id));
  }
  const ids = rows.map(({ id }) => id);
  return rows.length + (ids.length > 0 ? await blankEntries(tx, "consent", ids) : 0);
}

/** Deletes the application's documents; returns the contents that none refers to any more. */
async function deleteDocuments(
  tx: ErasureTx,
  application_id: number,
): Promise<{ count: number; files: string[] }> {
  const { q, scope } = tx;
  const t = q.use(loanDocumentTable);
  const of_application = and(eq(t.company_id, scope.company_id), eq(t.application_id, application_id));
  const rows = await q
    .delete(t)
    .where(of_application)
    .returning({ id: t.id, sha256: t.sha256, object_id: t.object_id });
  if (rows.length === 0) return { count: 0, files: [] };
  const ids = rows.map(({ id }) => id);
  const contents = rows.map(blobName);
  const used = await listUsedContents(tx, contents);
  const count = rows.length + (await blankEntries(tx, "loan_document", ids));
  return { count, files: contents.filter((name) => !used.has(name)) };
}
