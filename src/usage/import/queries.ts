import { and, desc, eq, sql } from "drizzle-orm";
import { iso } from "../../core/time.ts";
import { stamped } from "../../store/columns.ts";
import type { ReadTx, Tx } from "../../store/store.ts";
import { selectRows } from "../../store/select_rows.ts";
import type { KnownImport } from "./model.ts";
import { usageImportTable } from "./tables.ts";

/** The company's latest imports of files. */
export function listUsageImports(
  { q, scope: { company_id } }: ReadTx,
  limit: number,
): Promise<KnownImport[]> {
  const t = q.use(usageImportTable);
  return selectRows(q, t, {
    columns: { file_name: t.file_name, digest: t.digest, bytes: t.bytes, rows: t.rows },
    where: eq(t.company_id, company_id),
    order: desc(t.id),
    limit,
  });
}

/** Records that a file's rows may be stored from here on, up to `file.rows`. */
export async function saveUsageImport(
  { q, scope: { company_id }, now }: Tx,
  file: KnownImport,
): Promise<void> {
  const t = q.use(usageImportTable);
  const same_file = and(eq(t.company_id, company_id), eq(t.digest, file.digest));
  const updated = await q
    .update(t)
    .set({
      rows: sql`CASE WHEN ${t.rows} < ${file.rows} THEN ${file.rows} ELSE ${t.rows} END`,
      updated_at: iso(now),
    })
    .where(same_file)
    .returning({ id: t.id });
  if (updated.length === 0) await q.insert(t).values({ company_id, ...file, ...stamped(now) });
}
