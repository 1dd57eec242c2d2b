import type { PgColumn, PgTable } from "drizzle-orm/pg-core";
import { and, eq, inArray, SQL, sql } from "drizzle-orm";
import { auditLogTable } from "../audit/tables.ts";
import type { ReadTx, Tx } from "../store/store.ts";
import { changeRows } from "../store/update_rows.ts";
import type { PersonPreview } from "./model.ts";
import type { Traces } from "./traces.ts";

/** What stands in place of a name. */
export const NOBODY = "Erased";

/** What an erasure took. */
export interface Erased {
  readonly records: number;
  readonly traces: Traces;
}

/** What an erasure would take of one subject; `undefined` of one that never was. */
export type Look = Omit<PersonPreview, "kind" | "id">;

/** A transaction, and the instant before which what ended is kept no longer: BILL_RETENTION_YEARS ago. */
export interface ErasureTx extends Tx {
  readonly kept_since: Temporal.Instant;
}
export type LookTx = Omit<ErasureTx, "q"> & Pick<ReadTx, "q">;

/** One kind of subject. `erase` may be repeated, and does what is left to do where nothing blocks it any more. */
export interface SubjectRules {
  look(tx: LookTx, id: number): Promise<Look | undefined>;
  erase(tx: ErasureTx, id: number): Promise<Erased>;
}

type OwnedTable = PgTable & { id: PgColumn; company_id: PgColumn };

/** Changes records of the company; returns how many. */
export async function change<T extends OwnedTable>(
  { q, scope }: Tx,
  table: T,
  set: Parameters<typeof changeRows<T, { id: PgColumn }>>[2]["set"],
  where: SQL | undefined,
): Promise<number> {
  const own = and(eq(table.company_id, scope.company_id), where);
  return (await changeRows(q, table, { set, where: own, returning: { id: table.id } })).length;
}

/** Takes what the audit log says of records, by their ids or a query of them: who did what and when stays. */
export function blankEntries(tx: Tx, type: string, ids: readonly number[] | SQL): Promise<number> {
  const t = tx.q.use(auditLogTable);
  const of_records = ids instanceof SQL ? sql`${t.target_id} IN ${ids}` : inArray(t.target_id, [...ids]);
  return change(tx, t, { input: {}, changes: null }, and(eq(t.target_type, type), of_records));
}
