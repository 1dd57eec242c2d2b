import { and, desc, eq, sql } from "drizzle-orm";
import { iso } from "../../core/time.ts";
import { stamped } from "../../store/columns.ts";
import type { ReadTx, Tx } from "../../store/store.ts";
import type { KnownImport } from "./model.ts";
import { usageImportTable } from "./tables.ts";

/** Files that the company imported before, the newest. */
export function listUsageImports(
  { q, scope: { company_id } }: ReadTx,
  limit: number,
): Promise<KnownImport[]> {
  const t = q.use(usageImportTable);
  return q
    .select({ file_name: t.file_name, digest: t.digest, bytes: t.bytes, rows: t.rows })
    .from(t)
    .where(eq(t.company_id, company_id))
    .orderBy(desc(t.id))
    .limit(limit);
}

/** Notes that rows of a file, up to that one, may be stored from here on. */
export async function saveUsageImport(
  { q, scope: { company_id } }: Tx,
  file: KnownImport,
  now: Temporal.Instant,
): Promise<void> {
  const t = q.use(usageImportTable);
  const same_file = and(eq(t.company_id, company_id), eq(t.digest, file.digest));
  const noted = await q
    .update(t)
    .set({
      rows: sql`CASE WHEN ${t.rows} < ${file.rows} THEN ${file.rows} ELSE ${t.rows} END`,
      updated_at: iso(now),
    })
    .where(same_file)
    .returning({ id: t.id });
  if (noted.length === 0) await q.insert(t).values({ company_id, ...file, ...stamped(now) });
}
