import {
  and,
  type AnyColumn,
  asc,
  desc,
  eq,
  gte,
  inArray,
  isNull,
  lt,
  lte,
  notInArray,
  or,
  type SQL,
} from "drizzle-orm";
import type { Slice } from "../../core/pagination.ts";
import { instant, iso } from "../../core/time.ts";
import { stamped } from "../../store/columns.ts";
import { contains } from "../../store/expressions.ts";
import { exactlyOne } from "../../store/exactly_one.ts";
import type { ReadTx, Reads, Tx } from "../../store/store.ts";
import type { FormStructure } from "../../forms/model.ts";
import type { ActionItem, ApplicationStatus, LoanApplication } from "./model.ts";
import type { LoanRequest } from "./read_request.ts";
import { FINAL_STATUSES } from "./rules.ts";
import { loanApplicationTable } from "./tables.ts";
import { environmentOwned, type LoanScope } from "../scope.ts";

function applicationColumns(q: Reads) {
  const t = q.use(loanApplicationTable);
  const { id, reference, environment, company_id, agent_client_id, program_id, program_snapshot } = t;
  const { external_reference, status, borrower, amount, tenor_months, purpose, answers, missing } = t;
  const { decision, offer, disbursement_reference, expires_at, created_at, updated_at } = t;
  const { submitted_at, under_review_at, action_required_at, approved_at, rejected_at } = t;
  const { accepted_at, declined_at, withdrawn_at, expired_at, disbursed_at } = t;
  const identity = { id, reference, environment, company_id, agent_client_id, external_reference };
  const terms = { program_id, program_snapshot, borrower, amount, tenor_months, purpose, answers };
  const stands = { status, missing, decision, offer, disbursement_reference, expires_at };
  const reviewed = { submitted_at, under_review_at, action_required_at, approved_at, rejected_at };
  const ended = { accepted_at, declined_at, withdrawn_at, expired_at, disbursed_at };
  return { ...identity, ...terms, ...stands, ...reviewed, ...ended, created_at, updated_at };
}

/** Which applications are meant; every field given narrows further. */
export interface ApplicationFilter {
  status?: ApplicationStatus;
  /** Whether drafts are left out. */
  sent?: boolean;
  program_id?: number;
  /** A part of a reference, or of the borrower's name. */
  search?: string;
  from?: string;
  to?: string;
}

/** Applications, newest first, and how many there are in all. */
export async function listApplications(
  tx: ReadTx<LoanScope>,
  { status, sent = false, program_id, search, from, to }: ApplicationFilter,
  { limit, offset }: Slice,
): Promise<{ rows: LoanApplication[]; total: number }> {
  const t = tx.q.use(loanApplicationTable);
  const where = and(
    inScope(tx),
    status === undefined ? undefined : eq(t.status, status),
    sent ? notInArray(t.status, ["draft"]) : undefined,
    program_id === undefined ? undefined : eq(t.program_id, program_id),
    search === undefined
      ? undefined
      : or(
          contains(t.reference, search),
          contains(t.external_reference, search),
          contains(t.borrower_name, search),
        ),
    from === undefined ? undefined : gte(t.created_at, iso(instant(from))),
    to === undefined ? undefined : lt(t.created_at, iso(instant(to))),
  );
  const rows = await tx.q
    .select(applicationColumns(tx.q))
    .from(t)
    .where(where)
    .orderBy(desc(t.id))
    .limit(limit)
    .offset(offset);
  return { rows, total: await tx.q.$count(t, where) };
}

export async function findApplication(
  tx: ReadTx<LoanScope>,
  id: number,
): Promise<LoanApplication | undefined> {
  const t = tx.q.use(loanApplicationTable);
  const [application] = await tx.q
    .select(applicationColumns(tx.q))
    .from(t)
    .where(and(inScope(tx), eq(t.id, id)));
  return application;
}

/** What an application goes by that is not shown with it. */
export interface ApplicationTerms {
  /** The program's form as it was at the submission. */
  form_snapshot: FormStructure | null;
  /** All that the lender has asked for so far. */
  requested: ActionItem[];
}

export async function findTerms(tx: ReadTx<LoanScope>, id: number): Promise<ApplicationTerms> {
  return exactlyOne([...(await listTerms(tx, [id])).values()]);
}

/** The terms of some applications, by their ids. */
export async function listTerms(
  tx: ReadTx<LoanScope>,
  ids: readonly number[],
): Promise<Map<number, ApplicationTerms>> {
  const t = tx.q.use(loanApplicationTable);
  const rows = await tx.q
    .select({ id: t.id, form_snapshot: t.form_snapshot, requested: t.requested })
    .from(t)
    .where(and(inScope(tx), inArray(t.id, [...ids])));
  return new Map(rows.map(({ id, ...terms }) => [id, terms]));
}

/** The application that an agent knows by this reference; of users it is one for all of them. */
export async function findByExternalReference(
  tx: ReadTx<LoanScope>,
  external_reference: string,
): Promise<LoanApplication | undefined> {
  const t = tx.q.use(loanApplicationTable);
  const is_owner =
    tx.scope.agent_key_id === undefined ? isNull(t.agent_key_id) : eq(t.agent_key_id, tx.scope.agent_key_id);
  const [application] = await tx.q
    .select(applicationColumns(tx.q))
    .from(t)
    .where(and(inScope(tx), is_owner, eq(t.external_reference, external_reference)));
  return application;
}

/** How many applications to a program have not come to their end. */
export function countOpenApplications(tx: ReadTx<LoanScope>, program_id: number): Promise<number> {
  const t = tx.q.use(loanApplicationTable);
  const is_open = notInArray(t.status, [...FINAL_STATUSES]);
  return tx.q.$count(t, and(inScope(tx), eq(t.program_id, program_id), is_open)).then(Number);
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
  const t = q.use(loanApplicationTable);
  const rows = await q
    .insert(t)
    .values({
      ...application,
      company_id,
      environment,
      agent_key_id: agent_key_id ?? null,
      borrower_name: application.borrower.name,
      status: "draft",
      missing: [],
      ...stamped(now),
    })
    .returning(applicationColumns(q));
  return exactlyOne(rows);
}

/** What may be written of an application; its borrower's name follows the borrower. */
export type ApplicationChange = Partial<
  Omit<LoanApplication, "id" | "reference" | "environment" | "company_id" | "created_at" | "updated_at">
> & { deleted_at?: string } & Partial<ApplicationTerms>;

/** Changes an application that is still in the state `from`; undefined when it is not. */
export async function updateApplication(
  tx: Tx<LoanScope>,
  { id, from }: { id: number; from: ApplicationStatus },
  change: ApplicationChange,
): Promise<LoanApplication | undefined> {
  const t = tx.q.use(loanApplicationTable);
  const name = change.borrower === undefined ? {} : { borrower_name: change.borrower.name };
  const [application] = await tx.q
    .update(t)
    .set({ ...change, ...name, updated_at: iso(tx.now) })
    .where(and(inScope(tx), eq(t.id, id), eq(t.status, from)))
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

/** The rows of a table that belong to the applications in a scope: for agents to their own, and to no deleted one. */
export function ofApplications(
  tx: ReadTx<LoanScope>,
  table: { company_id: AnyColumn; environment: AnyColumn; application_id: AnyColumn },
): SQL | undefined {
  const t = tx.q.use(loanApplicationTable);
  const applications = tx.q.select({ id: t.id }).from(t).where(inScope(tx));
  return and(environmentOwned(table, tx.scope), inArray(table.application_id, applications));
}

// What the house asks, for whole companies: its jobs work in no environment.

/** The companies with an application whose time has run out. */
export async function listCompaniesWithExpired(q: Reads, now: Temporal.Instant): Promise<number[]> {
  const t = q.use(loanApplicationTable);
  const rows = await q.selectDistinct({ company_id: t.company_id }).from(t).where(hasExpired(q, now));
  return rows.map(({ company_id }) => company_id);
}

/** Applications of a company whose time has run out, in both environments, the first ones first. */
export async function listExpired(
  { q, scope: { company_id }, now }: ReadTx,
  limit: number,
): Promise<LoanApplication[]> {
  const t = q.use(loanApplicationTable);
  return q
    .select(applicationColumns(q))
    .from(t)
    .where(and(eq(t.company_id, company_id), hasExpired(q, now)))
    .orderBy(asc(t.expires_at), asc(t.id))
    .limit(limit)
    .then((rows) => rows);
}

function hasExpired(q: Reads, now: Temporal.Instant): SQL | undefined {
  const t = q.use(loanApplicationTable);
  return and(lte(t.expires_at, iso(now)), isNull(t.deleted_at));
}
