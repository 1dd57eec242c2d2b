import { and, asc, desc, eq, max, sql } from "drizzle-orm";
import type { Slice } from "../../core/pagination.ts";
import { iso } from "../../core/time.ts";
import { stamped } from "../../store/columns.ts";
import { exactlyOne } from "../../store/exactly_one.ts";
import { columnsOf, findRow, listRows, matching, orderOf } from "../../store/list_rows.ts";
import type { ReadTx, Reads, Tx } from "../../store/store.ts";
import { environmentOwned } from "../queries.ts";
import type { LoanScope } from "../scope.ts";
import { ConsentDefinition, type ConsentText, type DefinitionStatus } from "./model.ts";
import { consentDefinitionTable } from "./tables.ts";

const definitionColumns = (q: Reads) => columnsOf(q.use(consentDefinitionTable), ConsentDefinition);

/** Which definitions to list; every field given narrows further. */
export interface DefinitionFilter {
  code?: string;
  locale?: string;
  status?: DefinitionStatus;
}

/** Definitions by code, locale and version, newest version first, unless `sort` says otherwise, and how many there are in all. */
export function listDefinitions(
  tx: ReadTx<LoanScope>,
  { sort, ...filter }: DefinitionFilter & { sort?: string },
  slice: Slice,
) {
  const t = tx.q.use(consentDefinitionTable);
  const where = and(environmentOwned(t, tx.scope), matching(t, filter));
  const order =
    sort === undefined ? sql`${asc(t.code)}, ${asc(t.locale)}, ${desc(t.version)}` : orderOf(t, sort);
  return listRows(tx.q, t, { columns: definitionColumns(tx.q), where, order, slice });
}

export async function findDefinition(
  { q, scope }: ReadTx<LoanScope>,
  id: number,
): Promise<ConsentDefinition | undefined> {
  const t = q.use(consentDefinitionTable);
  const where = and(environmentOwned(t, scope), eq(t.id, id));
  return findRow(q, t, { columns: definitionColumns(q), where });
}

/** The newest version of a code in a locale; 0 when there is none. */
export async function findLastVersion(
  { q, scope }: ReadTx<LoanScope>,
  { code, locale }: Pick<ConsentDefinition, "code" | "locale">,
): Promise<number> {
  const t = q.use(consentDefinitionTable);
  const row = await findRow(q, t, {
    columns: { version: max(t.version) },
    where: and(environmentOwned(t, scope), matching(t, { code, locale })),
  });
  return row?.version ?? 0;
}

export async function insertDefinition(
  { q, scope: { company_id, environment }, now }: Tx<LoanScope>,
  definition: ConsentText & Pick<ConsentDefinition, "version" | "text_sha256">,
): Promise<ConsentDefinition> {
  const t = q.use(consentDefinitionTable);
  const row = { ...definition, company_id, environment, status: "draft" as const, ...stamped(now) };
  return exactlyOne(await q.insert(t).values(row).returning(definitionColumns(q)));
}

/** Updates a definition that still has the status that was read; undefined otherwise (compare-and-set). */
export async function updateDefinition(
  { q, scope, now }: Tx<LoanScope>,
  { id, status }: Pick<ConsentDefinition, "id" | "status">,
  change: Partial<Omit<ConsentDefinition, "id" | "environment" | "code" | "locale" | "version">>,
): Promise<ConsentDefinition | undefined> {
  const t = q.use(consentDefinitionTable);
  const [definition] = await q
    .update(t)
    .set({ ...change, updated_at: iso(now) })
    .where(and(environmentOwned(t, scope), matching(t, { id, status })))
    .returning(definitionColumns(q));
  return definition;
}

/** Retires the published version of a code in a locale, if there is one. */
export async function retirePublished(
  { q, scope, now }: Tx<LoanScope>,
  { code, locale }: Pick<ConsentDefinition, "code" | "locale">,
): Promise<void> {
  const t = q.use(consentDefinitionTable);
  await q
    .update(t)
    .set({ status: "retired", retired_at: iso(now), updated_at: iso(now) })
    .where(and(environmentOwned(t, scope), matching(t, { code, locale, status: "published" })));
}
