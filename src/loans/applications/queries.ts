import {
  and,
  type AnyColumn,
  asc,
  eq,
  inArray,
  isNull,
  lte,
  ne,
  notInArray,
  or,
  type SQL,
} from "drizzle-orm";
import { orNotFound } from "../../core/errors.ts";
import type { Slice } from "../../core/pagination.ts";
import { iso } from "../../core/time.ts";
import { stamped } from "../../store/columns.ts";
import { insertRow } from "../../store/insert_rows.ts";
import { exactlyOne } from "../../store/exactly_one.ts";
import { containing, within } from "../../store/expressions.ts";
import { columnsOf, findRow, listRows, matching, orderOf } from "../../store/list_rows.ts";
import type { ReadTx, Reads, Tx } from "../../store/store.ts";
import { countRows, selectRows } from "../../store/select_rows.ts";
import type { FormStructure } from "../../forms/model.ts";
import { environmentOwned } from "../queries.ts";
import type { LoanScope } from "../scope.ts";
import { type ActionItem, type ApplicationStatus, LoanApplication } from "./model.ts";
import type { LoanRequest } from "./read_request.ts";
import { FINAL_STATUSES, WAITING_STATUSES } from "./rules.ts";
import { loanApplicationTable } from "./tables.ts";

const applicationColumns = (q: Reads) => columnsOf(q.use(loanApplicationTable), LoanApplication);

/** Which applications to list; every field given narrows further. */
export interface ApplicationFilter {
  status?: ApplicationStatus;
  program_id?: number;
  /** A part of a reference, or of the borrower's name. */
  search?: string;
  /** Created at this time or later. */
  from?: string;
  /** Created before this time. */
  to?: string;
  has_drafts?: boolean;
  sort?: string;
}

/** Applications, newest first, and how many there are in all. */
export function listApplications(
  tx: ReadTx<LoanScope>,
  { sort = "-id", ...filter }: ApplicationFilter,
  slice: Slice,
) {
  const t = tx.q.use(loanApplicationTable);
  const where = matches(tx, filter);
  return listRows(tx.q, t, { columns: applicationColumns(tx.q), where, order: orderOf(t, sort), slice });
}

/** As `listApplications`, of those that something may be missing of: drafts, and where action is required. */
export function listWaiting(
  tx: ReadTx<LoanScope>,
  { sort = "-id", ...filter }: ApplicationFilter,
  limit: number,
): Promise<LoanApplication[]> {
  const t = tx.q.use(loanApplicationTable);
  const where = and(matches(tx, filter), inArray(t.status, [...WAITING_STATUSES]));
  return selectRows(tx.q, t, { columns: applicationColumns(tx.q), where, order: orderOf(t, sort), limit });
}

function matches(
  tx: ReadTx<LoanScope>,
  { search, from, to, has_drafts = true, ...equal }: Omit<ApplicationFilter, "sort">,
): SQL | undefined {
  const t = tx.q.use(loanApplicationTable);
  return and(
    inScope(tx),
    matching(t, equal),
    has_drafts ? undefined : ne(t.status, "draft"),
    or(...[t.reference, t.external_reference, t.borrower_name].map((column) => containing(column, search))),
    within(t.created_at, { from, to }),
  );
}

export async function findApplication(
  tx: ReadTx<LoanScope>,
  id: number,
): Promise<LoanApplication | undefined> {
  const t = tx.q.use(loanApplicationTable);
  const where = and(inScope(tx), eq(t.id, id));
  return findRow(tx.q, t, { columns: applicationColumns(tx.q), where });
}

/** As findApplication. Errors: not_found. */
export async function requireApplication(tx: ReadTx<LoanScope>, id: number): Promise<LoanApplication> {
  return orNotFound(await findApplication(tx, id), "Application", id);
}

/** The terms of an application that are not on the wire. */
export interface ApplicationTerms {
  /** The program's form as it was at the submission. */
  form_snapshot: FormStructure | null;
  /** All items the lender has requested. */
  requested: ActionItem[];
}

export async function findTerms(tx: ReadTx<LoanScope>, id: number): Promise<ApplicationTerms> {
  return exactlyOne([...(await listTerms(tx, [id])).values()]);
}

/** The terms of applications, by their ids. */
export async function listTerms(
  tx: ReadTx<LoanScope>,
  ids: readonly number[],
): Promise<Map<number, ApplicationTerms>> {
  const t = tx.q.use(loanApplicationTable);
  const rows = await selectRows(tx.q, t, {
    columns: { id: t.id, form_snapshot: t.form_snapshot, requested: t.requested },
    where: and(inScope(tx), inArray(t.id, [...ids])),
  });
  return new Map(rows.map(({ id, ...terms }) => [id, terms]));
}

/** The caller's application with this reference; all users share one set of references. */
export async function findByExternalReference(
  tx: ReadTx<LoanScope>,
  external_reference: string,
): Promise<LoanApplication | undefined> {
  const t = tx.q.use(loanApplicationTable);
  const is_owner =
    tx.scope.agent_key_id === undefined ? isNull(t.agent_key_id) : eq(t.agent_key_id, tx.scope.agent_key_id);
  const where = and(inScope(tx), is_owner, eq(t.external_reference, external_reference));
  return findRow(tx.q, t, { columns: applicationColumns(tx.q), where });
}

/** The number of a program's applications that are not in a final state. */
export async function countOpenApplications(tx: ReadTx<LoanScope>, program_id: number): Promise<number> {
  const t = tx.q.use(loanApplicationTable);
  const is_open = notInArray(t.status, [...FINAL_STATUSES]);
  return countRows(tx.q, t, and(inScope(tx), eq(t.program_id, program_id), is_open));
}

/** A new application, as a draft. */
export type NewApplication = LoanRequest &
  Pick<
    LoanApplication,
    "reference" | "agent_client_id" | "program_id" | "program_snapshot" | "external_reference" | "expires_at"
  >;

export async function insertApplication(
  { q, scope: { company_id, environment, agent_key_id }, now }: Tx<LoanScope>,
  application: NewApplication,
): Promise<LoanApplication> {
  const row = {
    ...application,
    company_id,
    environment,
    agent_key_id: agent_key_id ?? null,
    borrower_name: application.borrower.name,
    status: "draft" as const,
    missing: [],
    requested: [],
    ...stamped(now),
  };
  return insertRow(q, q.use(loanApplicationTable), row, applicationColumns(q));
}

/** The fields of an application that an update may set. */
export type ApplicationChange = Partial<
  Omit<LoanApplication, "id" | "reference" | "environment" | "company_id" | "created_at" | "updated_at">
> & { deleted_at?: string } & Partial<ApplicationTerms>;

/** Updates an application that still has the status that was read; undefined otherwise (compare-and-set). */
export async function updateApplication(
  tx: Tx<LoanScope>,
  { id, status }: Pick<LoanApplication, "id" | "status">,
  change: ApplicationChange,
): Promise<LoanApplication | undefined> {
  const t = tx.q.use(loanApplicationTable);
  const name = change.borrower === undefined ? {} : { borrower_name: change.borrower.name };
  const [application] = await tx.q
    .update(t)
    .set({ ...change, ...name, updated_at: iso(tx.now) })
    .where(and(inScope(tx), matching(t, { id, status })))
    .returning(applicationColumns(tx.q));
  return application;
}

function inScope({ q, scope }: ReadTx<LoanScope>): SQL | undefined {
  const t = q.use(loanApplicationTable);
  return and(
    environmentOwned(t, scope),
    scope.agent_key_id === undefined ? undefined : eq(t.agent_key_id, scope.agent_key_id),
    isNull(t.deleted_at),
  );
}

/** Rows that belong to applications in the scope: for loan agents their own, and never deleted ones. */
export function ofApplications(
  tx: ReadTx<LoanScope>,
  table: { company_id: AnyColumn; environment: AnyColumn; application_id: AnyColumn },
): SQL | undefined {
  const t = tx.q.use(loanApplicationTable);
  const applications = tx.q.select({ id: t.id }).from(t).where(inScope(tx));
  return and(environmentOwned(table, tx.scope), inArray(table.application_id, applications));
}

// For the job, which works on both environments of a company.

/** The companies that have an application past its expiry. */
export async function listCompaniesWithExpiredApplications(
  q: Reads,
  now: Temporal.Instant,
): Promise<number[]> {
  const t = q.use(loanApplicationTable);
  const rows = await q.selectDistinct({ company_id: t.company_id }).from(t).where(hasExpired(q, now));
  return rows.map(({ company_id }) => company_id);
}

/** A company's applications past their expiry, earliest first. */
export async function listExpired({ q, scope: { company_id }, now }: ReadTx, limit: number) {
  const t = q.use(loanApplicationTable);
  return selectRows(q, t, {
    columns: applicationColumns(q),
    where: and(eq(t.company_id, company_id), hasExpired(q, now)),
    order: [asc(t.expires_at), asc(t.id)],
    limit,
  });
}

function hasExpired(q: Reads, now: Temporal.Instant): SQL | undefined {
  const t = q.use(loanApplicationTable);
  return and(lte(t.expires_at, iso(now)), isNull(t.deleted_at));
}
