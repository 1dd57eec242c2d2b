import { and, eq, ne, or, type SQL } from "drizzle-orm";
import type { Slice } from "../../core/pagination.ts";
import { iso } from "../../core/time.ts";
import { stamped } from "../../store/columns.ts";
import { exactlyOne } from "../../store/exactly_one.ts";
import { containing } from "../../store/expressions.ts";
import { columnsOf, findRow, listRows, matching, orderOf } from "../../store/list_rows.ts";
import type { ReadTx, Reads, Tx } from "../../store/store.ts";
import { environmentOwned } from "../queries.ts";
import type { LoanScope } from "../scope.ts";
import { LoanProgram, type ProgramStatus } from "./model.ts";
import type { ProgramTerms } from "./rules.ts";
import { loanProgramTable } from "./tables.ts";

/** Which programs to list; every field given narrows further. */
export interface ProgramFilter {
  status?: ProgramStatus;
  /** A part of the code or the name. */
  search?: string;
  sort?: string;
}

const programColumns = (q: Reads) => columnsOf(q.use(loanProgramTable), LoanProgram);

/** Programs by id, and how many there are in all. */
export function listLoanPrograms(
  tx: ReadTx<LoanScope>,
  { status, search, sort }: ProgramFilter,
  slice: Slice,
) {
  const t = tx.q.use(loanProgramTable);
  const is_found = or(containing(t.code, search), containing(t.name, search));
  const where = and(inScope(tx), matching(t, { status }), is_found);
  return listRows(tx.q, t, { columns: programColumns(tx.q), where, order: orderOf(t, sort), slice });
}

export async function findLoanProgram(tx: ReadTx<LoanScope>, id: number): Promise<LoanProgram | undefined> {
  const t = tx.q.use(loanProgramTable);
  const where = and(inScope(tx), eq(t.id, id));
  return findRow(tx.q, t, { columns: programColumns(tx.q), where });
}

export async function insertLoanProgram(
  { q, scope: { company_id, environment }, now }: Tx<LoanScope>,
  terms: ProgramTerms,
): Promise<LoanProgram> {
  const t = q.use(loanProgramTable);
  const row = { ...terms, company_id, environment, status: "draft" as const, ...stamped(now) };
  return exactlyOne(await q.insert(t).values(row).returning(programColumns(q)));
}

/** Updates a program that still has the status that was read; undefined otherwise (compare-and-set). */
export async function updateLoanProgram(
  tx: Tx<LoanScope>,
  { id, status }: Pick<LoanProgram, "id" | "status">,
  change: Partial<ProgramTerms> & { status?: ProgramStatus },
): Promise<LoanProgram | undefined> {
  const t = tx.q.use(loanProgramTable);
  const [program] = await tx.q
    .update(t)
    .set({ ...change, updated_at: iso(tx.now) })
    .where(and(inScope(tx), matching(t, { id, status })))
    .returning(programColumns(tx.q));
  return program;
}

/** The environment's programs that are not archived. */
function inScope({ q, scope }: ReadTx<LoanScope>): SQL | undefined {
  const t = q.use(loanProgramTable);
  return and(environmentOwned(t, scope), ne(t.status, "archived"));
}
