import { and, asc, eq, ne, or, type SQL } from "drizzle-orm";
import type { Slice } from "../../core/pagination.ts";
import { iso } from "../../core/time.ts";
import { stamped } from "../../store/columns.ts";
import { contains } from "../../store/expressions.ts";
import { exactlyOne } from "../../store/exactly_one.ts";
import type { ReadTx, Tx } from "../../store/store.ts";
import type { LoanProgram, ProgramStatus } from "./model.ts";
import type { ProgramTerms } from "./rules.ts";
import { loanProgramTable } from "./tables.ts";
import { environmentOwned, type LoanScope } from "../scope.ts";

/** Which programs are meant; every field given narrows further. */
export interface ProgramFilter {
  status?: ProgramStatus;
  /** A part of the code or the name. */
  search?: string;
}

/** Programs by id, and how many there are in all. */
export async function listLoanPrograms(
  tx: ReadTx<LoanScope>,
  { status, search }: ProgramFilter,
  { limit, offset }: Slice,
): Promise<{ rows: LoanProgram[]; total: number }> {
  const t = tx.q.use(loanProgramTable);
  const where = and(
    inScope(tx),
    status === undefined ? undefined : eq(t.status, status),
    search === undefined ? undefined : or(contains(t.code, search), contains(t.name, search)),
  );
  const rows = await tx.q.select().from(t).where(where).orderBy(asc(t.id)).limit(limit).offset(offset);
  return { rows, total: await tx.q.$count(t, where) };
}

export async function findLoanProgram(tx: ReadTx<LoanScope>, id: number): Promise<LoanProgram | undefined> {
  const t = tx.q.use(loanProgramTable);
  const [program] = await tx.q
    .select()
    .from(t)
    .where(and(inScope(tx), eq(t.id, id)));
  return program;
}

export async function insertLoanProgram(
  { q, scope: { company_id, environment }, now }: Tx<LoanScope>,
  terms: ProgramTerms,
): Promise<LoanProgram> {
  const t = q.use(loanProgramTable);
  const row = { ...terms, company_id, environment, status: "draft" as const, ...stamped(now) };
  return exactlyOne(await q.insert(t).values(row).returning());
}

/** Changes a program that is still in the state `from`; undefined when it is not. */
export async function updateLoanProgram(
  tx: Tx<LoanScope>,
  { id, from }: { id: number; from: ProgramStatus },
  change: Partial<ProgramTerms> & { status?: ProgramStatus },
): Promise<LoanProgram | undefined> {
  const t = tx.q.use(loanProgramTable);
  const [program] = await tx.q
    .update(t)
    .set({ ...change, updated_at: iso(tx.now) })
    .where(and(inScope(tx), eq(t.id, id), eq(t.status, from)))
    .returning();
  return program;
}

/** Programs belong to the company: whoever works in its environment may see them, archived ones nobody. */
function inScope({ q, scope }: ReadTx<LoanScope>): SQL | undefined {
  const t = q.use(loanProgramTable);
  return and(environmentOwned(t, scope), ne(t.status, "archived"));
}
