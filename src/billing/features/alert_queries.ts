import { and, asc, eq } from "drizzle-orm";
import { findRow, matching } from "../../store/list_rows.ts";
import type { ReadTx } from "../../store/store.ts";
import { alertTable } from "./alert_tables.ts";

/** The first alert that names a meter or a feature; undefined where none does. */
export async function findAlertNaming(
  { q, scope: { company_id } }: ReadTx,
  named: { meter_id: number } | { feature_id: number },
): Promise<number | undefined> {
  const t = q.use(alertTable);
  const where = and(matching(t, { company_id, ...named }), eq(t.status, "active"));
  return (await findRow(q, t, { columns: { id: t.id }, where, order: asc(t.id), limit: 1 }))?.id;
}
